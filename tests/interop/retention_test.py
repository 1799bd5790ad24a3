# SPDX-License-Identifier: Apache-2.0
"""Records go, and so do the bytes on disk: DeleteRecords, retention, deleted topics, cleaning."""

import json
import os
import random
import time
import unittest
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from broker import Broker

PATIENCE = 120
PERIOD = 10  # seconds between two cleaning passes, where they are counted
PASS = 3  # seconds of a pass over some hundred objects on a slow machine
FAST = ("--clean-interval=1s", "--clean-readers-grace=500ms", "--retention-interval=1s")
COMPACTED = (*FAST, "--compact-age=1s")
ENTRY = 256 << 10


def until(condition, what: str) -> float:
    """Seconds it took."""
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() - begin < PATIENCE, f"not after {PATIENCE} s: {what}"
        time.sleep(0.1)
    return time.monotonic() - begin


def create(broker: Broker, topic: str, **config: str) -> AdminClient:
    admin = AdminClient({"bootstrap.servers": broker.address})
    names = {name.replace("_", "."): value for name, value in config.items()}
    admin.create_topics([NewTopic(topic, 1, 1, config=names)])[topic].result(30)
    return admin


def produce(broker: Broker, topic: str, values: list[bytes], timestamp: int = 0) -> None:
    """One batch, and so one entry, for each."""
    failed = []
    producer = Producer({"bootstrap.servers": broker.address, "linger.ms": 0})
    for value in values:
        producer.produce(
            topic, value, timestamp=timestamp, on_delivery=lambda e, m: failed.append(e) if e else 0
        )
        assert producer.flush(60) == 0
    assert not failed, failed


def consume(broker: Broker, topic: str, begin: int) -> list[tuple[int, bytes]]:
    consumer = Consumer({
        "bootstrap.servers": broker.address, "group.id": "unused", "enable.auto.commit": False,
        "enable.partition.eof": True, "auto.offset.reset": "error",
    })  # fmt: skip
    consumer.assign([TopicPartition(topic, 0, begin)])
    found = []
    try:
        while True:
            got = consumer.poll(30)
            assert got is not None, f"nothing for 30 s after {len(found)}"
            if got.error() is None:
                found.append((got.offset(), got.value()))
            elif got.error().name() == "_PARTITION_EOF":
                return found
            else:
                raise KafkaException(got.error())
    finally:
        consumer.close()


def earliest(admin: AdminClient, topic: str) -> int:
    at = TopicPartition(topic, 0)
    return admin.list_offsets({at: OffsetSpec.earliest()})[at].result(30).offset


def bytes_on_disk(folder: Path) -> int:
    """As `du` counts; what goes meanwhile counts nothing."""
    total = 0
    for root, _, files in os.walk(folder):
        for name in files:
            try:
                total += os.stat(os.path.join(root, name)).st_blocks * 512
            except FileNotFoundError:
                pass
    return total


def objects(broker: Broker) -> int:
    return bytes_on_disk(broker.data / "wal") + bytes_on_disk(broker.data / "compacted")


def noise(count: int) -> list[bytes]:
    chance = random.Random(count)
    return [chance.randbytes(ENTRY) for _ in range(count)]


class Retention(unittest.TestCase):
    def test_delete_records(self):
        with Broker(*FAST) as broker:
            admin = create(broker, "events")
            values = [b"%d" % i for i in range(20)]
            produce(broker, "events", values)
            at = TopicPartition("events", 0, 7)
            self.assertEqual(admin.delete_records([at])[at].result(30).low_watermark, 7)
            self.assertEqual(earliest(admin, "events"), 7)
            self.assertEqual(consume(broker, "events", 7), list(enumerate(values))[7:])
            with self.assertRaises(KafkaException) as below:
                consume(broker, "events", 6)
            self.assertEqual(below.exception.args[0].name(), "_AUTO_OFFSET_RESET")
            beyond = TopicPartition("events", 0, 21)
            with self.assertRaises(KafkaException) as refused:
                admin.delete_records([beyond])[beyond].result(30)
            self.assertEqual(refused.exception.args[0].name(), "OFFSET_OUT_OF_RANGE")
            end = TopicPartition("events", 0, -1)
            self.assertEqual(admin.delete_records([end])[end].result(30).low_watermark, 20)
            self.assertEqual(consume(broker, "events", 20), [])
            until(lambda: objects(broker) == 0, "no object is left")
            # The log goes on where it was, over a restart as well.
            broker.stop()
            broker.start()
            produce(broker, "events", [b"next"])
            self.assertEqual(consume(broker, "events", 20), [(20, b"next")])
            broker.stop()
            broker.check()

    def test_bytes_on_disk_follow_what_is_kept(self):
        entries, kept_entries = 160, 64
        keeps = kept_entries * ENTRY
        # What expires together is what is in one object: small ones, to have many.
        flags = ("--compact-bytes=64KiB", "--compact-bytes-max=1MiB", f"--clean-interval={PERIOD}s")
        with Broker(*COMPACTED, *flags) as broker:
            admin = create(broker, "sized", retention_bytes=str(keeps))
            values = noise(entries)
            produce(broker, "sized", values)
            trimmed = entries - kept_entries - 5  # one object more may stay
            until(lambda: earliest(admin, "sized") >= trimmed, "retention trims")
            backlog = lambda: json.loads(broker.get("/v1/status")[1])["compaction"]
            until(lambda: backlog()["backlog_records"] == 0, "all is compacted")
            took = until(
                lambda: objects(broker) <= 1.2 * keeps, f"at most 1.2 of {keeps} bytes are on disk"
            )
            print(f"after retention: {objects(broker) / keeps:.2f} of the retained bytes, "
                  f"{took / PERIOD:.1f} cleaning periods later")  # fmt: skip
            self.assertLessEqual(took, 2 * (PERIOD + PASS))
            kept = consume(broker, "sized", earliest(admin, "sized"))
            self.assertEqual([value for _, value in kept], values[-len(kept):])
            broker.stop()
            broker.check()

    def test_by_time_old_records_go_and_others_stay(self):
        with Broker(*FAST) as broker:
            admin = create(broker, "timed", retention_ms="3600000")
            now = int(time.time() * 1000)
            produce(broker, "timed", [b"old"], now - 3_700_000)
            produce(broker, "timed", [b"new"], now)
            produce(broker, "timed", [b"old again"], now - 3_700_000)
            until(lambda: earliest(admin, "timed") == 1, "the old record expires")
            self.assertEqual(consume(broker, "timed", 1), [(1, b"new"), (2, b"old again")])
            broker.stop()
            broker.check()

    def test_a_topic_made_again_shows_nothing_old(self):
        with Broker(*COMPACTED) as broker:
            for life in range(4):
                admin = create(broker, "again")
                self.assertEqual(consume(broker, "again", 0), [])
                values = [b"life %d value %d" % (life, i) * 100 for i in range(10)]
                produce(broker, "again", values)
                self.assertEqual(consume(broker, "again", 0), list(enumerate(values)))
                if life % 2 == 0:  # with compacted objects, and without
                    folder = broker.data / "compacted/default/again"
                    until(lambda: any(folder.glob("*.parquet")), "it is compacted")
                admin.delete_topics(["again"])["again"].result(30)
            until(lambda: objects(broker) == 0, "no object is left")
            broker.stop()
            broker.check()


if __name__ == "__main__":
    unittest.main()
