# SPDX-License-Identifier: Apache-2.0
"""The kill loop's judgement: each way to be wrong is found."""

import unittest

from kill_loop import Ledger, compare, compare_table, value_of


class Judgement(unittest.TestCase):
    def setUp(self):
        self.ledger = Ledger()
        self.stream = {}
        for number in range(10):
            self.ledger.take()
            self.stream[number % 2, number // 2] = value_of(number)
            if number != 9:  # the last was never answered
                self.ledger.acknowledged[number] = (number % 2, number // 2)

    def problems(self) -> str:
        return "\n".join(compare(self.ledger, self.stream))

    def test_all_is_well(self):
        self.assertEqual(self.problems(), "")
        del self.stream[1, 4]
        self.assertEqual(self.problems(), "")

    def test_lost(self):
        del self.stream[1, 1]
        self.assertEqual(self.problems(), "id 3 was acknowledged at (1, 1) and is missing")

    def test_twice(self):
        self.stream[0, 7] = value_of(9)
        self.assertEqual(self.problems(), "id 9 is there 2 times")

    def test_elsewhere(self):
        self.stream[1, 8] = self.stream.pop((1, 1))
        self.assertEqual(
            self.problems(), "partition 1 offset 8: id 3 was acknowledged at (1, 1)"
        )

    def test_other_bytes(self):
        value = self.stream[1, 1]
        self.stream[1, 1] = value[:-1] + bytes([value[-1] ^ 1])
        self.assertIn("id 3 has other bytes", self.problems())

    def test_never_sent(self):
        self.stream[0, 9] = value_of(77)
        self.assertEqual(self.problems(), "id 77 was never sent")


class JudgementOfTheTable(unittest.TestCase):
    def setUp(self):
        self.stream = {(n % 2, n // 2): value_of(n) for n in range(10)}
        self.rows = [(p, o, value) for (p, o), value in reversed(self.stream.items())]

    def problems(self) -> str:
        return "\n".join(compare_table(self.stream, self.rows))

    def test_all_is_well(self):
        self.assertEqual(self.problems(), "")

    def test_missing(self):
        self.rows.remove((1, 1, value_of(3)))
        self.assertEqual(self.problems(), "table: partition 1 offset 1 is missing")

    def test_twice(self):
        self.rows.append(self.rows[0])
        self.assertEqual(self.problems(), "table: partition 1 offset 4 is there 2 times")

    def test_unknown(self):
        self.rows.append((1, 5, b""))
        self.assertEqual(self.problems(), "table: partition 1 offset 5 is not in the stream")

    def test_swapped(self):
        first, second = self.rows[:2]
        self.rows[:2] = [(*first[:2], second[2]), (*second[:2], first[2])]
        self.assertEqual(len(self.problems().splitlines()), 2)
        self.assertIn("partition 1 offset 4 has other bytes than the stream", self.problems())


if __name__ == "__main__":
    unittest.main()
