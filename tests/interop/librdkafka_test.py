# SPDX-License-Identifier: Apache-2.0
"""librdkafka (through confluent-kafka): every codec, idempotent and not; topics come and go."""

import random
import unittest

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from broker import Broker

PARTITIONS = 3
FIRST_TIME = 1_700_000_000_000


def admin_of(broker: Broker) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.address})


def create(broker: Broker, topic: str, partitions: int = PARTITIONS) -> None:
    admin = admin_of(broker)
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(30)


def delete(broker: Broker, topic: str) -> None:
    admin = admin_of(broker)
    admin.delete_topics([topic])[topic].result(30)


def produce(broker: Broker, topic: str, messages: list[dict], **settings) -> dict:
    """(partition, offset) -> message, as the delivery reports say."""
    where = {}
    producer = Producer({"bootstrap.servers": broker.address, "linger.ms": 5, **settings})

    def delivered(message):
        def report(error, done):
            assert error is None, error
            where[done.partition(), done.offset()] = message

        return report

    for message in messages:
        producer.produce(topic, on_delivery=delivered(message), **message)
        producer.poll(0)
    assert producer.flush(60) == 0
    assert len(where) == len(messages)
    return where


def consume(broker: Broker, topic: str, count: int, offset: int = 0) -> dict:
    """(partition, offset) -> message."""
    consumer = Consumer({
        "bootstrap.servers": broker.address, "group.id": "unused", "enable.auto.commit": False,
        "enable.partition.eof": True,
    })  # fmt: skip
    consumer.assign([TopicPartition(topic, p, offset) for p in range(PARTITIONS)])
    found = {}
    ended = set()
    while len(ended) < PARTITIONS:
        got = consumer.poll(30)
        assert got is not None, f"nothing for 30 s after {len(found)} of {count}"
        if got.error() is not None:
            assert got.error().name() == "_PARTITION_EOF", got.error()
            ended.add(got.partition())
            continue
        found[got.partition(), got.offset()] = {
            "partition": got.partition(), "timestamp": got.timestamp()[1], "key": got.key(),
            "value": got.value(), "headers": got.headers() or [],
        }  # fmt: skip
    consumer.close()
    return found


def messages(count: int, seed: str) -> list[dict]:
    chance = random.Random(seed)
    sizes = [0, 1, 100, 1000, 100_000]
    return [
        {
            "partition": i % PARTITIONS,
            "timestamp": FIRST_TIME + i,
            "key": None if i % 4 == 0 else b"key %d" % i,
            "value": None if i % 40 == 5 else chance.randbytes(chance.choice(sizes)),
            "headers": [("number", b"%d" % i), ("empty", None)],
        }
        for i in range(count)
    ]


class Librdkafka(unittest.TestCase):
    def test_every_codec_idempotent_and_not(self):
        with Broker() as broker:
            for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
                for idempotent in (False, True):
                    with self.subTest(codec=codec, idempotent=idempotent):
                        topic = f"{codec}-{idempotent}"
                        create(broker, topic)
                        sent = produce(
                            broker, topic, messages(300, topic),
                            **{"compression.type": codec, "enable.idempotence": idempotent},
                        )  # fmt: skip
                        self.assertEqual(consume(broker, topic, len(sent)), sent)
                        late = {at: m for at, m in sent.items() if at[1] >= 70}
                        self.assertEqual(consume(broker, topic, len(late), 70), late)
            broker.stop()
            broker.check()

    def test_offsets_for_times(self):
        with Broker() as broker:
            create(broker, "t")
            sent = produce(broker, "t", messages(300, "times"))
            consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "unused"})
            for time in (0, FIRST_TIME, FIRST_TIME + 1, FIRST_TIME + 151, FIRST_TIME + 299):
                asked = [TopicPartition("t", p, time) for p in range(PARTITIONS)]
                for found in consumer.offsets_for_times(asked, timeout=30):
                    fits = [
                        offset
                        for (partition, offset), message in sent.items()
                        if partition == found.partition and message["timestamp"] >= time
                    ]
                    self.assertEqual(found.offset, min(fits, default=-1), (time, found.partition))
            low, high = consumer.get_watermark_offsets(TopicPartition("t", 1), timeout=30)
            self.assertEqual((low, high), (0, 100))
            consumer.close()
            broker.stop()

    def test_a_topic_made_again_has_no_old_data(self):
        with Broker() as broker:
            for life in range(3):
                create(broker, "phoenix")
                self.assertEqual(consume(broker, "phoenix", 0), {})
                sent = produce(broker, "phoenix", messages(60, f"life {life}"))
                self.assertEqual(min(offset for _, offset in sent), 0)
                self.assertEqual(consume(broker, "phoenix", len(sent)), sent)
                delete(broker, "phoenix")
                self.assertNotIn("phoenix", admin_of(broker).list_topics(timeout=30).topics)
                with self.assertRaises(KafkaException):
                    delete(broker, "phoenix")
            broker.stop()
            broker.check()

    def test_a_message_above_the_limit_is_refused(self):
        with Broker() as broker:
            create(broker, "t")
            producer = Producer({
                "bootstrap.servers": broker.address, "message.max.bytes": 20_000_000,
            })  # fmt: skip
            errors = []
            producer.produce("t", bytes(5_000_000), on_delivery=lambda e, _: errors.append(e))
            self.assertEqual(producer.flush(60), 0)
            self.assertEqual([error.name() for error in errors], ["MSG_SIZE_TOO_LARGE"])
            sent = produce(broker, "t", messages(3, "after"))
            self.assertEqual(consume(broker, "t", 3), sent)
            broker.stop()


if __name__ == "__main__":
    unittest.main()
