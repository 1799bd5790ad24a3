#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints docs/kafka-compatibility.md (report.py suites) or docs/kafka-faults.md (report.py faults).

The tables come from the recorded results, gaps.toml and faults.toml; the rest is as it was.
"""

import re
import sys
import tomllib
from collections import Counter
from pathlib import Path

from suite import FAIL, PASS, SKIP, gaps_of, judge, load, result_file

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SUITES = {
    "franz": "franz-go's own tests of its client",
    "librdkafka": "librdkafka's own tests",
    "kafka-python": "kafka-python's integration tests",
    "java": "Apache Kafka's Java clients, old and new",
    "tools": "Apache Kafka's command line tools",
    "streams": "Kafka Streams: word count with a restart",
}


def title(suite: str) -> str:
    import json

    return json.loads(result_file("kafka", suite).read_text())["suite"]


def counts(outcomes: dict[str, str]) -> str:
    found = Counter(outcomes.values())
    return f"{found[PASS]} / {found[FAIL]} / {found[SKIP]}"


def names(tests: list[str]) -> str:
    return ", ".join(f"`{test}`" for test in tests)


def suites() -> list[str]:
    lines = [
        "| `SUITE=` | what | Apache Kafka | Lakestream | worse than Apache Kafka |",
        "|---|---|---|---|---|",
    ]
    for suite in SUITES:
        reference, ours = load("kafka", suite), load("lakestream", suite)
        gaps = gaps_of(suite)
        verdict = judge(reference, gaps, ours)
        worse = [test for test in reference if reference[test] == PASS and ours.get(test) != PASS]
        unexplained = f", **{len(verdict.worse)} unexplained**" if verdict.worse else ""
        lines.append(
            f"| `{suite}` | {title(suite)} | {counts(reference)} | {counts(ours)} | "
            f"{len(worse)}{unexplained} |"
        )
    lines += [
        "",
        "Passed / failed / skipped. What is worse, and why:",
        "",
        "| suite | tests | reason |",
        "|---|---|---|",
    ]
    for suite in SUITES:
        reference = load("kafka", suite)
        for gap in gaps_of(suite):
            covered = sorted(t for t in reference if gap.covers(t) and reference[t] == PASS)
            lines.append(f"| `{suite}` | {names(covered)} | {gap.reason} |")
    lines += ["", "Apache Kafka itself fails, on one node of the machine that this ran on:", ""]
    for suite in SUITES:
        reference, ours = load("kafka", suite), load("lakestream", suite)
        failed = [test for test in sorted(reference) if reference[test] == FAIL]
        if failed:
            told = [
                f"`{test}`{' (passes here)' if ours.get(test) == PASS else ''}" for test in failed
            ]
            lines.append(f"- `{suite}`: {', '.join(told)}")
    return lines


def exists(test: str) -> bool:
    """`FILE::NAME`: the file has a test of that name."""
    file, _, name = test.partition("::")
    path = ROOT / file
    return path.exists() and re.search(rf"\b{re.escape(name)}\b", path.read_text()) is not None


def faults() -> list[str]:
    lines = ["| # | fault | right | test |", "|---|---|---|---|"]
    for fault in tomllib.loads((HERE / "faults.toml").read_text())["fault"]:
        missing = [test for test in fault.get("tests", []) if not exists(test)]
        if missing:
            sys.exit(f"faults.toml, {fault['number']}: no such test: {', '.join(missing)}")
        tests = "<br>".join(f"`{test}`" for test in fault.get("tests", [])) or fault["none"]
        lines.append(f"| {fault['number']} | {fault['fault']} | {fault['right']} | {tests} |")
    return lines


PAGES = {
    "suites": ("docs/kafka-compatibility.md", suites),
    "faults": ("docs/kafka-faults.md", faults),
}


def main() -> int:
    page, made = PAGES[sys.argv[1]]
    text = (ROOT / page).read_text()
    begin, end = f"<!-- {sys.argv[1]}: begin -->\n", f"<!-- {sys.argv[1]}: end -->\n"
    before, rest = text.split(begin)
    _, after = rest.split(end)
    sys.stdout.write(before + begin + "\n".join(made()) + "\n" + end + after)
    return 0


if __name__ == "__main__":
    sys.exit(main())
