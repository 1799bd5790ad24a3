# SPDX-License-Identifier: Apache-2.0
"""Apache Kafka's Java client: RoundTrip.java does the work."""

import subprocess
import unittest

from broker import INTEROP, Broker


class Java(unittest.TestCase):
    def test_round_trip(self):
        with Broker() as broker:
            done = subprocess.run(
                [
                    "java", "-Xmx256m", "-cp", f"{INTEROP}/classes:{INTEROP}/jars/*", "RoundTrip",
                    broker.address,
                ],
                capture_output=True, text=True, timeout=300,
            )  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("PASS", done.stdout)
            broker.stop()
            broker.check()


if __name__ == "__main__":
    unittest.main()
