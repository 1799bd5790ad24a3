# SPDX-License-Identifier: Apache-2.0
"""Consumer groups with confluent-kafka (librdkafka) and kcat, and what admins do to them."""

import re
import subprocess
import time
import unittest

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka import ConsumerGroupState as State
from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient

from broker import Broker
from librdkafka_test import create, produce

PARTITIONS = 3
PATIENCE = 120  # seconds; a loaded machine is slow, and nothing here waits for a time to pass
AT_ONCE = ("--group-initial-rebalance-delay", "0ms")


def wait_for(condition, what: str):
    deadline = time.monotonic() + PATIENCE
    while True:
        result = condition()
        if result:
            return result
        assert time.monotonic() < deadline, f"not after {PATIENCE} s: {what}"


def admin_of(broker: Broker) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.address})


def describe(broker: Broker, group: str = "g"):
    admin = admin_of(broker)  # must outlive its futures
    return admin.describe_consumer_groups([group])[group].result(30)


def committed(broker: Broker, group: str = "g", topic: str = "t") -> dict[int, int]:
    """Partition -> offset, as an administrator sees it."""
    asked = ConsumerGroupTopicPartitions(group)
    admin = admin_of(broker)
    found = admin.list_consumer_group_offsets([asked])[group].result(30)
    return {p.partition: p.offset for p in found.topic_partitions if p.topic == topic}


class Member:
    """A consumer that remembers what it was given and what it has read."""

    def __init__(self, broker: Broker, name: str, strategy: str = "range", **settings):
        self.assigned: set[int] = set()
        self.revoked_once: list[set[int]] = []
        self.read: list[tuple[int, int]] = []
        self.consumer = Consumer({
            "bootstrap.servers": broker.address, "group.id": "g", "client.id": name,
            "auto.offset.reset": "earliest", "enable.auto.commit": False,
            "partition.assignment.strategy": strategy, "session.timeout.ms": 10_000,
            "heartbeat.interval.ms": 300, "topic.metadata.refresh.interval.ms": 1000,
            **settings,
        })  # fmt: skip
        self.cooperative = "cooperative" in strategy
        self.consumer.subscribe(["t"], on_assign=self.on_assign, on_revoke=self.on_revoke)

    def on_assign(self, consumer, partitions):
        self.assigned |= {p.partition for p in partitions}

    def on_revoke(self, consumer, partitions):
        gone = {p.partition for p in partitions}
        self.revoked_once.append(gone)
        self.assigned -= gone

    def poll(self) -> None:
        message = self.consumer.poll(0.05)
        if message is not None and message.error() is None:
            self.read.append((message.partition(), message.offset()))

    def close(self) -> None:
        self.consumer.close()


def settle(*members: Member) -> list[set[int]]:
    """Polls until every partition belongs to exactly one of them, and each has some."""

    def settled():
        for member in members:
            member.poll()
        owned = [p for member in members for p in member.assigned]
        return sorted(owned) == list(range(PARTITIONS)) and all(m.assigned for m in members)

    wait_for(settled, "a partition for everybody")
    return [set(member.assigned) for member in members]


def read_all(members: list[Member], count: int) -> None:
    def complete():
        for member in members:
            member.poll()
        return sum(len(member.read) for member in members) >= count

    wait_for(complete, f"{count} messages")


def filled(broker: Broker, count: int) -> dict:
    messages = [{"partition": i % PARTITIONS, "value": b"%d" % i} for i in range(count)]
    return produce(broker, "t", messages)


class Groups(unittest.TestCase):
    def test_rebalances_by_every_strategy(self):
        for strategy in ("range", "roundrobin", "cooperative-sticky"):
            with self.subTest(strategy=strategy), Broker(*AT_ONCE) as broker:
                create(broker, "t", PARTITIONS)
                sent = filled(broker, 60)
                first = Member(broker, "first", strategy)
                settle(first)
                read_all([first], 60)
                first.consumer.commit(asynchronous=False)
                second = Member(broker, "second", strategy)
                settle(first, second)
                more = filled(broker, 60)
                read_all([first, second], 120)
                for member in (first, second):
                    member.consumer.commit(asynchronous=False)
                group = describe(broker)
                self.assertEqual(group.state, State.STABLE)
                self.assertEqual(group.partition_assignor, strategy)
                self.assertEqual({m.client_id for m in group.members}, {"first", "second"})
                self.assertTrue(all(m.host == "/127.0.0.1" for m in group.members))
                second.close()
                settle(first)
                first.close()
                read = first.read + second.read
                self.assertEqual(sorted(read), sorted(list(sent) + list(more)), "lost or doubled")
                if strategy == "cooperative-sticky":
                    self.assertFalse(any(len(r) == PARTITIONS for r in first.revoked_once[:-1]))
                self.assertEqual(committed(broker), {p: 40 for p in range(PARTITIONS)})
                self.assertEqual(describe(broker).state, State.EMPTY)
                broker.stop()
                broker.check()

    def test_a_restart_of_the_broker_in_the_middle(self):
        for how in ("kill", "stop"):
            with self.subTest(how=how), Broker(*AT_ONCE) as broker:
                create(broker, "t", PARTITIONS)
                members = [Member(broker, "a"), Member(broker, "b")]
                before = settle(*members)
                filled(broker, 30)  # now: the first one reads nothing that goes to the other
                read_all(members, 30)
                for member in members:
                    member.consumer.commit(asynchronous=False)
                ids = {m.member_id for m in describe(broker).members}
                getattr(broker, how)()
                broker.start()
                self.assertEqual(committed(broker), {p: 10 for p in range(PARTITIONS)})
                filled(broker, 30)
                read_all(members, 60)
                self.assertEqual([set(m.assigned) for m in members], before)
                if how == "kill":
                    self.assertEqual({m.member_id for m in describe(broker).members}, ids)
                for member in members:
                    member.consumer.commit(asynchronous=False)
                    member.close()
                read = [at for member in members for at in member.read]
                self.assertEqual(len(read), len(set(read)), "read twice")
                self.assertEqual(committed(broker), {p: 20 for p in range(PARTITIONS)})

    def test_static_members_come_back_without_a_rebalance(self):
        with Broker(*AT_ONCE) as broker:
            create(broker, "t", PARTITIONS)
            members = [
                Member(broker, name, **{"group.instance.id": name}) for name in ("a", "b", "c")
            ]
            before = settle(*members)
            for member in members:
                member.revoked_once.clear()  # they need not have come all at once
            id_before = {m.group_instance_id: m.member_id for m in describe(broker).members}
            members[0].close()
            self.assertEqual(len(describe(broker).members), 3, "a static member does not leave")
            members[0] = Member(broker, "a", **{"group.instance.id": "a"})
            self.assertEqual(settle(*members), before)
            id_after = {m.group_instance_id: m.member_id for m in describe(broker).members}
            self.assertNotEqual(id_before.pop("a"), id_after.pop("a"))
            self.assertEqual(id_before, id_after)
            self.assertEqual([m.revoked_once for m in members[1:]], [[], []])
            # A second one of the same name fences the first.
            twin = Member(broker, "a", **{"group.instance.id": "a"})

            def fenced():
                twin.poll()
                try:
                    message = members[0].consumer.poll(0.05)
                except KafkaException as error:
                    return error.args[0].code() == KafkaError.FENCED_INSTANCE_ID
                return (
                    message is not None
                    and message.error() is not None
                    and message.error().code() in (KafkaError.FENCED_INSTANCE_ID, KafkaError._FATAL)
                )

            wait_for(fenced, "the first twin is fenced")
            for member in (*members, twin):
                member.close()

    def test_a_paused_member_is_a_zombie_when_it_wakes_up(self):
        with Broker(*AT_ONCE, "--group-session-timeout-min", "1s") as broker:
            create(broker, "t", PARTITIONS)
            filled(broker, 30)
            # A process of its own, so that it can be stopped as a whole.
            zombie = subprocess.Popen(
                [
                    "kcat", "-b", broker.address, "-G", "g", "t", "-u", "-q",
                    "-X", "auto.offset.reset=earliest", "-X", "session.timeout.ms=1500",
                    "-X", "heartbeat.interval.ms=200", "-X", "enable.auto.commit=false",
                    "-f", "%p %o\n",
                ],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
            try:
                self.assertRegex(zombie.stdout.readline(), r"^\d \d+$")
                wait_for(lambda: describe(broker).state == State.STABLE, "a member")
                zombie.send_signal(19)  # SIGSTOP
                member = Member(broker, "heir")
                settle(member)
                read_all([member], 30)
                member.consumer.commit(asynchronous=False)
                self.assertEqual(len(describe(broker).members), 1)
                zombie.send_signal(18)  # SIGCONT
                # It learns that it is out, and joins anew.
                wait_for(
                    lambda: member.poll() or len(describe(broker).members) == 2, "it is back"
                )
                self.assertEqual(committed(broker), {p: 10 for p in range(PARTITIONS)})
                member.close()
            finally:
                zombie.kill()
                zombie.communicate()

    def test_commits_of_strangers_and_old_members_are_refused(self):
        with Broker(*AT_ONCE) as broker:
            create(broker, "t", PARTITIONS)
            member = Member(broker, "a")
            settle(member)
            stranger = Consumer({"bootstrap.servers": broker.address, "group.id": "g"})
            with self.assertRaises(KafkaException) as refused:
                stranger.commit(offsets=[TopicPartition("t", 0, 1)], asynchronous=False)
            self.assertEqual(
                refused.exception.args[0].code(), KafkaError.UNKNOWN_MEMBER_ID
            )
            stranger.close()
            member.close()

    def test_lag(self):
        with Broker(*AT_ONCE) as broker:
            create(broker, "t", PARTITIONS)
            filled(broker, 30)
            member = Member(broker, "a")
            settle(member)
            member.consumer.commit(
                offsets=[TopicPartition("t", p, p, metadata="m%d" % p) for p in range(PARTITIONS)],
                asynchronous=False,
            )
            lag = {
                p: member.consumer.get_watermark_offsets(TopicPartition("t", p))[1] - offset
                for p, offset in committed(broker).items()
            }
            self.assertEqual(lag, {0: 10, 1: 9, 2: 8})
            asked = [TopicPartition("t", p) for p in range(PARTITIONS)]
            found = member.consumer.committed(asked, timeout=30)
            self.assertEqual(
                [(p.offset, p.metadata) for p in found], [(p, f"m{p}") for p in range(PARTITIONS)]
            )
            member.close()

    def test_administration(self):
        with Broker(*AT_ONCE) as broker:
            admin = admin_of(broker)
            create(broker, "t", PARTITIONS)
            member = Member(broker, "a")
            settle(member)
            listed = admin.list_consumer_groups().result(30)
            self.assertEqual([(g.group_id, g.state) for g in listed.valid], [("g", State.STABLE)])
            self.assertEqual(admin.list_consumer_groups(states={State.EMPTY}).result(30).valid, [])
            with self.assertRaises(KafkaException) as refused:
                admin.delete_consumer_groups(["g"])["g"].result(30)
            self.assertEqual(refused.exception.args[0].code(), KafkaError.NON_EMPTY_GROUP)
            member.close()
            wanted = ConsumerGroupTopicPartitions(
                "g", [TopicPartition("t", p, 100 + p) for p in range(PARTITIONS)]
            )
            admin.alter_consumer_group_offsets([wanted])["g"].result(30)
            self.assertEqual(committed(broker), {0: 100, 1: 101, 2: 102})
            broker.kill()
            broker.start()
            # Nobody has asked for it since, so it is not in memory.
            admin = admin_of(broker)
            listed = admin.list_consumer_groups(states={State.EMPTY}).result(30)
            self.assertEqual([(g.group_id, g.state) for g in listed.valid], [("g", State.EMPTY)])
            self.assertEqual(describe(broker).state, State.EMPTY)
            self.assertEqual(committed(broker), {0: 100, 1: 101, 2: 102})
            admin.delete_consumer_groups(["g"])["g"].result(30)
            self.assertEqual(admin.list_consumer_groups().result(30).valid, [])
            self.assertEqual(committed(broker), {})
            broker.kill()
            broker.start()
            self.assertEqual(describe(broker).state, State.DEAD)
            self.assertEqual(committed(broker), {})
            broker.stop()
            broker.check()

    def test_a_topic_of_the_same_name_begins_without_offsets(self):
        with Broker(*AT_ONCE) as broker:
            admin = admin_of(broker)
            create(broker, "t", PARTITIONS)
            alter = ConsumerGroupTopicPartitions("g", [TopicPartition("t", 0, 7)])
            admin.alter_consumer_group_offsets([alter])["g"].result(30)
            self.assertEqual(committed(broker), {0: 7})
            admin.delete_topics(["t"])["t"].result(30)
            create(broker, "t", PARTITIONS)
            self.assertEqual(committed(broker), {})

    def test_kcat(self):
        with Broker(*AT_ONCE) as broker:
            create(broker, "t", PARTITIONS)
            sent = filled(broker, 30)
            done = subprocess.run(
                [
                    "kcat", "-b", broker.address, "-G", "k", "t", "-e", "-q",
                    "-X", "auto.offset.reset=earliest", "-f", "%p %o\n",
                ],
                capture_output=True, text=True, timeout=PATIENCE,
            )  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)
            read = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
            self.assertEqual(sorted(read), sorted(sent))
            self.assertEqual(committed(broker, "k"), {p: 10 for p in range(PARTITIONS)})
            metrics = broker.get("/metrics")[1]
            name = "lakestream_kafka_group_offsets_committed_total"
            count = re.search(rf"^{name} (\d+)", metrics, re.M)
            self.assertGreaterEqual(int(count.group(1)), PARTITIONS)


if __name__ == "__main__":
    unittest.main()
