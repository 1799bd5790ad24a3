#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs suites of other projects against our broker, and compares with Apache Kafka's own results.

    run.py SUITE...                       starts our broker; it must be as good as Apache Kafka
    run.py SUITE... --kafka --record      starts an Apache Kafka and keeps its results
    run.py SUITE... --record              keeps ours, for docs/kafka-compatibility.md
    run.py SUITE... --test NAME           only these tests (--test may be repeated)
    run.py SUITE... --address HOST:PORT   a broker that runs already

SUITE may be `all`, or `slice`: one of the quick ones, chosen by the commit.
"""

import argparse
import os
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path

import franz
import java_suites
import kafka_python
import librdkafka
import tools
from brokers import CACHE, ROOT, apache_kafka, lakestream, running
from suite import PASS, Outcomes, Run, Suite, Verdict, gaps_of, judge, load, store, try_again

SUITES = {
    suite.name: suite
    for suite in (
        franz.SUITE, tools.SUITE, java_suites.CLIENTS, java_suites.STREAMS, kafka_python.SUITE,
        librdkafka.SUITE,
    )
}  # fmt: skip

QUICK = ["kafka-python", "java"]  # within two minutes, what they install included


def slice_of_commit() -> str:
    asked = ["git", "-c", f"safe.directory={ROOT}", "rev-parse", "HEAD"]
    commit = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return QUICK[int(commit[:8], 16) % len(QUICK)]


def our_binary() -> Path:
    """LKS_BINARY, else the first that is built."""
    candidates = [ROOT / "build" / preset / "lakestream" for preset in ("release", "dev")]
    if "LKS_BINARY" in os.environ:
        candidates = [Path(os.environ["LKS_BINARY"])]
    for binary in candidates:
        if binary.exists():
            return binary
    sys.exit(f"no binary: {', '.join(map(str, candidates))}; `make build` makes one")


def broker(arguments: argparse.Namespace) -> AbstractContextManager[str]:
    if arguments.address:
        return running(arguments.address)
    if arguments.kafka:
        return apache_kafka()
    return lakestream(our_binary())


def tell(suite: Suite, outcomes: Outcomes, verdict: Verdict | None, seconds: float) -> None:
    count = list(outcomes.values()).count
    print(f"{suite.title}: {seconds:.0f} s")
    if verdict is not None:
        for test in verdict.worse:
            print(f"  WORSE than Apache Kafka: {test}")
        for test in verdict.closed:
            print(f"  NO LONGER A GAP, take it out of gaps.toml: {test}")
        for test in verdict.unknown:
            print(f"  WITHOUT a result of Apache Kafka: {test}")
    print(f"{suite.name}: {count('pass')} passed, {count('fail')} failed, {count('skip')} skipped")


def run(suite: Suite, arguments: argparse.Namespace) -> bool:
    logs = CACHE / "logs" / ("kafka" if arguments.kafka else "lakestream") / suite.name
    logs.mkdir(parents=True, exist_ok=True)
    gaps = gaps_of(suite.name)
    left_out = [] if arguments.kafka or arguments.all else [
        pattern for gap in gaps if not gap.run for pattern in gap.tests
    ]  # fmt: skip
    began = time.monotonic()
    with broker(arguments) as address:
        asked = Run(address, logs, tuple(arguments.test), tuple(left_out))
        outcomes = suite.run(asked)
        if not arguments.kafka:
            try_again(suite, asked, load("kafka", suite.name), gaps, outcomes)
    seconds = time.monotonic() - began
    if not outcomes:
        print(f"{suite.name}: ran no test, see {logs}")
        return False
    if arguments.kafka:
        tell(suite, outcomes, None, seconds)
    else:
        verdict = judge(load("kafka", suite.name), gaps, outcomes)
        tell(suite, outcomes, verdict, seconds)
    if arguments.record:
        kept = (
            load("kafka" if arguments.kafka else "lakestream", suite.name) if arguments.test else {}
        )
        store("kafka" if arguments.kafka else "lakestream", suite, {**kept, **outcomes})
    return bool(arguments.kafka) or verdict.good()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite", nargs="+", choices=[*SUITES, "all", "slice"])
    parser.add_argument("--kafka", action="store_true", help="against Apache Kafka")
    parser.add_argument("--address", help="against a broker that runs already")
    parser.add_argument("--record", action="store_true", help="keep the results")
    parser.add_argument("--test", action="append", default=[], help="only this test")
    parser.add_argument("--all", action="store_true", help="also gaps that only time out")
    arguments = parser.parse_args()
    names = list(SUITES) if "all" in arguments.suite else arguments.suite
    names = [slice_of_commit() if name == "slice" else name for name in names]
    results = [run(SUITES[name], arguments) for name in names]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
