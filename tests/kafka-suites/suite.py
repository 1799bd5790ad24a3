# SPDX-License-Identifier: Apache-2.0
"""What a suite is, how its results are kept, and when they are good enough."""

import fnmatch
import json
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Callable

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
GAPS = HERE / "gaps.toml"

PASS, FAIL, SKIP = "pass", "fail", "skip"
Outcomes = dict[str, str]  # test -> PASS, FAIL, SKIP
AGAIN_MAX = 3  # tests


@dataclass(frozen=True)
class Run:
    """One run of one suite."""

    address: str
    logs: Path  # a folder
    only: tuple[str, ...] = ()  # these tests; all when empty
    leave_out: tuple[str, ...] = ()  # patterns

    def wanted(self, test: str) -> bool:
        if self.only:
            return test in self.only
        return not any(fnmatch.fnmatchcase(test, pattern) for pattern in self.leave_out)


@dataclass(frozen=True)
class Suite:
    name: str
    title: str  # with its version
    run: Callable[[Run], Outcomes]


@dataclass(frozen=True)
class Gap:
    """Tests that Apache Kafka passes and we do not."""

    suite: str
    tests: list[str]  # patterns
    reason: str
    run: bool = True  # false: would only wait for its time-out
    may_pass: bool = False  # being built: no error when it passes

    def covers(self, test: str) -> bool:
        return any(fnmatch.fnmatchcase(test, pattern) for pattern in self.tests)


def gaps_of(suite: str) -> list[Gap]:
    listed = tomllib.loads(GAPS.read_text())["gap"]
    return [gap for gap in (Gap(**entry) for entry in listed) if gap.suite == suite]


def result_file(broker: str, suite: str) -> Path:
    """`broker` is kafka or lakestream."""
    return RESULTS / broker / f"{suite}.json"


def load(broker: str, suite: str) -> Outcomes:
    file = result_file(broker, suite)
    return json.loads(file.read_text())["tests"] if file.exists() else {}


def store(broker: str, suite: Suite, outcomes: Outcomes) -> None:
    file = result_file(broker, suite.name)
    file.parent.mkdir(parents=True, exist_ok=True)
    kept = {"suite": suite.title, "tests": dict(sorted(outcomes.items()))}
    file.write_text(json.dumps(kept, indent=1) + "\n")


@dataclass
class Verdict:
    worse: list[str] = field(default_factory=list)  # not as good as Apache Kafka, and no gap
    closed: list[str] = field(default_factory=list)  # listed as gaps, and passed
    unknown: list[str] = field(default_factory=list)  # without a result of Apache Kafka

    def good(self) -> bool:
        return not (self.worse or self.closed or self.unknown)


def judge(reference: Outcomes, gaps: list[Gap], outcomes: Outcomes) -> Verdict:
    """A test that Apache Kafka passes must pass, or be in a gap; a gap must be one."""
    verdict = Verdict()
    for test, outcome in outcomes.items():
        covering = [gap for gap in gaps if gap.covers(test)]
        if test not in reference:
            verdict.unknown.append(test)
        elif reference[test] == PASS and outcome != PASS and not covering:
            verdict.worse.append(test)
        elif outcome == PASS and any(not gap.may_pass for gap in covering):
            verdict.closed.append(test)
    return verdict


def try_again(
    suite: Suite, asked: Run, reference: Outcomes, gaps: list[Gap], outcomes: Outcomes
) -> None:
    """Some tests of others wait for a fixed time, which a busy machine outlasts: a few that were
    worse are run once more, by themselves, and that counts."""
    worse = judge(reference, gaps, outcomes).worse
    if 0 < len(worse) <= AGAIN_MAX:
        print(f"{suite.name}: once more, by themselves: {', '.join(worse)}")
        outcomes.update(suite.run(replace(asked, only=tuple(worse))))
