# SPDX-License-Identifier: Apache-2.0
"""Every client library writes in every codec; every other one reads the same records."""

import random
import time
import unittest
from contextlib import ExitStack

from broker import Broker
from clients import COMMANDS, NO_GROUP_DELAY, Client, Record

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PARTITIONS = 2
RECORDS = 60
FIRST_TIME = 1_700_000_000_000
IDEMPOTENT = {"lz4", "none"}  # codecs that are written by an idempotent producer

# Libraries that cannot write a header without a value.
NO_NULL_HEADER = {"kafka-python", "kafkajs"}

NO_ZSTD = {"java-2.0.1"}  # it came with 2.1

# kcat splits its input at bytes of its own, and has no null beside the empty.
KCAT_BYTES = bytes(range(0x20, 0x7F))


def records(writer: str, codec: str) -> list[Record]:
    chance = random.Random(writer + codec)
    sizes = [1, 10, 1000, 30_000]
    made = []
    for i in range(RECORDS):
        value = chance.randbytes(chance.choice(sizes)) if i % 30 != 8 else None
        key = None if i % 3 == 0 else b"key %d" % i
        headers = (("number", b"%d" % i), ("utf", "Grüße".encode()))
        if i % 2 == 0 and writer not in NO_NULL_HEADER:
            headers = (*headers, ("null", None))
        if writer == "kcat":
            value = bytes(KCAT_BYTES[b % len(KCAT_BYTES)] for b in value) if value else None
            headers = (("writer", b"kcat"),)
        made.append(Record(i % PARTITIONS, FIRST_TIME + i, key, value, headers))
    return made


def by_partition(sent: list[Record]) -> list[Record]:
    """As they must be read: in order within each partition, from offset 0 on."""
    expected = []
    for partition in range(PARTITIONS):
        own = [record for record in sent if record.partition == partition]
        expected += [
            Record(r.partition, r.timestamp, r.key, r.value, r.headers, offset)
            for offset, r in enumerate(own)
        ]
    return expected


def without_time(found: list[Record]) -> list[tuple]:
    return [(r.partition, r.offset, r.key, r.value, r.headers) for r in found]


class Clients(unittest.TestCase):
    maxDiff = 2000

    def write_all(self, clients: dict[str, Client]) -> dict[str, list[Record]]:
        """topic -> records as they must be read."""
        expected = {}
        for codec in CODECS:
            for writer in COMMANDS:
                if codec == "zstd" and writer in NO_ZSTD:
                    continue
                topic = f"{writer}.{codec}"
                sent = records(writer, codec)
                clients["confluent"].ask("create", topic, PARTITIONS)
                where = clients[writer].produce(topic, codec, sent, codec in IDEMPOTENT)
                expected[topic] = by_partition(sent)
                if where:
                    next_offset = [0] * PARTITIONS
                    for record, at in zip(sent, where, strict=True):
                        self.assertEqual(at, (record.partition, next_offset[record.partition]))
                        next_offset[record.partition] += 1
        return expected

    def test_what_one_writes_all_read(self):
        with Broker(*NO_GROUP_DELAY) as broker, ExitStack() as stack:
            clients = {name: stack.enter_context(Client(name, broker.address)) for name in COMMANDS}
            expected = self.write_all(clients)
            for reader, client in clients.items():
                began = time.monotonic()
                for topic, wanted in expected.items():
                    if topic.endswith(".zstd") and reader in NO_ZSTD:
                        continue
                    with self.subTest(reader=reader, topic=topic):
                        found = client.consume(topic)
                        if topic.startswith("kcat."):
                            self.assertEqual(without_time(found), without_time(wanted))
                        else:
                            self.assertEqual(found, wanted)
                print(f"{reader}: {len(expected)} topics in {time.monotonic() - began:.1f} s")
            broker.stop()
            broker.check()


if __name__ == "__main__":
    unittest.main()
