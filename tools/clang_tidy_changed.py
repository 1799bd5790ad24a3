#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy on the C++ files that changed, and remembers by content what was clean.

Changed means: since the commit in LKS_BASE; else since this branch left the remote's default
branch; else since the previous commit; always with what is not committed yet.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIDY = "clang-tidy-19"


def git(*arguments: str) -> str | None:
    ran = subprocess.run(["git", *arguments], cwd=ROOT, text=True, capture_output=True)
    return ran.stdout.strip() if ran.returncode == 0 else None


def base() -> str | None:
    """The commit that changes are counted from; None in a history of one commit."""
    if named := os.environ.get("LKS_BASE"):
        if git("rev-parse", "--verify", f"{named}^{{commit}}") is None:
            sys.exit(f"clang_tidy: LKS_BASE={named} is no commit here")
        return named
    left = git("merge-base", "HEAD", "origin/HEAD")
    if left and left != git("rev-parse", "HEAD"):
        return left
    return git("rev-parse", "--verify", "HEAD~1")


def changed_files() -> set[Path]:
    since = base()
    listed = git("diff", "--name-only", since) if since else git("ls-files")
    listed += "\n" + git("ls-files", "--others", "--exclude-standard")
    return {ROOT / name for name in listed.split("\n") if name}


class Sources:
    """The translation units of a build, and what each includes of ours."""

    def __init__(self, build: Path):
        database = build / "compile_commands.json"
        if not database.is_file():
            sys.exit(f"clang_tidy: no {database}: configure first (cmake --preset dev)")
        entries = json.loads(database.read_text())
        self.commands = {
            Path(e["file"]): e["command"] for e in entries if Path(e["file"]).is_relative_to(ROOT)
        }
        self.roots = [ROOT / "include", ROOT / "src", ROOT, build]
        self._includes: dict[Path, list[Path]] = {}

    def includes(self, file: Path) -> list[Path]:
        """The file's own quoted includes that exist."""
        if file not in self._includes:
            names = re.findall(r'^\s*#\s*include\s*"([^"]+)"', file.read_text(), re.M)
            paths = [[root / name for root in self.roots] for name in names]
            self._includes[file] = [p for tried in paths for p in tried if p.is_file()]
        return self._includes[file]

    def closure(self, file: Path) -> set[Path]:
        """The file and everything of ours it includes, directly or not."""
        seen, waiting = set(), [file]
        while waiting:
            if (one := waiting.pop()) not in seen:
                seen.add(one)
                waiting += self.includes(one)
        return seen

    def units_for(self, changed: set[Path]) -> list[Path]:
        """Changed translation units, and for each changed header one unit that includes it: its own
        if there is one."""
        units = {file for file in changed if file in self.commands}
        for header in changed:
            if header.suffix != ".h" or not header.is_file():
                continue
            own = [header.with_suffix(".cc"), header.with_name(header.stem + "_test.cc")]
            users = [unit for unit in own if unit in self.commands]
            users += sorted(unit for unit in self.commands if header in self.closure(unit))
            units.update(users[:1])
        return sorted(units)


class Cache:
    """Marks of clean runs: one empty file per hash of everything that decides the outcome."""

    def __init__(self, folder: Path, sources: Sources):
        self.folder, self.sources = folder, sources
        folder.mkdir(parents=True, exist_ok=True)
        version = subprocess.run([TIDY, "--version"], capture_output=True, check=True).stdout
        self.common = version + (ROOT / ".clang-tidy").read_bytes()

    def mark(self, unit: Path) -> Path:
        digest = hashlib.sha256(self.common + self.sources.commands[unit].encode())
        for file in sorted(self.sources.closure(unit)):
            digest.update(str(file).encode() + b"\0" + file.read_bytes())
        return self.folder / digest.hexdigest()


def lint(unit: Path, build: Path, seconds_left: float) -> str | None:
    """What clang-tidy has to say about one unit; None when clean."""
    command = [TIDY, "--quiet", "-p", build, unit]
    try:
        ran = subprocess.run(command, text=True, capture_output=True, timeout=max(1, seconds_left))
    except subprocess.TimeoutExpired:
        return f"{unit.relative_to(ROOT)}: no time left"
    return None if ran.returncode == 0 else ran.stdout or ran.stderr


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    parser.add_argument("--seconds", type=float, default=900, help="the whole run's budget")
    parser.add_argument("--all", action="store_true", help="every file")
    parser.add_argument("files", nargs="*", type=Path, help="these instead of the changed ones")
    arguments = parser.parse_args()
    deadline = time.monotonic() + arguments.seconds

    sources = Sources(arguments.build.resolve())
    if arguments.all:
        units = sorted(sources.commands)
    elif arguments.files:
        units = sources.units_for({file.resolve() for file in arguments.files})
    else:
        units = sources.units_for(changed_files())
    cache = Cache(ROOT / "build/tidy-cache", sources)
    marks = {unit: cache.mark(unit) for unit in units}
    stale = [unit for unit in units if not marks[unit].exists()]
    known = len(units) - len(stale)
    print(f"clang_tidy: {len(units)} files, {known} known to be clean", flush=True)

    def run(unit: Path) -> str | None:
        left = deadline - time.monotonic()
        said = lint(unit, arguments.build, left) if left > 0 else f"{unit}: no time left"
        if said is None:
            marks[unit].touch()
        return said

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = [said for said in pool.map(run, stale) if said]
    for said in complaints:
        print(said)
    unfinished = sum(said.endswith("no time left") for said in complaints)
    if unfinished:
        print(
            f"clang_tidy: {unfinished} files unchecked after {arguments.seconds:.0f} s. What was"
            " clean is remembered: run again, or with more --seconds."
        )
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
