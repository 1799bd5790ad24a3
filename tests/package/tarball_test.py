#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the tarball of a build, unpacks it in a root folder that has what every Debian has and
nothing else, and uses the program there: written and read by kcat, the table scanned.

usage: tarball_test.py BUILD ROOT     ROOT: the bare root folder
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
RECORDS = [f"record {i}" for i in range(100)]
# Runs a program in the folder $1 as its root, with /proc, two devices, and nothing of the caller's.
ENTER = """
set -e
mkdir -p "$1/dev" "$1/proc"
mount --rbind /proc "$1/proc"
for device in null urandom; do
    touch "$1/dev/$device"
    mount --bind "/dev/$device" "$1/dev/$device"
done
root=$1
notify=$2
shift 2
exec env -i NOTIFY_SOCKET="$notify" "$(command -v chroot)" "$root" "$@"
"""


def run(*command: object, **more) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Bare:
    """A system without a compiler, a package manager or a shell."""

    def __init__(self, root: Path):
        self.root = root

    def command(self, *arguments: str, notify: str = "") -> list[str]:
        """`notify`: the socket of a supervisor."""
        enter = ["unshare", "--map-root-user", "--mount", "sh", "-c", ENTER, "sh", str(self.root)]
        return [*enter, notify, "/opt/lakestream/bin/lakestream", *arguments]

    def run(self, *arguments: str) -> str:
        return run(*self.command(*arguments), timeout=120)


def check_libraries(prefix: Path) -> None:
    """What is found comes from the tarball or from the bare system."""
    for file in [prefix / "bin/lakestream", *prefix.glob("lib/*.so*")]:
        for line in run("ldd", file, env={"PATH": os.environ["PATH"]}).splitlines():
            name, _, rest = line.strip().partition(" => ")
            place = rest.split(" (")[0]
            inside = place and Path(place).resolve().is_relative_to(prefix.resolve())
            system = re.fullmatch(
                r"(.*/)?(linux-vdso|ld-linux-x86-64|lib(c|m|pthread|dl|rt|resolv|gcc_s|stdc\+\+))"
                r"\.so[.0-9]*( \(.*)?",
                name,
            )
            assert inside or system, f"{file.name}: {line.strip()}"


def check_contents(prefix: Path) -> None:
    for name in (
        "share/doc/lakestream/LICENSE",
        "share/doc/lakestream/operations.md",
        "share/doc/lakestream/licenses/arrow-LICENSE.txt",
        "share/doc/lakestream/licenses/librocksdb-dev.txt",
        "share/lakestream/systemd/lakestream.service",
        "share/lakestream/prometheus/alerts.yml",
        "share/lakestream/grafana/lakestream.json",
    ):
        assert (prefix / name).stat().st_size > 0, name
    bundled = {path.name.split(".")[0] for path in prefix.glob("lib/lakestream/*")}
    notices = {path.name for path in prefix.glob("share/doc/lakestream/licenses/*")}
    assert "libsnappy" in bundled, bundled
    assert any(name.startswith("libsnappy") for name in notices), notices


def until(what: str, done, broker: subprocess.Popen) -> None:
    deadline = time.monotonic() + 60
    while not done():
        assert broker.poll() is None, f"the broker ended with {broker.returncode}"
        assert time.monotonic() < deadline, f"{what}: not after 60 s"
        time.sleep(0.1)


def check_use(bare: Bare) -> None:
    port = free_port()
    address = f"127.0.0.1:{port}"

    def listens() -> bool:
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", port)) == 0

    def rows() -> list[dict]:
        text = bare.run("table", "scan", "first", "--data-dir", "/data", "--format", "json")
        return [json.loads(line) for line in text.splitlines()]

    command = bare.command("dev", "--data-dir", "/data", "--kafka-listen", address,
                           "--http-listen", "", "--table-commit-interval", "300ms")  # fmt: skip
    broker = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        until("the port is open", listens, broker)
        kcat = ["kcat", "-b", address, "-t", "first"]
        run(*kcat, "-P", input="\n".join(RECORDS), timeout=60)
        read = run(*kcat, "-C", "-o", "beginning", "-e", "-q", timeout=60)
        assert read.splitlines() == RECORDS, read
        folder = bare.root / "data/tables/default/first/metadata"
        until("a table", lambda: any(folder.glob("*")), broker)
        until("its rows", lambda: len(rows()) == len(RECORDS), broker)
        assert [row["value"] for row in rows()] == RECORDS
        broker.send_signal(signal.SIGTERM)
        assert broker.wait(60) == 0
    finally:
        if broker.poll() is None:
            broker.kill()
            broker.wait()
    bare.run("check", "--data-dir", "/data")


def check_service(bare: Bare, prefix: Path) -> None:
    """The unit is one, and its command and settings make a service that says when it is ready."""
    shared = prefix / "share/lakestream/systemd"
    unit = (shared / "lakestream.service").read_text()
    if shutil.which("systemd-analyze"):
        here = bare.root / "lakestream.service"
        here.write_text(unit.replace("/opt/lakestream", str(prefix)))
        found = subprocess.run(["systemd-analyze", "verify", here], capture_output=True, text=True)
        assert (found.returncode, found.stderr) == (0, ""), found.stderr
    else:
        print("no systemd-analyze here: the unit is not verified")
    command = re.search(r"^ExecStart=/opt/lakestream/bin/lakestream (.*)$", unit, re.M)[1].split()
    assert command[-1] == "/etc/lakestream/lakestream.toml", command
    (bare.root / "etc/lakestream").mkdir()
    shutil.copy(shared / "lakestream.toml", bare.root / "etc/lakestream")
    (bare.root / "var/lib").mkdir(parents=True, exist_ok=True)
    name = f"lakestream-tarball-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind("\0" + name)
        heard.settimeout(60)
        ports = ("--kafka-listen", "127.0.0.1:0", "--http-listen", "")
        service = subprocess.Popen(bare.command(*command, *ports, notify=f"@{name}"))
        try:
            assert heard.recv(100) == b"READY=1"
            service.send_signal(signal.SIGTERM)
            assert heard.recv(100) == b"STOPPING=1"
            assert service.wait(60) == 0
        finally:
            if service.poll() is None:
                service.kill()
                service.wait()
    assert (bare.root / "var/lib/lakestream/metadata/db").is_dir()


def main() -> None:
    build, bare_root = Path(sys.argv[1]), Path(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="lakestream-tarball-") as name:
        folder = Path(name)
        tarball = Path(run(SOURCE / "tools/package.py", build, folder).strip())
        root = folder / "root"
        shutil.copytree(bare_root, root, symlinks=True)
        for made in ("opt", "tmp", "data"):
            (root / made).mkdir()
        with tarfile.open(tarball) as archive:
            archive.extractall(root / "opt")
        (unpacked,) = (root / "opt").iterdir()
        prefix = unpacked.rename(root / "opt/lakestream")
        shutil.rmtree(folder / unpacked.name)  # where it was made
        check_contents(prefix)
        check_libraries(prefix)
        bare = Bare(root)
        assert bare.run("version") == run(build / "lakestream", "version")
        check_use(bare)
        check_service(bare, prefix)
    print(f"{tarball.name} runs where there is nothing else")


if __name__ == "__main__":
    main()
