# SPDX-License-Identifier: Apache-2.0
"""Apache Kafka's Java clients, old and new, and Kafka Streams."""

import re
import subprocess
from pathlib import Path

from brokers import CACHE, HERE, jars
from suite import FAIL, PASS, Outcomes, Run, Suite

CLIENT_VERSIONS = ["4.4.0", "3.9.2", "2.8.2", "2.4.1", "2.0.1", "1.1.1", "0.11.0.3"]
STREAMS_VERSION = "4.4.0"
GUARANTEES = ["at_least_once", "exactly_once_v2"]
TIMEOUT = 300  # seconds


def compiled(program: str, artifact: str, version: str) -> str:
    """The class path of `program`.java with a library of Apache Kafka."""
    folder = CACHE / f"{artifact}-{version}"
    lib = jars(HERE / "client.xml", folder, artifact=artifact, version=version)
    sources = [HERE / f"{program}.java"]
    if program == "ClientSmoke" and not version.startswith(("0.", "1.")):
        sources.append(HERE / "AdminSteps.java")
    subprocess.run(
        ["javac", "-nowarn", "-cp", f"{lib}/*", "-d", folder / "classes", *sources],
        check=True, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    return f"{folder}/classes:{lib}/*"


def output(command: list[str], log: Path) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
        log.write_text(done.stdout + done.stderr)
        return done.stdout
    except subprocess.TimeoutExpired as late:
        log.write_text(f"after {TIMEOUT} s: {late.stdout} {late.stderr}")
        return (late.stdout or b"").decode()


def run_clients(run: Run) -> Outcomes:
    outcomes = {}
    for version in CLIENT_VERSIONS:
        if run.only and not any(name.startswith(f"{version} ") for name in run.only):
            continue
        path = compiled("ClientSmoke", "kafka-clients", version)
        command = ["java", "-Xmx256m", "-cp", path, "ClientSmoke", run.address, version]
        text = output(command, run.logs / f"{version}.log")
        for match in re.finditer(r"^(PASS|FAIL) ([a-z0-9 ]+)", text, re.M):
            outcomes[f"{version} {match[2]}"] = PASS if match[1] == "PASS" else FAIL
    return outcomes


def run_streams(run: Run) -> Outcomes:
    outcomes = {}
    for guarantee in GUARANTEES:
        if run.wanted(guarantee):
            path = compiled("StreamsSmoke", "kafka-streams", STREAMS_VERSION)
            command = ["java", "-Xmx256m", "-cp", path, "StreamsSmoke", run.address, guarantee]
            text = output(command, run.logs / f"{guarantee}.log")
            outcomes[guarantee] = PASS if "PASS" in text.split() else FAIL
    return outcomes


CLIENTS = Suite("java", f"Java clients {', '.join(CLIENT_VERSIONS)}", run_clients)
STREAMS = Suite("streams", f"Kafka Streams {STREAMS_VERSION}", run_streams)
