# SPDX-License-Identifier: Apache-2.0
"""Bad days while small compacted objects are made, merged and cleaned up: kills, folders that are
read-only for a while, few files, a full disk.

Nothing is lost or there twice, the process stays up, says what and where, and needs no hand.
"""

import contextlib
import random
import re
import resource
import socket
import subprocess
import time
import unittest
from pathlib import Path
from typing import Iterator

from confluent_kafka.admin import AdminClient, NewTopic

from broker import Broker, run_cli
from damage_test import fill, small_disk, until
from kill_loop import (
    PARTITIONS,
    TOPIC,
    Ledger,
    Writer,
    await_table,
    compare,
    compare_table,
    read_all,
    records_of,
    rows_of,
)

MERGING = (
    "--kafka-auto-create-topics", "false", "--table-commit-interval", "300ms",
    "--compact-age", "100ms", "--compact-merge-objects", "2",
    "--clean-interval", "1s", "--clean-readers-grace", "1s",
)  # fmt: skip
KILLS = 6
BAD = 4  # seconds that a bad time takes


def counter(broker: Broker, name: str) -> float:
    """The sum of a metric's series."""
    lines = broker.get("/metrics")[1].splitlines()
    return sum(float(line.split()[-1]) for line in lines if re.match(rf"{name}(\{{| )", line))


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """For everybody who opens a file below it by its path."""
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


class SlowWriter(Writer):
    """Some hundred records a second: what is tested is not how much."""

    def send(self, producer) -> None:
        super().send(producer)
        time.sleep(0.002)


class Busy:
    """Writers on a broker that merges."""

    def __init__(self, broker: Broker, seed: int):
        self.broker = broker
        self.ledger = Ledger()
        admin = AdminClient({"bootstrap.servers": broker.address, "log_level": 0})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(30)
        self.writers = [SlowWriter(broker.address, self.ledger, seed + i) for i in range(2)]
        for writer in self.writers:
            writer.daemon = True  # a test that fails does not wait for them
            writer.start()
        self.goes_on()

    def goes_on(self) -> None:
        """Returns when records are acknowledged and objects merged again."""
        acknowledged = len(self.ledger.acknowledged)
        merges = counter(self.broker, "lakestream_compact_merges_total")
        until(
            lambda: len(self.ledger.acknowledged) > acknowledged + 100
            and counter(self.broker, "lakestream_compact_merges_total") > merges,
            "it writes and merges",
        )

    def stop_writers(self) -> None:
        for writer in self.writers:
            writer.stopping.set()
        for writer in self.writers:
            writer.join()

    def problems(self) -> list[str]:
        """All that is wrong in the end; the broker is stopped."""
        self.stop_writers()
        problems = [f"a producer ended: {w.error!r}" for w in self.writers if w.error is not None]
        folder = self.broker.data / f"tables/default/{TOPIC}"
        rows = list(rows_of(await_table(folder, records_of(self.broker.address))))
        stream = read_all(self.broker.address)
        problems += compare(self.ledger, stream) + compare_table(stream, rows)
        self.broker.stop()
        self.broker.check()
        verified = run_cli("table", "verify", TOPIC, "--data-dir", str(self.broker.data))
        if verified.returncode != 0:
            problems.append(f"table verify: {verified.stdout[-1000:]} {verified.stderr[-1000:]}")
        return problems


class BadDays(unittest.TestCase):
    def setUp(self):
        self.seed = random.SystemRandom().randrange(1 << 32)
        self.chance = random.Random(self.seed)
        print(f"{self.id()} seed {self.seed}", flush=True)

    def finish(self, busy: Busy) -> None:
        problems = busy.problems()
        self.assertFalse(problems, f"{len(problems)} problems: {problems[:10]}")

    def test_killed_while_merging(self):
        with Broker(*MERGING) as broker:
            busy = Busy(broker, self.seed)
            for _ in range(KILLS):
                busy.goes_on()
                time.sleep(self.chance.uniform(0, 0.5))
                broker.kill()
                broker.start()
            busy.goes_on()
            self.assertFalse(busy.ledger.failed)
            self.finish(busy)

    def test_a_folder_is_read_only_for_a_while(self):
        with small_disk(256) as disk, Broker(*MERGING, data=disk / "data") as broker:
            busy = Busy(broker, self.seed)
            for name in ("compacted", "tables", "wal"):
                with self.subTest(folder=name):
                    folder = broker.data / name
                    began = broker.log.stat().st_size
                    said = re.compile(rf"{folder}.*Read-only file system".encode())
                    with read_only(folder):
                        until(
                            lambda: said.search(broker.log.read_bytes()[began:]) is not None,
                            f"it says that it cannot write to {folder}",
                        )
                    self.assertIsNone(broker.process.poll())
                    busy.goes_on()
            self.finish(busy)

    def test_few_files(self):
        for few in (64, 128, 256):
            with self.subTest(files=few):
                limits = (few, few)
                prepare = lambda limits=limits: resource.setrlimit(resource.RLIMIT_NOFILE, limits)
                with Broker(*MERGING, prepare=prepare) as broker:
                    busy = Busy(broker, self.seed)
                    with contextlib.ExitStack() as clients:  # that take every place there is
                        for _ in range(few):
                            address = ("127.0.0.1", broker.port)
                            clients.enter_context(socket.create_connection(address))
                        time.sleep(BAD)
                    busy.goes_on()
                    short = [
                        line for line in broker.log.read_text().splitlines()
                        if "Too many open files" in line and "accept_failed" not in line
                    ]  # fmt: skip
                    self.assertEqual(short, [], "clients took the files of storage")
                    self.finish(busy)

    def test_the_disk_is_full_for_a_while(self):
        with small_disk(256) as disk, Broker(*MERGING, data=disk / "data") as broker:
            busy = Busy(broker, self.seed)
            for _ in range(2):
                began = broker.log.stat().st_size
                filler = disk / "filler"
                fill(filler)
                time.sleep(BAD)
                self.assertIsNone(broker.process.poll())
                filler.unlink()
                said = broker.log.read_bytes()[began:].decode()
                self.assertRegex(said, "No space left on device|disk is full")
                busy.goes_on()
            self.finish(busy)


if __name__ == "__main__":
    unittest.main()
