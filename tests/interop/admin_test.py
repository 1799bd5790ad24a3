# SPDX-License-Identifier: Apache-2.0
"""The admin client of librdkafka, through confluent-kafka; Apache Kafka's is in api_test.py."""

import unittest

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
)

from broker import Broker

TOPIC = ConfigResource.Type.TOPIC


class Admin(unittest.TestCase):
    """One broker for all: each test has topics of its own."""

    @classmethod
    def setUpClass(cls):
        cls.broker = cls.enterClassContext(Broker())
        cls.admin = AdminClient({"bootstrap.servers": cls.broker.address})

    def create(self, name: str, partitions: int = 1, **configs: str) -> None:
        wanted = {key.replace("_", "."): value for key, value in configs.items()}
        topic = NewTopic(name, partitions, 1, config=wanted)
        self.admin.create_topics([topic])[name].result(30)

    def describe(self, name: str, kind=TOPIC) -> dict:
        resource = ConfigResource(kind, name)
        return self.admin.describe_configs([resource])[resource].result(30)

    def alter(self, name: str, operation: AlterConfigOpType, key: str, value: str | None) -> None:
        entry = ConfigEntry(key, value, incremental_operation=operation)
        resource = ConfigResource(TOPIC, name, incremental_configs=[entry])
        self.admin.incremental_alter_configs([resource])[resource].result(30)

    def refused(self, code: int, call, *arguments) -> str:
        with self.assertRaises(KafkaException) as caught:
            call(*arguments)
        error = caught.exception.args[0]
        self.assertEqual(error.code(), code, error)
        return error.str()

    def test_configs_are_changed_and_read_back(self):
        self.create("configs", retention_ms="600000")
        found = self.describe("configs")
        self.assertGreaterEqual(len(found), 38)
        self.assertEqual(found["retention.ms"].value, "600000")
        self.assertEqual(found["retention.ms"].source, ConfigSource.DYNAMIC_TOPIC_CONFIG.value)
        self.assertTrue(found["max.message.bytes"].is_default)
        self.alter("configs", AlterConfigOpType.SET, "max.message.bytes", "5000")
        self.alter("configs", AlterConfigOpType.DELETE, "retention.ms", None)
        found = self.describe("configs")
        self.assertEqual(found["max.message.bytes"].value, "5000")
        self.assertTrue(found["retention.ms"].is_default)
        # The older call replaces all.
        resource = ConfigResource(TOPIC, "configs", set_config={"retention.bytes": "1000000"})
        self.admin.alter_configs([resource])[resource].result(30)
        found = self.describe("configs")
        self.assertEqual(found["retention.bytes"].value, "1000000")
        self.assertTrue(found["max.message.bytes"].is_default)

    def test_wrong_configs_are_refused_with_their_reason(self):
        invalid = KafkaError.INVALID_CONFIG
        self.create("refused")
        words = self.refused(
            invalid, self.alter, "refused", AlterConfigOpType.SET, "retention.ms", "soon"
        )
        self.assertIn("retention.ms", words)
        self.assertIn("soon", words)
        words = self.refused(
            invalid, self.alter, "refused", AlterConfigOpType.SET, "cleanup.policy", "compact"
        )
        self.assertIn("key compaction", words)
        with self.assertRaises(KafkaException) as caught:
            self.create("never", cleanup_policy="compact")
        self.assertEqual(caught.exception.args[0].code(), invalid)
        self.refused(KafkaError.UNKNOWN_TOPIC_OR_PART, self.describe, "no-such-topic")

    def test_a_change_counts_for_what_comes_after_it(self):
        self.create("limited")

        def send(size: int) -> KafkaError | None:
            reports = []
            producer = Producer({"bootstrap.servers": self.broker.address})
            producer.produce("limited", b"x" * size, on_delivery=lambda *done: reports.append(done))
            self.assertEqual(producer.flush(60), 0)
            return reports[0][0]

        self.assertIsNone(send(10_000))
        self.alter("limited", AlterConfigOpType.SET, "max.message.bytes", "5000")
        self.assertEqual(send(10_000).code(), KafkaError.MSG_SIZE_TOO_LARGE)
        self.assertIsNone(send(1000))
        self.alter("limited", AlterConfigOpType.DELETE, "max.message.bytes", None)
        self.assertIsNone(send(10_000))

    def test_partitions_grow_and_keep_their_records(self):
        self.create("growing", 2)
        producer = Producer({"bootstrap.servers": self.broker.address})
        for partition in range(2):
            producer.produce("growing", b"before", partition=partition)
        self.assertEqual(producer.flush(60), 0)
        self.admin.create_partitions([NewPartitions("growing", 7)])["growing"].result(30)
        found = self.admin.list_topics("growing", timeout=30).topics["growing"]
        self.assertEqual(sorted(found.partitions), list(range(7)))
        late = Producer({"bootstrap.servers": self.broker.address})
        for partition in range(7):
            late.produce("growing", b"after", partition=partition)
        self.assertEqual(late.flush(60), 0)
        self.assertEqual(
            self.read("growing", 7),
            {p: [b"before", b"after"] if p < 2 else [b"after"] for p in range(7)},
        )
        self.refused(
            KafkaError.INVALID_PARTITIONS,
            lambda: self.admin.create_partitions([NewPartitions("growing", 3)])["growing"].result(
                30
            ),
        )

    def read(self, topic: str, partitions: int) -> dict[int, list[bytes]]:
        consumer = Consumer({
            "bootstrap.servers": self.broker.address, "group.id": "unused",
            "enable.auto.commit": False, "enable.partition.eof": True,
        })  # fmt: skip
        consumer.assign([TopicPartition(topic, p, 0) for p in range(partitions)])
        found: dict[int, list[bytes]] = {p: [] for p in range(partitions)}
        ended = set()
        while len(ended) < partitions:
            message = consumer.poll(60)
            assert message is not None, "nothing comes any more"
            if message.error() is not None:
                assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
                ended.add(message.partition())
            else:
                found[message.partition()].append(message.value())
        consumer.close()
        return found

    def test_the_cluster_and_its_settings(self):
        cluster = self.admin.describe_cluster(include_authorized_operations=True).result(30)
        self.assertEqual([f"{n.host}:{n.port}" for n in cluster.nodes], [self.broker.address])
        found = self.describe(str(cluster.nodes[0].id), ConfigResource.Type.BROKER)
        self.assertEqual(found["kafka.listen"].value, self.broker.address)
        self.assertTrue(found["num.partitions"].is_read_only)


class Settings(unittest.TestCase):
    def test_a_broker_tells_what_it_was_started_with(self):
        flags = ("--group-session-timeout-min=1500ms", "--group-offsets-retention=2h",
                 "--retention-time=3h", "--kafka-partitions-default=5")  # fmt: skip
        with Broker(*flags) as broker:
            admin = AdminClient({"bootstrap.servers": broker.address})
            admin.create_topics([NewTopic("plain")])["plain"].result(30)

            def describe(kind: ConfigResource.Type, name: str) -> dict:
                resource = ConfigResource(kind, name)
                return admin.describe_configs([resource])[resource].result(30)

            (node,) = admin.describe_cluster().result(30).nodes
            told = describe(ConfigResource.Type.BROKER, str(node.id))
            of_settings = ConfigSource.STATIC_BROKER_CONFIG.value
            for name, value, source in (
                ("group.min.session.timeout.ms", "1500", of_settings),
                ("group.session_timeout_min", "1500ms", of_settings),
                ("offsets.retention.minutes", "120", of_settings),
                ("log.retention.ms", "10800000", of_settings),
                ("num.partitions", "5", of_settings),
                ("group.initial.rebalance.delay.ms", "3000", ConfigSource.DEFAULT_CONFIG.value),
            ):
                self.assertEqual((told[name].value, told[name].source), (value, source), name)
            self.assertEqual(describe(TOPIC, "plain")["retention.ms"].value, "10800000")
            made = admin.list_topics("plain", timeout=30).topics["plain"]
            self.assertEqual(len(made.partitions), 5)
            broker.stop()
            broker.check()


class Restart(unittest.TestCase):
    def test_what_was_changed_outlives_the_broker(self):
        with Broker() as broker:
            admin = AdminClient({"bootstrap.servers": broker.address})
            admin.create_topics([NewTopic("lasting", 2, 1)])["lasting"].result(30)
            entry = ConfigEntry(
                "retention.ms", "5000", incremental_operation=AlterConfigOpType.SET
            )
            resource = ConfigResource(TOPIC, "lasting", incremental_configs=[entry])
            admin.incremental_alter_configs([resource])[resource].result(30)
            admin.create_partitions([NewPartitions("lasting", 4)])["lasting"].result(30)
            broker.kill()
            broker.start()
            admin = AdminClient({"bootstrap.servers": broker.address})
            found = admin.describe_configs([resource])[resource].result(30)
            self.assertEqual(found["retention.ms"].value, "5000")
            topic = admin.list_topics("lasting", timeout=30).topics["lasting"]
            self.assertEqual(len(topic.partitions), 4)
            broker.stop()
            broker.check()


if __name__ == "__main__":
    unittest.main()
