#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a tarball that runs wherever it is unpacked, on Debian 12 or newer without a compiler.

    package.py BUILD FOLDER     BUILD is configured and built; prints the name of the tarball

What it holds: the program, the library with its headers, the tables module with Arrow, every shared
library that a bare system lacks, and the notices of everything that is inside.
"""

import argparse
import gzip
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WHEELS = ROOT / "build/wheels"

# What the system has to have: Debian's libc6, libgcc-s1 and libstdc++6.
OF_THE_SYSTEM = re.compile(
    r"(linux-vdso|ld-linux-x86-64|lib(c|m|pthread|dl|rt|resolv|gcc_s|stdc\+\+))\.so(\.\d+)?"
)

# Packages whose code is inside the program: static libraries and headers.
COMPILED_IN = (
    "libboost1.81-dev", "libcli11-dev", "librocksdb-dev", "libtoml11-dev", "libxxhash-dev",
    "nlohmann-json3-dev",
)  # fmt: skip

# Where each file or folder of the repository goes.
SHARED = {
    "LICENSE": "share/doc/lakestream",
    "README.md": "share/doc/lakestream",
    "docs/api.md": "share/doc/lakestream",
    "docs/config.md": "share/doc/lakestream",
    "docs/errors.md": "share/doc/lakestream",
    "docs/kafka-compatibility.md": "share/doc/lakestream",
    "docs/metrics.md": "share/doc/lakestream",
    "docs/operations.md": "share/doc/lakestream",
    "deploy/grafana/lakestream.json": "share/lakestream/grafana",
    "deploy/prometheus/alerts.yml": "share/lakestream/prometheus",
    "deploy/systemd/lakestream.service": "share/lakestream/systemd",
    "deploy/systemd/lakestream.toml": "share/lakestream/systemd",
}


def run(*command: object) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command[0]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def needed_by(file: Path) -> dict[str, Path]:
    """Shared libraries it loads, directly or not, and where they are found here."""
    found = {}
    for line in run("ldd", file).splitlines():
        name, _, rest = line.strip().partition(" => ")
        if OF_THE_SYSTEM.fullmatch(Path(name.split(" ")[0]).name):
            continue
        if "not found" in rest or not rest:
            sys.exit(f"{file} needs {name}, which is not on this machine")
        found[name] = Path(rest.split(" (")[0])
    return found


def bundle_libraries(prefix: Path) -> set[str]:
    """Copies what a bare system lacks to lib/lakestream; returns the packages it came from."""
    private = prefix / "lib/lakestream"
    private.mkdir()
    packages = set()
    for file in [prefix / "bin/lakestream", *(prefix / "lib").glob("*.so*")]:
        for name, source in needed_by(file).items():
            if source.is_relative_to(prefix):
                continue
            if not (private / name).exists():
                shutil.copy(source.resolve(), private / name)
            # By name: the package may say /lib where the file is found in /usr/lib.
            owner = run("dpkg-query", "-S", f"*/{source.resolve().name}")
            packages.add(owner.split(":")[0])
    return packages


def add_notices(prefix: Path, packages: set[str]) -> None:
    folder = prefix / "share/doc/lakestream/licenses"
    folder.mkdir(parents=True)
    for package in sorted(packages | set(COMPILED_IN)):
        shutil.copy(f"/usr/share/doc/{package}/copyright", folder / f"{package}.txt")
    wheels = sorted(WHEELS.glob("pyarrow-*.whl"))
    if not wheels:
        sys.exit("the notices of Arrow are in its wheel: run tools/bootstrap.sh arrow")
    with zipfile.ZipFile(wheels[-1]) as archive:
        for member in archive.namelist():
            if match := re.search(r"\.dist-info/licenses/(LICENSE|NOTICE)\.txt$", member):
                (folder / f"arrow-{match[1]}.txt").write_bytes(archive.read(member))


def pack(prefix: Path, tarball: Path) -> None:
    """The same files give the same bytes."""
    date = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))

    def neutral(info: tarfile.TarInfo) -> tarfile.TarInfo:
        info.uid = info.gid = 0
        info.uname = info.gname = "root"
        info.mtime = date
        info.mode = 0o755 if info.isdir() or info.mode & 0o100 else 0o644
        return info

    partial = tarball.with_suffix(".partial")
    with open(partial, "wb") as out, gzip.GzipFile("", "wb", 6, out, mtime=date) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
            archive.add(prefix, prefix.name, recursive=False, filter=neutral)
            for path in sorted(prefix.rglob("*")):
                name = path.relative_to(prefix.parent)
                archive.add(path, str(name), recursive=False, filter=neutral)
    partial.rename(tarball)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    version = run(arguments.build / "lakestream", "version").split()[1]
    prefix = arguments.folder.resolve() / f"lakestream-{version}-linux-x86_64"
    shutil.rmtree(prefix, ignore_errors=True)
    run("cmake", "--install", arguments.build, "--prefix", prefix, "--strip")
    for source, folder in SHARED.items():
        (prefix / folder).mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / source, prefix / folder)
    add_notices(prefix, bundle_libraries(prefix))
    tarball = prefix.with_name(prefix.name + ".tar.gz")
    pack(prefix, tarball)
    print(tarball)
    return 0


if __name__ == "__main__":
    sys.exit(main())
