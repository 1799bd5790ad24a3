#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the clients that Debian does not have into FOLDER; quick when all is there.

    setup.py FOLDER [--python-only]
"""

import argparse
import hashlib
import subprocess
import sys
import venv
from pathlib import Path
from typing import Callable

HERE = Path(__file__).parent
PACKAGES = HERE / "requirements.txt"
POM = HERE / "pom.xml"
JAVA = HERE / "RoundTrip.java"
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"


def install_python(folder: Path) -> None:
    venv.create(folder / "venv", with_pip=True, clear=True)
    subprocess.run(
        [
            folder / "venv/bin/python", "-m", "pip", "install", "--quiet", "--require-hashes",
            "--only-binary=:all:", "--disable-pip-version-check", "-r", PACKAGES,
        ],
        check=True,
    )  # fmt: skip


def install_java(folder: Path) -> None:
    jars = folder / "jars"
    subprocess.run(
        ["mvn", "-q", "-B", "-f", POM, PLUGIN, f"-DoutputDirectory={jars}"],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    classes = folder / "classes"
    subprocess.run(["javac", "-cp", f"{jars}/*", "-d", classes, JAVA], check=True)


def ensure(folder: Path, name: str, install: Callable[[Path], None], *inputs: Path) -> None:
    """Installs unless it was done with the same inputs."""
    contents = b"".join(file.read_bytes() for file in (*inputs, Path(__file__)))
    wanted = hashlib.sha256(contents).hexdigest()
    stamp = folder / f"{name}.stamp"
    if not stamp.exists() or stamp.read_text() != wanted:
        install(folder)
        stamp.write_text(wanted)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python-only", action="store_true")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    ensure(arguments.folder, "python", install_python, PACKAGES)
    if not arguments.python_only:
        ensure(arguments.folder, "java", install_java, POM, JAVA)
    return 0


if __name__ == "__main__":
    sys.exit(main())
