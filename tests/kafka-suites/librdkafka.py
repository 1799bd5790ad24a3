# SPDX-License-Identifier: Apache-2.0
"""librdkafka's own tests, one process each. Its source comes from the crate rdkafka-sys."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from brokers import CACHE, HERE
from suite import FAIL, PASS, SKIP, Outcomes, Run, Suite

CRATE = "rdkafka-sys"
CRATE_VERSION = "4.10.0"
CRATE_SHA256 = "e234cf318915c1059d4921ef7f75616b5219b10b46e9f3a511a15eb4b56a3f77"
VERSION = "2.12.1"
TEST_TIMEOUT = 120  # seconds
BROKER_VERSION = "4.2.0"  # opens the gates of its newest tests
JOBS = 2

# Unit tests, the client's own mock broker, tests that need a person, TLS, OIDC or several brokers.
LOCAL = set("""
    0000 0004 0006 0009 0025 0037 0043 0058 0062 0066 0072 0080 0092 0095 0097 0100 0101 0104 0105
    0107 0117 0124 0126 0128 0131 0133 0134 0135 0136 0138 0139 0142 0143 0144 0145 0146 0147 0148
    0149 0150 0151 0152 8000 8001
    """.split())

# Its tests call Apache Kafka's scripts by these names.
SCRIPTS = {
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-configs": "org.apache.kafka.tools.ConfigCommand",
    "kafka-acls": "org.apache.kafka.tools.AclCommand",
}


def fetch(folder: Path) -> None:
    """The crate's copy of librdkafka's source tree."""
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch, "src").mkdir()
        Path(scratch, "src/lib.rs").touch()
        Path(scratch, "Cargo.toml").write_text(
            '[package]\nname = "fetch"\nversion = "0.1.0"\nedition = "2021"\n'
            f'[dependencies]\n{CRATE} = "={CRATE_VERSION}"\n'
        )
        subprocess.run(["cargo", "fetch", "--quiet"], cwd=scratch, check=True)
    registry = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "registry"
    (archive,) = registry.glob(f"cache/*/{CRATE}-{CRATE_VERSION}+*.crate")
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    assert digest == CRATE_SHA256, f"{archive.name} has the digest {digest}"
    (source,) = registry.glob(f"src/*/{CRATE}-{CRATE_VERSION}+*/librdkafka")
    shutil.copytree(source, folder)
    subprocess.run(["chmod", "-R", "u+w", folder], check=True)


def write_scripts(folder: Path) -> None:
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    for name, main in SCRIPTS.items():
        script = folder / "bin" / f"{name}.sh"
        script.write_text(f'#!/bin/sh\nexec {sys.executable} {HERE}/brokers.py {main} "$@"\n')
        script.chmod(0o755)


def prepare() -> Path:
    """The built source tree."""
    folder = CACHE / f"librdkafka-{VERSION}"
    if not (folder / "tests/test-runner").exists():
        shutil.rmtree(folder, ignore_errors=True)
        fetch(folder)
        with open(CACHE / "librdkafka-build.log", "wb") as log:
            for command in (
                ["./configure", "--disable-curl", "--disable-sasl"],
                ["make", f"-j{JOBS}", "libs"],
                ["make", f"-j{JOBS}", "-C", "tests", "build"],
            ):
                subprocess.run(command, cwd=folder, check=True, stdout=log, stderr=log)
    write_scripts(folder)
    return folder


def run_one(folder: Path, run: Run, test: str) -> str:
    log = run.logs / f"{test}.log"
    settings = {
        "TESTS": test, "TEST_KAFKA_VERSION": BROKER_VERSION, "KAFKA_PATH": str(folder),
        "BROKERS": run.address, "LD_LIBRARY_PATH": f"{folder}/src:{folder}/src-cpp",
    }  # fmt: skip
    began = time.monotonic()
    with open(log, "wb") as out:
        try:
            # One test at a time, quick, without tests that slow sockets down.
            code = subprocess.run(
                ["./test-runner", "-p1", "-Q", "-E"], cwd=folder / "tests", stdout=out, stderr=out,
                env={**os.environ, **settings}, timeout=TEST_TIMEOUT,
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            code = -1
    text = re.sub(r"\x1b\[[0-9;]*m", "", log.read_text(errors="replace"))
    rows = re.findall(rf"^\| {test}[^|]*\| +(PASSED|FAILED|SKIPPED)", text, re.M)
    outcome = FAIL if code != 0 or "FAILED" in rows else PASS if "PASSED" in rows else SKIP
    print(f"  {test} {outcome} {time.monotonic() - began:.0f} s", flush=True)
    return outcome


def run(run: Run) -> Outcomes:
    folder = prepare()
    (folder / "tests/test.conf").write_text(f"bootstrap.servers={run.address}\n")
    sources = (file.name for file in (folder / "tests").iterdir())
    numbers = {name[:4] for name in sources if re.fullmatch(r"\d{4}-.*\.(c|cpp)", name)}
    tests = [test for test in sorted(numbers - LOCAL) if run.wanted(test)]
    with ThreadPoolExecutor(JOBS) as pool:
        return dict(zip(tests, pool.map(lambda test: run_one(folder, run, test), tests)))


SUITE = Suite("librdkafka", f"librdkafka {VERSION}, its tests in quick mode", run)
