# SPDX-License-Identifier: Apache-2.0
"""The judge of suites, and what is recorded."""

import json
import unittest

from suite import (
    AGAIN_MAX, FAIL, GAPS, PASS, RESULTS, SKIP, Gap, Run, Suite, judge, load, try_again,
)  # fmt: skip

REFERENCE = {"a": PASS, "b": PASS, "c": FAIL, "d": SKIP, "group x": PASS}


class Judge(unittest.TestCase):
    def judged(self, outcomes, *gaps):
        return judge(REFERENCE, list(gaps), outcomes)

    def test_as_good(self):
        self.assertTrue(self.judged({"a": PASS, "b": PASS, "c": FAIL, "d": FAIL}).good())
        self.assertTrue(self.judged({"a": PASS, "c": PASS}).good())

    def test_worse(self):
        for outcome in (FAIL, SKIP):
            verdict = self.judged({"a": PASS, "b": outcome})
            self.assertEqual(verdict.worse, ["b"])
            self.assertFalse(verdict.good())

    def test_gaps(self):
        gap = Gap("s", ["group *"], "why")
        self.assertTrue(self.judged({"a": PASS, "group x": FAIL}, gap).good())
        self.assertEqual(self.judged({"group x": PASS}, gap).closed, ["group x"])
        self.assertEqual(self.judged({"b": FAIL}, gap).worse, ["b"])
        soon = Gap("s", ["group *"], "why", may_pass=True)
        self.assertTrue(self.judged({"group x": PASS}, soon).good())

    def test_without_a_reference(self):
        self.assertEqual(self.judged({"new": PASS}).unknown, ["new"])

    def test_what_is_run(self):
        run = Run("", RESULTS, leave_out=("group *",))
        self.assertTrue(run.wanted("a"))
        self.assertFalse(run.wanted("group x"))
        self.assertTrue(
            Run("", RESULTS, only=("group x",), leave_out=("group *",)).wanted("group x")
        )


class Again(unittest.TestCase):
    def outcomes_after(self, first, second):
        """Of the run that is tried again, and the tests that were."""
        asked = []

        def run(run):
            asked.append(run.only)
            return {test: second for test in run.only}

        outcomes = dict(first)
        try_again(Suite("s", "S", run), Run("", RESULTS), REFERENCE, [], outcomes)
        return outcomes, asked

    def test_a_few_are(self):
        first = {"a": PASS, "b": FAIL}
        self.assertEqual(self.outcomes_after(first, PASS), ({"a": PASS, "b": PASS}, [("b",)]))
        self.assertEqual(self.outcomes_after(first, FAIL), (first, [("b",)]))

    def test_none_and_many_are_not(self):
        self.assertEqual(self.outcomes_after({"a": PASS}, FAIL)[1], [])
        many = {str(i): FAIL for i in range(AGAIN_MAX + 1)}
        REFERENCE.update({test: PASS for test in many})
        self.addCleanup(lambda: [REFERENCE.pop(test) for test in many])
        self.assertEqual(self.outcomes_after(many, PASS), (many, []))


class Recorded(unittest.TestCase):
    def test_ours_are_not_worse_than_the_gaps_say(self):
        from suite import gaps_of

        files = sorted((RESULTS / "lakestream").glob("*.json"))
        self.assertTrue(files)
        for file in files:
            with self.subTest(suite=file.stem):
                outcomes = json.loads(file.read_text())["tests"]
                self.assertTrue(outcomes)
                verdict = judge(load("kafka", file.stem), gaps_of(file.stem), outcomes)
                self.assertTrue(verdict.good(), verdict)

    def test_each_gap_is_of_a_test(self):
        import tomllib

        for entry in tomllib.loads(GAPS.read_text())["gap"]:
            gap = Gap(**entry)
            reference = load("kafka", gap.suite)
            for pattern in gap.tests:
                one = Gap(gap.suite, [pattern], "")
                covered = [t for t in reference if one.covers(t) and reference[t] == PASS]
                self.assertTrue(covered, f"{gap.suite}: {pattern}")


if __name__ == "__main__":
    unittest.main()
