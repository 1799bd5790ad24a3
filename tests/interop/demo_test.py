# SPDX-License-Identifier: Apache-2.0
"""The demo does what it says: its numbers are those of the events, and it leaves nothing behind."""

import hashlib
import json
import re
import signal
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

from broker import BINARY, run_cli

DEMO = Path(__file__).resolve().parents[2] / "tools/demo"
EVENTS = 400
FIRST_EVENTS = "80d9c7e5f976c84a88911141c661c79176a35f3b58114a177f23d72a7c9c5d92"  # SHA-256


def generate(count: int) -> bytes:
    command = [sys.executable, DEMO / "github_events.py", str(count)]
    return subprocess.run(command, check=True, capture_output=True).stdout


def start_demo(folder: Path, events: int) -> subprocess.Popen:
    command = [sys.executable, DEMO / "demo.py", "--binary", BINARY]
    command += ["--folder", folder, "--events", str(events)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder.parent
    )


def rows_after(output: str, heading: str) -> list[list[str]]:
    """Cells of the first table that begins with `heading` or behind it."""
    table = output[output.index(heading) :].split("└")[0]
    lines = [line for line in table.splitlines() if line.startswith("│")]
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]


class Demo(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="lakestream-")
        self.addCleanup(self.temporary.cleanup)
        self.folder = Path(self.temporary.name, "demo")

    def test_the_events_never_change(self):
        self.assertEqual(hashlib.sha256(generate(1624)).hexdigest(), FIRST_EVENTS)

    def test_numbers(self):
        events = [json.loads(line) for line in generate(EVENTS).splitlines()]
        types = Counter(event["type"] for event in events)
        for _ in range(2):  # the second run empties what the first has left
            running = start_demo(self.folder, EVENTS)
            output, errors = running.communicate(timeout=300)
            self.assertEqual((running.returncode, errors), (0, ""), output)
            self.assertIn(f"the same {EVENTS} records, ", output)
            self.assertIn(f"pyiceberg counts {EVENTS} rows", output)
            partitions = rows_after(output, "│ kafka_partition")[2:]
            self.assertEqual(sum(int(row[1]) for row in partitions), EVENTS)
            for _, records, first, last in partitions:
                self.assertEqual((int(first), int(last)), (0, int(records) - 1))
            by_type = rows_after(output, "GROUP BY event")[2:]
            top = sorted(types.items(), key=lambda item: (-item[1], item[0]))[:8]
            self.assertEqual([(row[0], int(row[1])) for row in by_type], top)
        done = run_cli("check", "--data-dir", str(self.folder / "data"))
        self.assertEqual(done.returncode, 0, done.stdout.decode())

    def test_an_interrupt_stops_everything(self):
        running = start_demo(self.folder, 10_000_000)
        lines = iter(running.stdout.readline, "")
        address = next(filter(None, (re.search(r"Kafka on (\S+)", line) for line in lines)))[1]
        next(line for line in lines if line.lstrip().startswith("wrote"))
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 130)
        self.assertEqual(errors.strip(), "demo: stopped")
        nobody = run_cli("topic", "list", "--bootstrap", address)
        self.assertEqual(nobody.returncode, 1)

    def test_says_what_is_wrong(self):
        self.folder.mkdir()
        (self.folder / "mine").touch()
        running = start_demo(self.folder, 1)
        _, errors = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 1)
        self.assertIn("is not empty and not of a demo", errors)
        self.assertTrue((self.folder / "mine").exists())


if __name__ == "__main__":
    unittest.main()
