# SPDX-License-Identifier: Apache-2.0
"""The judge of suites, and what is recorded."""

import json
import unittest

from suite import FAIL, GAPS, PASS, RESULTS, SKIP, Gap, Run, judge, load

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
