#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which lines of the engine's heart run in the simulator.

    tools/sim_coverage.py [--seeds 1-3] [--min 75]

Builds the simulator with coverage in build/coverage, runs the seeds of every scenario, and prints
lines and lines run by folder. Ends with 1 when fewer than --min percent of all of them ran.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/coverage"
FOLDERS = ("src/wal", "src/index", "src/log", "src/compact", "src/table/iceberg", "src/kafka")


def run(*command: object, **how) -> subprocess.CompletedProcess:
    done = subprocess.run([str(part) for part in command], cwd=ROOT, text=True, **how)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} ended with {done.returncode}")
    return done


def counted(path: Path) -> str | None:
    """The folder that a source file counts for; none for tests and what they stand on."""
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""
    if name.endswith(("_test.cc", "_fuzz.cc")) or "/testing/" in name:
        return None
    return next((folder for folder in FOLDERS if name.startswith(folder + "/")), None)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seeds", default="1-3")
    options.add_argument("--min", type=float, default=75)
    given = options.parse_args()
    run("cmake", "--preset", "coverage", "--log-level=WARNING")
    targets = ("lakestream_sim", "lakestream_tables")
    run("cmake", "--build", BUILD, "--target", *targets, "-j", os.cpu_count())
    for old in BUILD.glob("*.profraw"):
        old.unlink()
    simulator = BUILD / "sim/lakestream_sim"
    environment = dict(os.environ) | {"LLVM_PROFILE_FILE": str(BUILD / "sim-%p-%m.profraw")}
    run(simulator, "--seeds", given.seeds, env=environment)
    profile = BUILD / "sim.profdata"
    run("llvm-profdata-19", "merge", "-o", profile, *BUILD.glob("*.profraw"))
    exported = run(
        "llvm-cov-19", "export", "-summary-only", f"-instr-profile={profile}", simulator,
        capture_output=True,
    )  # fmt: skip
    lines: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for file in json.loads(exported.stdout)["data"][0]["files"]:
        if folder := counted(Path(file["filename"])):
            summary = file["summary"]["lines"]
            lines[folder][0] += summary["count"]
            lines[folder][1] += summary["covered"]
    lines["together"] = [sum(pair[i] for pair in lines.values()) for i in (0, 1)]
    print("| folder | lines | run by the worlds |\n|---|---|---|")
    for folder, (count, covered) in lines.items():
        print(f"| {folder} | {count} | {100 * covered / count:.1f} % |")
    count, covered = lines["together"]
    return 0 if 100 * covered >= given.min * count else 1


if __name__ == "__main__":
    sys.exit(main())
