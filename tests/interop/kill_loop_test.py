# SPDX-License-Identifier: Apache-2.0
"""The kill loop's judgement: each way to be wrong is found."""

import unittest

from kill_loop import Ledger, compare, value_of


class Judgement(unittest.TestCase):
    def setUp(self):
        self.ledger = Ledger()
        self.found = []
        for number in range(10):
            self.ledger.take()
            self.found.append((number % 2, number // 2, value_of(number)))
            if number != 9:  # the last was never answered
                self.ledger.acknowledged[number] = (number % 2, number // 2)

    def problems(self) -> str:
        return "\n".join(compare(self.ledger, self.found))

    def test_all_is_well(self):
        self.assertEqual(self.problems(), "")
        del self.found[9]
        self.assertEqual(self.problems(), "")

    def test_lost(self):
        del self.found[3]
        self.assertEqual(self.problems(), "id 3 was acknowledged at (1, 1) and is missing")

    def test_twice(self):
        self.found.append((0, 7, value_of(9)))
        self.assertEqual(self.problems(), "id 9 is there 2 times")

    def test_elsewhere(self):
        self.found[3] = (1, 8, value_of(3))
        self.assertEqual(
            self.problems(), "partition 1 offset 8: id 3 was acknowledged at (1, 1)"
        )

    def test_other_bytes(self):
        partition, offset, value = self.found[3]
        self.found[3] = (partition, offset, value[:-1] + bytes([value[-1] ^ 1]))
        self.assertIn("id 3 has other bytes", self.problems())

    def test_never_sent(self):
        self.found.append((0, 9, value_of(77)))
        self.assertEqual(self.problems(), "id 77 was never sent")


if __name__ == "__main__":
    unittest.main()
