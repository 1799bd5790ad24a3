#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the clients that Debian does not have: setup.py FOLDER. Quick when all is there."""

import hashlib
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).parent
PACKAGES = HERE / "requirements.txt"
POM = HERE / "pom.xml"
JAVA = HERE / "RoundTrip.java"
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"


def stamp() -> str:
    inputs = (PACKAGES, POM, JAVA, Path(__file__))
    return hashlib.sha256(b"".join(file.read_bytes() for file in inputs)).hexdigest()


def install(folder: Path) -> None:
    venv.create(folder / "venv", with_pip=True, clear=True)
    subprocess.run(
        [
            folder / "venv/bin/python", "-m", "pip", "install", "--quiet", "--require-hashes",
            "--only-binary=:all:", "--disable-pip-version-check", "-r", PACKAGES,
        ],
        check=True,
    )  # fmt: skip
    jars = folder / "jars"
    subprocess.run(
        ["mvn", "-q", "-B", "-f", POM, PLUGIN, f"-DoutputDirectory={jars}"],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    classes = folder / "classes"
    subprocess.run(["javac", "-cp", f"{jars}/*", "-d", classes, JAVA], check=True)


def main() -> int:
    folder = Path(sys.argv[1])
    done = folder / "stamp"
    if done.exists() and done.read_text() == stamp():
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    install(folder)
    done.write_text(stamp())
    return 0


if __name__ == "__main__":
    sys.exit(main())
