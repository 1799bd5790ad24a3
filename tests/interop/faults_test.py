# SPDX-License-Identifier: Apache-2.0
"""Faults that users reported of other brokers; docs/kafka-faults.md has the numbers."""

import subprocess
import threading
import time
import unittest
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType
from kafka import KafkaAdminClient

from broker import Broker
from clients import NO_GROUP_DELAY, Client, ClientError, Member, Record
from cutter import Cutter

FIRST_TIME = 1_700_000_000_000


def record(number: int, partition: int = 0, size: int = 10) -> Record:
    return Record(partition, FIRST_TIME + 2 * number, b"%d" % number, b"v" * size)


def records(first: int, count: int) -> list[Record]:
    return [record(number) for number in range(first, first + count)]


def until_empty(client: Client, group: str) -> None:
    """LeaveGroup is answered before it is stored: who left just before a kill may be back until its
    session ends."""
    deadline = time.monotonic() + 120
    while members := client.ask("members", group):
        assert time.monotonic() < deadline, f"still there: {members}"
        time.sleep(0.2)


def numbers(found: list[Record]) -> list[int]:
    return sorted(int(one.key) for one in found)


class Stage:
    """A group that copies a topic to another one, and commits each record."""

    def __init__(self, base: dict, source: str, target: str):
        self.base, self.source, self.target = base, source, target
        self.members: dict[str, tuple[threading.Thread, threading.Event]] = {}
        self.seen: list[int] = []
        self.errors: list[Exception] = []

    def start(self, name: str, static: bool = True) -> None:
        stop = threading.Event()
        thread = threading.Thread(target=self.copy, args=(name, static, stop))
        self.members[name] = thread, stop
        thread.start()

    def stop(self, name: str) -> None:
        thread, stop = self.members.pop(name, (None, None))
        if thread is not None:
            stop.set()
            thread.join()

    def stop_all(self) -> None:
        for name in list(self.members):
            self.stop(name)

    def copy(self, name: str, static: bool, stop: threading.Event) -> None:
        settings = {"group.instance.id": name} if static else {}
        consumer = Consumer({
            **self.base, "group.id": self.source, "auto.offset.reset": "earliest",
            "enable.auto.commit": False, "heartbeat.interval.ms": 300, **settings,
        })  # fmt: skip
        producer = Producer(self.base)
        try:
            consumer.subscribe([self.source])
            while not stop.is_set():
                message = consumer.poll(0.1)
                if message is None:
                    continue
                if message.error() is not None:
                    raise KafkaException(message.error())
                producer.produce(self.target, key=message.key(), partition=message.partition())
                producer.flush()
                consumer.commit(message=message, asynchronous=False)
                self.seen.append(int(message.key()))
        except Exception as why:
            self.errors.append(why)
        finally:
            consumer.close()

    def wait_for(self, count: int) -> None:
        deadline = time.monotonic() + 120
        while len(self.seen) < count:
            assert not self.errors, self.errors
            assert time.monotonic() < deadline, f"{self.source}: {len(self.seen)} of {count}"
            time.sleep(0.1)


class Faults(unittest.TestCase):
    """One broker for all; each test has topics of its own."""

    @classmethod
    def setUpClass(cls):
        cls.stack = ExitStack()
        cls.addClassCleanup(cls.stack.close)
        cls.broker = cls.stack.enter_context(
            # Without tables: a topic made again would suspend its own.
            Broker("--kafka-partitions-default", "4", "--table-default", "false", *NO_GROUP_DELAY)
        )
        cls.go = cls.stack.enter_context(Client("franz-go", cls.broker.address))
        cls.base = {"bootstrap.servers": cls.broker.address}
        cls.admin = AdminClient(cls.base)

    @classmethod
    def tearDownClass(cls):
        cls.broker.stop()
        cls.broker.check()

    def setUp(self):
        self.topic = f"t-{uuid.uuid4().hex[:8]}"

    def create(self, partitions: int = 1, *configs: str) -> str:
        self.go.ask("create", self.topic, partitions, *configs)
        return self.topic

    def consumer(self, **settings) -> Consumer:
        named = {name.replace("_", "."): value for name, value in settings.items()}
        return Consumer({**self.base, "group.id": "unused", "enable.auto.commit": False, **named})

    def offset_at(self, time: int) -> int:
        with closing(self.consumer()) as consumer:
            (found,) = consumer.offsets_for_times([TopicPartition(self.topic, 0, time)], timeout=30)
            return found.offset

    def read(self, consumer: Consumer, count: int) -> list:
        found = []
        while len(found) < count:
            message = consumer.poll(30)
            self.assertIsNotNone(message, f"nothing for 30 s after {len(found)} of {count}")
            self.assertIsNone(message.error())
            found.append(message)
        return found

    def fetches(self) -> int:
        """Fetch requests that were answered."""
        _, text = self.broker.get("/metrics")
        lines = [line for line in text.splitlines() if 'api="Fetch"' in line]
        return sum(int(float(line.split()[-1])) for line in lines if "requests_total" in line)

    # Handshake and metadata.

    def test_10_a_topic_made_by_its_first_record(self):
        for name in ("kafkajs", "kafka-python", "java-4.4.0", "franz-go"):
            with self.subTest(client=name), Client(name, self.broker.address) as client:
                self.go.ask("create", f"{self.topic}.{name}", 1)
                client.produce(f"{self.topic}.{name}", "none", records(0, 3))
                self.assertEqual(numbers(self.go.consume(f"{self.topic}.{name}")), [0, 1, 2])
        producer = Producer(self.base)
        producer.produce(f"{self.topic}.new", b"v")
        self.assertEqual(producer.flush(30), 0)
        with closing(self.consumer()) as consumer:
            listed = consumer.list_topics(f"{self.topic}.new", 30).topics[f"{self.topic}.new"]
            self.assertEqual(len(listed.partitions), 4)

    def test_11_many_clients_at_once_while_records_pour_in(self):
        self.create(4)
        pouring = threading.Event()

        def pour():
            producer = Producer({**self.base, "queue.buffering.max.messages": 1000})
            while not pouring.is_set():
                try:
                    producer.produce(self.topic, bytes(10_000))
                except BufferError:
                    producer.poll(0.01)
            producer.flush(60)

        thread = threading.Thread(target=pour)
        thread.start()
        try:
            command = ["kcat", "-b", self.broker.address, "-L", "-t", self.topic, "-m", "30"]
            with ThreadPoolExecutor(32) as pool:
                runs = pool.map(
                    lambda _: subprocess.run(command, capture_output=True, timeout=60), range(32)
                )
                for done in runs:
                    self.assertEqual(done.returncode, 0, done.stderr)
        finally:
            pouring.set()
            thread.join()

    def test_12_coordinators_of_many_groups_in_one_request(self):
        self.create()
        self.go.produce(self.topic, "none", records(0, 5))
        groups = [f"{self.topic}-{n}" for n in range(5)]
        for number, group in enumerate(groups):
            at = ConsumerGroupTopicPartitions(group, [TopicPartition(self.topic, 0, number)])
            self.admin.alter_consumer_group_offsets([at])[group].result(30)
        with closing(KafkaAdminClient(bootstrap_servers=self.broker.address)) as admin:
            for number, group in enumerate(groups):
                found = admin.list_group_offsets(groups)[group]
                self.assertEqual([at.offset for at in found.values()], [number])

    def test_13_a_consumer_outlives_a_topic_made_again(self):
        self.create()
        self.go.produce(self.topic, "none", records(0, 5))
        settings = {"topic_metadata_refresh_interval_ms": 100, "auto_offset_reset": "earliest"}
        with closing(self.consumer(group_id=self.topic, **settings)) as consumer:
            consumer.subscribe([self.topic])
            self.assertEqual(
                [m.key() for m in self.read(consumer, 5)], [b"%d" % n for n in range(5)]
            )
            self.go.ask("delete", self.topic)
            self.create()
            self.go.produce(self.topic, "none", records(100, 3))
            found = []
            while len(found) < 3:
                message = consumer.poll(30)
                self.assertIsNotNone(message, "nothing of the new topic for 30 s")
                if message.error() is None:
                    found.append(message.key())
            self.assertEqual(found, [b"100", b"101", b"102"])

    # Producing.

    def test_21_a_record_above_the_topics_limit(self):
        self.create(1, "max.message.bytes=51200")
        for name in ("franz-go", "java-4.4.0", "kafka-python"):
            with self.subTest(client=name), Client(name, self.broker.address) as client:
                with self.assertRaisesRegex(ClientError, "(?i)message.*large|RecordTooLarge"):
                    client.produce(self.topic, "none", [record(0, size=500_000)])
        self.go.produce(self.topic, "none", [record(1, size=40_000)])
        self.assertEqual(numbers(self.go.consume(self.topic)), [1])

    # Fetching.

    def test_32_a_consumer_at_the_end_does_not_spin(self):
        self.create()
        with closing(self.consumer(fetch_wait_max_ms=1000)) as consumer:
            consumer.assign([TopicPartition(self.topic, 0, 0)])
            self.assertIsNone(consumer.poll(1))
            before = self.fetches()
            self.assertIsNone(consumer.poll(3))
            self.assertLessEqual(self.fetches() - before, 8)

    def test_34_a_thousand_partitions_in_small_answers(self):
        self.create(1000)
        self.go.produce(self.topic, "none", [record(n, n, 2000) for n in range(1000)])
        settings = {"fetch_max_bytes": 65536, "message_max_bytes": 65536, "fetch_wait_max_ms": 50}
        with closing(self.consumer(**settings)) as consumer:
            consumer.assign([TopicPartition(self.topic, p, 0) for p in range(1000)])
            found = sorted(int(message.key()) for message in self.read(consumer, 1000))
            self.assertEqual(found, list(range(1000)))

    def test_36_a_batch_larger_than_the_consumers_limit(self):
        self.create()
        self.go.produce(self.topic, "none", [record(0, size=500_000)])
        settings = {
            "max_partition_fetch_bytes": 1000,
            "fetch_max_bytes": 2000,
            "message_max_bytes": 1000,
        }
        with closing(self.consumer(**settings)) as consumer:
            consumer.assign([TopicPartition(self.topic, 0, 0)])
            self.assertEqual(len(self.read(consumer, 1)[0].value()), 500_000)

    def test_38_reading_below_the_start(self):
        self.create()
        self.go.produce(self.topic, "none", records(0, 20))
        self.go.ask("cut", self.topic, 0, 12)
        with closing(self.consumer(auto_offset_reset="error")) as consumer:
            consumer.assign([TopicPartition(self.topic, 0, 5)])
            message = consumer.poll(30)
            self.assertEqual(message.error().code(), KafkaError._AUTO_OFFSET_RESET)
            self.assertIn("out of range", message.error().str().lower())
        with closing(self.consumer(auto_offset_reset="earliest")) as consumer:
            consumer.assign([TopicPartition(self.topic, 0, 5)])
            self.assertEqual(self.read(consumer, 1)[0].offset(), 12)

    def test_40_read_committed_of_nothing(self):
        self.create()
        for start in ("beginning", "end"):  # of an empty one, then behind a record
            done = subprocess.run(
                [
                    "kcat", "-b", self.broker.address, "-C", "-t", self.topic, "-e", "-q",
                    "-o", start, "-X", "isolation.level=read_committed",
                ],
                capture_output=True, timeout=60,
            )  # fmt: skip
            self.assertEqual((done.returncode, done.stdout), (0, b""), done.stderr)
            self.go.produce(self.topic, "none", records(0, 1))

    # Offsets and time.

    def test_45_offset_of_a_time_inside_a_batch(self):
        self.create()
        self.go.produce(self.topic, "lz4", records(0, 5))  # 0, 2, 4, 6, 8
        self.assertEqual(self.offset_at(FIRST_TIME + 3), 2)
        self.assertEqual(self.offset_at(FIRST_TIME + 8), 4)
        self.assertEqual(self.offset_at(FIRST_TIME + 9), -1)

    def test_47_offset_of_a_time_below_the_start(self):
        self.create()
        self.go.produce(self.topic, "none", records(0, 20))
        self.go.ask("cut", self.topic, 0, 12)
        self.assertEqual(self.offset_at(FIRST_TIME), 12)
        self.assertEqual(self.offset_at(FIRST_TIME + 2 * 15), 15)

    def test_49_ends_of_leader_epochs(self):
        self.create()
        self.go.produce(self.topic, "none", records(0, 7))
        (line,) = self.go.ask("epoch", self.topic, 0)
        epoch, end = map(int, line.split(" "))
        self.assertGreaterEqual(epoch, 0)
        self.assertEqual(end, 7)

    def test_50_ends_of_epochs_that_are_not(self):
        with self.assertRaisesRegex(ClientError, "UNKNOWN_TOPIC_OR_PARTITION"):
            self.go.ask("epoch", f"{self.topic}-missing", 0)

    def test_52_the_start_after_deleting_records(self):
        self.create()
        self.go.produce(self.topic, "none", records(0, 20))
        self.assertEqual(self.go.ask("cut", self.topic, 0, 7), ["7"])
        with closing(self.consumer()) as consumer:
            ends = consumer.get_watermark_offsets(TopicPartition(self.topic, 0), timeout=30)
            self.assertEqual(ends, (7, 20))
            self.assertEqual(self.go.ask("cut", self.topic, 0, -1), ["20"])
            ends = consumer.get_watermark_offsets(TopicPartition(self.topic, 0), timeout=30)
            self.assertEqual(ends, (20, 20))
        with self.assertRaises(ClientError):
            self.go.ask("cut", self.topic, 0, 21)
        self.go.produce(self.topic, "none", records(20, 1))
        self.assertEqual(numbers(self.go.consume(self.topic)), [20])

    # Groups.

    def test_56_a_second_member_joins_and_leaves(self):
        self.create(4)
        with ExitStack() as stack:
            first, second = (
                stack.enter_context(Client("confluent", self.broker.address, name)) for name in "ab"
            )
            one = Member(first, self.topic, self.topic)
            self.go.produce(self.topic, "none", [record(n, n % 4) for n in range(40)])
            one.wait_for(40)
            two = Member(second, self.topic, self.topic)
            sent = 40
            while not two.read:
                self.go.produce(
                    self.topic, "none", [record(n, n % 4) for n in range(sent, sent + 4)]
                )
                sent += 4
                one.thread.join(0.1)
            self.assertEqual(sorted(self.go.ask("members", self.topic)), ["a", "b"])
            two.leave()
            count = len(one.read)
            self.go.produce(self.topic, "none", [record(n, n % 4) for n in range(sent, sent + 8)])
            one.wait_for(count + 8)
            one.leave()
            self.assertEqual(numbers(one.read + two.read), list(range(sent + 8)))

    def test_59_chained_groups_with_static_members_that_rebalance(self):
        topics = [f"{self.topic}-{n}" for n in range(4)]
        for topic in topics:
            self.go.ask("create", topic, 4)
        count = 400
        chain = [Stage(self.base, *ends) for ends in zip(topics, topics[1:])]
        try:
            for stage in chain:
                stage.start("a")
                stage.start("b")
            producer = Producer(self.base)
            for n in range(count):
                producer.produce(topics[0], key=b"%d" % n, partition=n % 4)
                if n % 100 == 50:
                    producer.flush()
                    for stage in chain:  # one is replaced under its name, one comes and goes
                        stage.stop("a")
                        stage.start("a")
                        stage.start(f"guest-{n}", static=False)
                        stage.stop(f"guest-{n - 100}")
            producer.flush()
            for stage in chain:
                stage.wait_for(count)
        finally:
            for stage in chain:
                stage.stop_all()
        for stage in chain:
            self.assertEqual(sorted(stage.seen), list(range(count)))

    def test_63_offsets_go_with_their_topic(self):
        kept = f"{self.topic}-kept"
        self.create()
        self.go.ask("create", kept, 1)
        at = [TopicPartition(self.topic, 0, 0), TopicPartition(kept, 0, 0)]
        self.go.produce(self.topic, "none", records(0, 1))
        committed = ConsumerGroupTopicPartitions(self.topic, at)
        self.admin.alter_consumer_group_offsets([committed])[self.topic].result(30)
        self.go.ask("delete", self.topic)
        self.assertEqual(self.go.offsets(self.topic, kept), {0: 0})
        self.create()
        self.assertEqual(self.go.offsets(self.topic, self.topic), {})

    # Administration.

    def test_80_configurations_say_all_about_themselves(self):
        self.create(1, "retention.ms=1000")
        for kind, name in ((ResourceType.TOPIC, self.topic), (ResourceType.BROKER, "0")):
            (future,) = self.admin.describe_configs([ConfigResource(kind, name)]).values()
            found = future.result(30)
            self.assertGreater(len(found), 30 if kind == ResourceType.TOPIC else 0)
            for entry in found.values():
                self.assertIsNotNone(entry.source, entry.name)
                if kind == ResourceType.TOPIC:
                    self.assertFalse(entry.is_read_only, entry.name)
                    self.assertTrue(entry.synonyms or entry.is_default, entry.name)
            if kind == ResourceType.TOPIC:
                self.assertFalse(found["retention.ms"].is_default)
                self.assertTrue(found["segment.bytes"].is_default)
        with closing(KafkaAdminClient(bootstrap_servers=self.broker.address)) as admin:
            from kafka.admin import ConfigResource as Resource
            from kafka.admin import ConfigResourceType as Type

            answer = admin.describe_configs([Resource(Type.TOPIC, self.topic)], config_filter="all")
            (topics,) = answer.values()
            types = {
                str(entry.get("config_type", entry.get("type")))
                for entry in topics[self.topic].values()
            }
            self.assertGreater(len(types), 3, types)

    def test_81_sizes_of_partitions(self):
        self.create(2)
        self.go.produce(self.topic, "none", [record(n, 0, 1000) for n in range(100)])
        with closing(KafkaAdminClient(bootstrap_servers=self.broker.address)) as admin:
            text = str(admin.describe_log_dirs())
        self.assertIn(self.topic, text)

    def test_82_defaults_and_83_any_replication_factor(self):
        for number, factor in enumerate((-1, 1, 2, 3)):
            topic = f"{self.topic}.{number}"
            made = NewTopic(topic, -1 if factor == -1 else 2, factor)
            self.admin.create_topics([made])[topic].result(30)
            with closing(self.consumer()) as consumer:
                partitions = consumer.list_topics(topic, 30).topics[topic].partitions
                self.assertEqual(len(partitions), 4 if factor == -1 else 2)

    def test_84_every_compression_type(self):
        for kind in ("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"):
            topic = f"{self.topic}.{kind}"
            self.go.ask("create", topic, 1, f"compression.type={kind}")
            self.assertEqual(self.go.pairs("config", topic)["compression.type"], kind)
            self.go.produce(topic, "gzip", records(0, 5))
            self.assertEqual(numbers(self.go.consume(topic)), list(range(5)))

    def test_86_deleting_by_id(self):
        self.create(2, "retention.ms=1000", "max.message.bytes=50000")
        self.go.ask("delete_id", self.topic)
        self.assertNotIn(self.topic, self.go.ask("topics"))
        with self.assertRaises(ClientError):
            self.go.ask("delete_id", self.topic)


class FaultsOfRestarts(unittest.TestCase):
    """A broker that is killed and started again, or cut off."""

    def test_16_an_answer_that_is_lost_stores_nothing_twice(self):
        with Cutter() as cutter, Broker("--kafka-advertise", cutter.address) as broker:
            cutter.target = broker.port
            with Client("kcat", broker.address) as onlooker:
                for name in ("confluent", "java-4.4.0", "franz-go", "kafka-python"):
                    with self.subTest(client=name), Client(name, cutter.address) as client:
                        client.ask("create", name, 1)
                        before = cutter.cuts
                        for first in range(0, 50, 10):
                            cutter.cut_next_produce()
                            client.produce(name, "none", records(first, 10), idempotent=True)
                        self.assertEqual(cutter.cuts - before, 5)
                        keys = [one.key for one in onlooker.consume(name)]
                        self.assertEqual(keys, [b"%d" % number for number in range(50)])
            broker.stop()
            broker.check()

    def test_18_a_producer_goes_on(self):
        with Broker(*NO_GROUP_DELAY) as broker:
            base = {"bootstrap.servers": broker.address}
            producer = Producer({**base, "enable.idempotence": True, "linger.ms": 0})
            for number in range(60):
                producer.produce("t", key=b"%d" % number, value=b"v", partition=0)
                if number % 20 == 10:
                    producer.poll(0)
                    broker.kill()
                    broker.start()
            self.assertEqual(producer.flush(60), 0)
            with Client("franz-go", broker.address) as go:
                keys = [record.key for record in go.consume("t")]
            self.assertEqual(keys, [b"%d" % number for number in range(60)])
            broker.stop()
            broker.check()

    def test_51_and_64_offsets_are_there(self):
        with Broker(*NO_GROUP_DELAY) as broker:
            with Client("franz-go", broker.address) as go:
                go.ask("create", "t", 1)
                go.produce("t", "none", records(0, 30))
                member = Member(go, "group", "t")
                member.wait_for(30)
                member.leave()
            broker.kill()
            broker.start()
            with Client("java-4.4.0", broker.address) as java:
                self.assertEqual(java.offsets("group", "t"), {0: 30})
                until_empty(java, "group")
                java.produce("t", "none", records(30, 5))
                member = Member(java, "group", "t")
                member.wait_for(5)
                self.assertEqual(numbers(member.leave()), list(range(30, 35)))
            broker.stop()
            broker.check()

    def test_55_the_start_is_where_it_was(self):
        with Broker(*NO_GROUP_DELAY) as broker:
            with Client("franz-go", broker.address) as go:
                go.ask("create", "t", 1)
                go.produce("t", "none", records(0, 30))
                self.assertEqual(go.ask("cut", "t", 0, 12), ["12"])
            broker.kill()
            broker.start()
            with closing(
                Consumer({"bootstrap.servers": broker.address, "group.id": "g"})
            ) as consumer:
                ends = consumer.get_watermark_offsets(TopicPartition("t", 0), timeout=30)
            self.assertEqual(ends, (12, 30))
            broker.stop()
            broker.check()

    def test_61_a_deleted_group_stays_deleted_and_67_a_kept_one_is_described(self):
        with Broker(*NO_GROUP_DELAY) as broker:
            with Client("franz-go", broker.address) as go:
                go.ask("create", "t", 1)
                go.produce("t", "none", records(0, 5))
                for group in ("kept", "gone"):
                    member = Member(go, group, "t")
                    member.wait_for(5)
                    member.leave()
                go.ask("forget", "gone")
            broker.kill()
            broker.start()
            admin = AdminClient({"bootstrap.servers": broker.address})
            with Client("franz-go", broker.address) as go:
                self.assertEqual(go.ask("groups"), ["kept"])
                self.assertEqual(go.offsets("gone", "t"), {})
                until_empty(go, "kept")
            try:
                state = admin.describe_consumer_groups(["gone"])["gone"].result(30).state.name
            except KafkaException as why:
                state = why.args[0].name()
            self.assertIn(state, ("DEAD", "GROUP_ID_NOT_FOUND"))
            broker.stop()
            broker.check()


if __name__ == "__main__":
    unittest.main()
