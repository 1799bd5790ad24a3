# SPDX-License-Identifier: Apache-2.0
"""Bad days: files damaged or gone, a full disk, folders that cannot be written.

What is damaged is named in the log together with what to do; what can be read of it is right; all
else goes on; the process stays up. Damaged metadata is refused at the start.
"""

import contextlib
import itertools
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path
from typing import Callable, Iterator

from confluent_kafka import Consumer, Producer, TopicPartition
from pyiceberg.table import StaticTable

from broker import BINARY, Broker, free_port, run_cli

RECORDS = 200  # of each topic, in BATCHES
BATCHES = 4
PATIENCE = 60  # seconds
ADVICE = re.compile("restore|keep|free|delete|make room")


def value_of(number: int) -> bytes:
    return b"value %d" % number


def produce(address: str, topic: str, numbers: range, patience: float = PATIENCE) -> list[str]:
    """The errors."""
    errors = []
    producer = Producer({
        "bootstrap.servers": address, "enable.idempotence": True, "log_level": 0,
        "message.timeout.ms": int(patience * 1000), "retry.backoff.max.ms": 200,
    })  # fmt: skip
    for number in numbers:
        producer.produce(
            topic, value_of(number), partition=0,
            on_delivery=lambda error, _: errors.append(str(error)) if error else None,
        )  # fmt: skip
    assert producer.flush(patience + 10) == 0
    return errors


def consume(address: str, topic: str, begin: int = 0) -> tuple[list[bytes], str]:
    """Values from `begin` on up to the end or an error, and the error's name."""
    consumer = Consumer({
        "bootstrap.servers": address, "group.id": "unused", "enable.auto.commit": False,
        "enable.partition.eof": True, "log_level": 0,
    })  # fmt: skip
    consumer.assign([TopicPartition(topic, 0, begin)])
    values: list[bytes] = []
    try:
        while True:
            message = consumer.poll(PATIENCE)
            if message is None:
                return values, "SILENCE"
            if message.error() is not None:
                name = message.error().name()
                return values, "" if name == "_PARTITION_EOF" else name
            assert message.offset() == begin + len(values), "a gap"
            values.append(message.value())
    finally:
        consumer.close()


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"{PATIENCE} s, and not: {what}"
        time.sleep(0.1)


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0x55
    file.write_bytes(content)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def written_again(address: str) -> None:
    """Waits until the topic t takes records, with a number of its own for each try from 200 on."""
    numbers = itertools.count(200)

    def one() -> bool:
        number = next(numbers)
        return not produce(address, "t", range(number, number + 1), 5)

    until(one, "it goes on")


def refused(folder: Path) -> str:
    """What a start with this data folder says at its end."""
    command = [BINARY, "dev", "--data-dir", folder]
    for flag in ("--kafka-listen", "--http-listen"):
        command += [flag, f"127.0.0.1:{free_port()}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1, f"it ended with {done.returncode}: {done.stderr}"
    return done.stderr.splitlines()[-1]


def fill(file: Path) -> None:
    """Takes all that is left on the file's disk."""
    with open(file, "wb", buffering=0) as out, contextlib.suppress(OSError):
        while True:
            out.write(bytes(1 << 12))


def rows_of(data: Path, topic: str) -> int:
    folder = data / f"tables/default/{topic}"
    if not (folder / "metadata/version-hint.text").exists():
        return 0
    try:
        return StaticTable.from_metadata(str(folder)).scan().count()
    except FileNotFoundError:  # the hint names a version that was taken away, until the next
        return 0


class Prepared(unittest.TestCase):
    """Each test begins with the same stopped broker, with records in the topics hurt and fine."""

    FLAGS: tuple[str, ...] = ()

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="lakestream-")
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.whole = Path(cls.temporary.name, "whole")
        cls.broker = Broker(*cls.FLAGS)
        cls.addClassCleanup(lambda: shutil.rmtree(cls.broker.folder))
        cls.broker.start()
        for topic in ("hurt", "fine"):
            for batch in range(BATCHES):
                count = RECORDS // BATCHES
                numbers = range(batch * count, (batch + 1) * count)
                assert not produce(cls.broker.address, topic, numbers)
        cls.prepare()
        cls.broker.stop()
        shutil.copytree(cls.broker.data, cls.whole)

    @classmethod
    def prepare(cls) -> None:
        """More, before it is stopped."""

    def setUp(self):
        shutil.rmtree(self.broker.data)
        shutil.copytree(self.whole, self.broker.data)
        self.broker.log.write_bytes(b"")
        self.addCleanup(lambda: self.broker.process and self.broker.kill())

    def files(self, pattern: str) -> list[Path]:
        """Of the broker's data; not empty."""
        found = sorted(self.broker.data.glob(pattern))
        found = [f for f in found if f.is_file() and f.stat().st_size > 0]
        assert found, f"no file is like {pattern}"
        return found

    def complaints(self, about: str) -> list[str]:
        lines = self.broker.log.read_text().splitlines()
        return [l for l in lines if about in l and (" warn " in l or " error " in l)]

    def assert_goes_on(self, *whole: str) -> None:
        """Topics take records, those of `whole` give all of theirs, and the process is up."""
        values = [value_of(number) for number in range(RECORDS + 5)]
        for topic in ("hurt", "fine"):
            errors = produce(self.broker.address, topic, range(RECORDS, RECORDS + 5))
            self.assertEqual((topic, errors), (topic, []))
            read = consume(self.broker.address, topic, RECORDS)
            self.assertEqual((topic, *read), (topic, values[RECORDS:], ""))
        for topic in whole:
            self.assertEqual((topic, *consume(self.broker.address, topic)), (topic, values, ""))
        self.assertEqual(self.broker.get("/livez")[0], 200)
        self.broker.stop()

    def assert_named(self, file: Path) -> None:
        lines = self.complaints(file.name)
        self.assertTrue(lines, f"nothing about {file.name}:\n{self.broker.log.read_text()}")
        self.assertRegex("\n".join(lines), ADVICE)

    def assert_unreadable(self, begin: int, file: Path) -> None:
        """What is read of the topic hurt ends with an error before `begin`, and is right."""
        self.broker.start()
        values, error = consume(self.broker.address, "hurt")
        self.assertNotIn(error, ("", "SILENCE"))
        self.assertLessEqual(len(values), begin)
        self.assertEqual(values, [value_of(number) for number in range(len(values))])
        self.assert_named(file)


class Wal(Prepared):
    FLAGS = (
        "--table-commit-interval", "24h", "--compact-age", "24h", "--log-damage-patience", "1s",
    )  # fmt: skip

    def object_of(self, batch: int) -> Path:
        """The WAL object that has this batch of the topic hurt, the first that was written."""
        found = {}
        for file in self.files("wal/????/**/*"):
            done = run_cli("inspect", "wal", str(file))
            entries = [e for e in map(json.loads, done.stdout.splitlines()) if e["kind"] == "entry"]
            for entry in entries:
                found.setdefault(entry["log"], []).append(file)
        logs = sorted(found)
        self.assertEqual([len(found[log]) for log in logs], [BATCHES] * 2)
        index = run_cli("inspect", "index", str(logs[0]), "--data-dir", str(self.broker.data))
        objects = [json.loads(line)["object"] for line in index.stdout.splitlines()]
        return self.broker.data / "wal" / objects[batch]

    def test_damaged(self):
        file = self.object_of(0)
        flip(file)
        self.assert_unreadable(0, file)
        self.assert_goes_on("fine")

    def test_missing(self):
        file = self.object_of(2)
        file.unlink()
        self.assert_unreadable(RECORDS // 2, file)
        self.assert_goes_on("fine")

    def test_the_rest_of_a_damaged_topic(self):
        flip(self.object_of(1))
        self.broker.start()
        begin = RECORDS // 2
        values, error = consume(self.broker.address, "hurt", begin)
        self.assertEqual(error, "")
        self.assertEqual(values, [value_of(number) for number in range(begin, RECORDS)])
        self.broker.stop()


class CompactedAndTable(Prepared):
    FLAGS = (
        "--table-commit-interval", "300ms", "--compact-age", "500ms", "--log-damage-patience", "1s",
    )  # fmt: skip

    @classmethod
    def prepare(cls) -> None:
        data = cls.broker.data
        for topic in ("hurt", "fine"):
            until(lambda: rows_of(data, topic) == RECORDS, f"all rows are in the table {topic}")
            compacted = data / f"compacted/default/{topic}"
            until(lambda: any(compacted.glob("*.index")), f"{topic} is compacted")

    def test_damaged_compacted_object(self):
        for kind in ("parquet", "index"):
            with self.subTest(kind):
                self.setUp()
                file = self.files(f"compacted/default/hurt/*.{kind}")[0]
                flip(file)
                self.assert_unreadable(RECORDS - 1, file)
                self.assert_goes_on("fine")

    def test_missing_compacted_object(self):
        for kind in ("parquet", "index"):
            with self.subTest(kind):
                self.setUp()
                file = self.files(f"compacted/default/hurt/*.{kind}")[0]
                file.unlink()
                self.assert_unreadable(RECORDS - 1, file)
                self.assert_goes_on("fine")

    def newest_metadata(self) -> Path:
        files = self.files("tables/default/hurt/metadata/v*.metadata.json")
        return max(files, key=lambda file: int(file.name[1:].split(".")[0]))

    def test_damaged_table_metadata(self):
        file = self.newest_metadata()
        cut(file)
        self.broker.start()
        until(lambda: bool(self.complaints(file.name)), "the log names the file")
        self.assert_named(file)
        self.check_streams_and_other_table()

    def test_the_log_names_the_table_that_fails(self):
        file = self.newest_metadata()
        metadata = json.loads(file.read_text()) | {"location": "/nowhere"}
        version = int(file.name[1:].split(".")[0])
        file.with_name(f"v{version + 1}.metadata.json").write_text(json.dumps(metadata))
        self.broker.start()
        self.assertEqual(produce(self.broker.address, "hurt", range(RECORDS, RECORDS + 5)), [])
        until(
            lambda: any("table default/hurt: " in l for l in self.complaints("lies outside of")),
            "the log names the table",
        )
        self.broker.stop()

    def test_a_missing_version_of_a_table_is_made_again(self):
        self.newest_metadata().unlink()
        self.broker.start()
        self.check_table_catches_up()

    def test_a_missing_hint_is_made_again(self):
        self.files("tables/default/hurt/metadata/version-hint.text")[0].unlink()
        self.broker.start()
        self.check_table_catches_up()

    def test_a_lost_data_file_stops_no_commit(self):
        for damage in (flip, Path.unlink):
            with self.subTest(damage.__name__):
                self.setUp()
                damage(self.files("tables/default/hurt/data/*.parquet")[0])
                self.broker.start()
                self.check_table_catches_up()

    def check_streams_and_other_table(self) -> None:
        for topic in ("hurt", "fine"):
            self.assertEqual(produce(self.broker.address, topic, range(RECORDS, RECORDS + 5)), [])
            values = [value_of(number) for number in range(RECORDS + 5)]
            self.assertEqual(consume(self.broker.address, topic), (values, ""))
        until(lambda: rows_of(self.broker.data, "fine") == RECORDS + 5, "the other table grows")
        self.broker.stop()

    def check_table_catches_up(self) -> None:
        self.assertEqual(produce(self.broker.address, "hurt", range(RECORDS, RECORDS + 5)), [])
        until(lambda: rows_of(self.broker.data, "hurt") == RECORDS + 5, "the table catches up")
        self.broker.stop()


class Metadata(Prepared):
    def test_damaged(self):
        for pattern in ("CURRENT", "MANIFEST-*", "*.log"):
            for damage in (flip, Path.unlink):
                with self.subTest(pattern=pattern, damage=damage.__name__):
                    self.setUp()
                    damage(self.files(f"metadata/db/{pattern}")[-1])
                    said = refused(self.broker.data)
                    self.assertIn(str(self.broker.data / "metadata/db"), said)
                    self.assertIn("restore the folder from a copy", said)


@contextlib.contextmanager
def small_disk(mebibytes: int) -> Iterator[Path]:
    """A file system of its own; the test is skipped where nobody may mount."""
    with tempfile.TemporaryDirectory(prefix="lakestream-") as folder:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "none", folder]
        if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
            raise unittest.SkipTest("only root may mount a small disk")
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


def write_everywhere(address: str, partitions: int, patience: float = 5) -> list[str]:
    """A record in each partition of the topic many; the errors."""
    errors = []
    producer = Producer({
        "bootstrap.servers": address, "enable.idempotence": True, "log_level": 0,
        "message.timeout.ms": int(patience * 1000), "retry.backoff.max.ms": 200,
    })  # fmt: skip
    for partition in range(partitions):
        producer.produce(
            "many", b"x", partition=partition,
            on_delivery=lambda error, _: errors.append(str(error)) if error else None,
        )  # fmt: skip
    assert producer.flush(patience + 10) == 0
    return errors


class Disk(unittest.TestCase):
    def write_until_refused(self, address: str, partitions: int) -> None:
        writes = 0
        while not write_everywhere(address, partitions):
            writes += 1
            self.assertLess(writes, 200, "a full disk takes everything")

    def test_full_of_metadata(self):
        """RocksDB meets the full disk itself, in its log and in its tables."""
        partitions = 1000  # each write is as many index records
        flags = ("--table-commit-interval", "24h", "--compact-age", "24h")
        with small_disk(48) as disk:
            metadata = f"embedded://{disk}/metadata"
            with Broker("--metadata", metadata, *flags) as broker:
                self.assertEqual(produce(broker.address, "t", range(100)), [])
                create = ("topic", "create", "many", "--partitions", str(partitions))
                done = run_cli(*create, "--bootstrap", broker.address)
                self.assertEqual(done.returncode, 0, done.stderr)
                filler = disk / "filler"
                fill(filler)
                self.write_until_refused(broker.address, partitions)
                time.sleep(11)  # RocksDB looks after its files every 10 s, and may free a little
                self.write_until_refused(broker.address, partitions)
                self.assertIsNone(broker.process.poll(), broker.log.read_text()[-2000:])
                self.assertEqual(broker.get("/livez")[0], 200)
                status, body = broker.get("/readyz")
                self.assertEqual(status, 503, body)
                self.assertRegex(body, "disk full, free some space|make room before writes fail")
                self.assertEqual(len(consume(broker.address, "t")[0]), 100)

                filler.unlink()
                until(lambda: not write_everywhere(broker.address, partitions), "it goes on")
                self.assertEqual(broker.get("/readyz")[0], 200)
                self.assertEqual(produce(broker.address, "t", range(100, 105)), [])
                values = [value_of(number) for number in range(105)]
                self.assertEqual(consume(broker.address, "t"), (values, ""))
                broker.stop()
                settings = ("--data-dir", str(broker.data))
                shutil.copytree(disk / "metadata", broker.data / "metadata")
                checked = run_cli("check", *settings, timeout=600)
                self.assertEqual(checked.returncode, 0, checked.stdout[-2000:] + checked.stderr)

    def test_full(self):
        with small_disk(48) as disk, Broker(data=disk / "data") as broker:
            self.assertEqual(produce(broker.address, "t", range(100)), [])
            filler = disk / "filler"
            fill(filler)
            errors = produce(broker.address, "t", range(100, 200), 5)
            self.assertTrue(errors, "acknowledged on a full disk")
            self.assertIsNone(broker.process.poll())
            self.assertEqual(broker.get("/livez")[0], 200)
            log = broker.log.read_text()
            self.assertRegex(log, "No space left on device|disk is full")
            self.assertIn(str(broker.data), log)

            filler.unlink()
            written_again(broker.address)
            values, error = consume(broker.address, "t")
            self.assertEqual(error, "")
            self.assertEqual(values[:100], [value_of(number) for number in range(100)])
            self.assertGreaterEqual(int(values[-1].split()[1]), 200)
            self.assertEqual(len(values), len(set(values)), "something is there twice")
            broker.stop()
            broker.check()

    def test_full_at_start(self):
        with small_disk(1) as disk:
            fill(disk / "filler")
            said = refused(disk / "data")
            self.assertIn(str(disk / "data"), said)
            self.assertRegex(said, "No space left on device|disk is full")

    def test_folders_that_cannot_be_written(self):
        with tempfile.TemporaryDirectory(prefix="lakestream-") as folder:
            file = Path(folder, "file")
            file.write_bytes(b"mine")
            self.assertIn(str(file), refused(file))
            self.assertEqual(file.read_bytes(), b"mine")
        with small_disk(1) as disk:
            subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
            said = refused(disk / "data")
            self.assertIn(str(disk / "data"), said)
            self.assertIn("Read-only file system", said)

    def test_a_folder_that_goes_away(self):
        with Broker() as broker:
            self.assertEqual(produce(broker.address, "t", range(100)), [])
            objects = broker.data / "wal"
            objects.rename(broker.data / "wal-away")
            objects.write_bytes(b"no folder")
            self.assertTrue(produce(broker.address, "t", range(100, 101), 5))
            self.assertIsNone(broker.process.poll())
            self.assertIn(str(objects), broker.log.read_text())
            objects.unlink()
            (broker.data / "wal-away").rename(objects)
            written_again(broker.address)
            broker.stop()
            broker.check()


if __name__ == "__main__":
    unittest.main()
