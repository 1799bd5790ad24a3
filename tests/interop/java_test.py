# SPDX-License-Identifier: Apache-2.0
"""Apache Kafka's Java client: RoundTrip.java does the work; others in api_test.py."""

import subprocess
import unittest

from broker import JAVA_PATH, Broker


class Java(unittest.TestCase):
    def test_round_trip(self):
        with Broker() as broker:
            done = subprocess.run(
                ["java", "-Xmx256m", "-cp", JAVA_PATH, "RoundTrip", broker.address],
                capture_output=True, text=True, timeout=600,
            )  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("PASS", done.stdout)
            broker.stop()
            broker.check()


if __name__ == "__main__":
    unittest.main()
