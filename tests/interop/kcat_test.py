# SPDX-License-Identifier: Apache-2.0
"""kcat writes and reads: bytes by offset, bytes by timestamp, every codec."""

import random
import subprocess
import time
import unittest

from broker import Broker

SEPARATOR = b"\x1e"  # between messages; kcat's own is the line's end
ROW = "%p %o %T %K:%k%S:%s"


def kcat(broker: Broker, *arguments: str, input: bytes = b"") -> bytes:
    done = subprocess.run(
        ["kcat", "-b", broker.address, *arguments], input=input, capture_output=True, timeout=120
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def produce(broker: Broker, topic: str, values: list[bytes], *arguments: str) -> None:
    delimiter = SEPARATOR.decode()
    kcat(broker, "-P", "-t", topic, "-D", delimiter, *arguments, input=SEPARATOR.join(values))


def consume(broker: Broker, topic: str, *arguments: str) -> list[tuple[int, bytes]]:
    """(timestamp, value) of each message of partition 0, in order, up to the end."""
    found = []
    text = kcat(broker, "-C", "-t", topic, "-p", "0", "-e", "-q", "-f", "%T %S %s", *arguments)
    while text:
        timestamp, size, rest = text.split(b" ", 2)
        found.append((int(timestamp), rest[: int(size)]))
        text = rest[int(size) :]
    return found


class Kcat(unittest.TestCase):
    def values(self, count: int) -> list[bytes]:
        chance = random.Random(count)
        made = (chance.randbytes(chance.choice([1, 10, 1000, 50_000])) for _ in range(count))
        return [value.replace(SEPARATOR, b"-") for value in made]

    def test_every_codec_by_offset(self):
        with Broker() as broker:
            for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
                with self.subTest(codec=codec):
                    values = self.values(100)
                    produce(broker, codec, values, "-z", codec)
                    read = [value for _, value in consume(broker, codec, "-o", "beginning")]
                    self.assertEqual(read, values)
                    read = [value for _, value in consume(broker, codec, "-o", "60")]
                    self.assertEqual(read, values[60:])
                    read = [value for _, value in consume(broker, codec, "-o", "-5")]
                    self.assertEqual(read, values[-5:])
            broker.stop()
            broker.check()

    def test_by_timestamp(self):
        with Broker() as broker:
            batches = [self.values(n) for n in (10, 20, 30)]
            for batch in batches:
                produce(broker, "t", batch)
                time.sleep(0.05)
            everything = consume(broker, "t", "-o", "beginning")
            self.assertEqual([value for _, value in everything], sum(batches, []))
            first_of_second = everything[10][0]
            self.assertGreater(first_of_second, everything[9][0])
            read = consume(broker, "t", "-o", f"s@{first_of_second}")
            self.assertEqual(read, everything[10:])
            read = consume(broker, "t", "-o", f"s@{everything[9][0] + 1}")
            self.assertEqual(read, everything[10:])
            first_of_third = everything[30][0]
            read = consume(broker, "t", "-o", f"s@{first_of_second}", "-o", f"e@{first_of_third}")
            self.assertEqual(read, everything[10:30])
            broker.stop()

    def test_keys_and_metadata(self):
        with Broker("--kafka-partitions-default", "4") as broker:
            rows = b"".join(b"key%d:value%d\n" % (i, i) for i in range(50))
            kcat(broker, "-P", "-t", "keyed", "-K:", input=rows)
            read = kcat(broker, "-C", "-t", "keyed", "-e", "-q", "-K:")
            self.assertEqual(sorted(read.splitlines()), sorted(rows.splitlines()))
            listed = kcat(broker, "-L").decode()
            self.assertIn('topic "keyed" with 4 partitions', listed)
            self.assertIn(broker.address, listed)
            broker.stop()


if __name__ == "__main__":
    unittest.main()
