# SPDX-License-Identifier: Apache-2.0
"""Groups of every client library: they go on where they ended, and share a topic with others."""

import time
import unittest
from collections.abc import Callable
from contextlib import ExitStack

from broker import Broker
from clients import ADMINS, COMMANDS, NO_GROUP_DELAY, Client, Member, Record

PARTITIONS = 4
FIRST_TIME = 1_700_000_000_000

# Their assignors have the same name and the same rules.
SHARING = ["confluent", "java-4.4.0", "java-2.8.2", "java-2.0.1", "franz-go", "kafka-python"]


def records(first: int, count: int, partitions: int = PARTITIONS) -> list[Record]:
    return [
        Record(i % partitions, FIRST_TIME + i, b"%d" % i, b"value %d" % i)
        for i in range(first, first + count)
    ]


def numbers(found: list[Record]) -> list[int]:
    return sorted(int(record.key) for record in found)


class ClientGroups(unittest.TestCase):
    def clients(self, stack: ExitStack, broker: Broker, names) -> dict[str, Client]:
        return {name: stack.enter_context(Client(name, broker.address)) for name in names}

    def stay(self, client: Client, group: str, topic: str, count: int) -> list[int]:
        """Joins, reads `count` records, commits and leaves; the records' numbers."""
        member = Member(client, group, topic)
        member.wait_for(count)
        return numbers(member.leave())

    def test_a_group_goes_on_where_it_ended(self):
        with Broker(*NO_GROUP_DELAY) as broker, ExitStack() as stack:
            clients = self.clients(stack, broker, COMMANDS)
            writer, watcher = clients["confluent"], clients["java-4.4.0"]
            for name, client in clients.items():
                with self.subTest(client=name):
                    topic, group = f"topic.{name}", f"group.{name}"
                    writer.ask("create", topic, PARTITIONS)
                    writer.produce(topic, "none", records(0, 40))
                    self.assertEqual(self.stay(client, group, topic, 40), list(range(40)))
                    self.assertIn(group, watcher.ask("groups"))
                    self.assertEqual(watcher.ask("members", group), [])
                    self.assertEqual(
                        watcher.offsets(group, topic), {partition: 10 for partition in range(4)}
                    )
                    writer.produce(topic, "none", records(40, 20))
                    self.assertEqual(self.stay(client, group, topic, 20), list(range(40, 60)))
            broker.stop()
            broker.check()

    def test_every_client_sees_groups(self):
        with Broker(*NO_GROUP_DELAY) as broker, ExitStack() as stack:
            clients = self.clients(stack, broker, ADMINS)
            writer = clients["franz-go"]
            writer.ask("create", "topic", PARTITIONS)
            writer.produce("topic", "none", records(0, 8))
            for name, client in clients.items():
                with self.subTest(client=name):
                    group = f"seen by {name}".replace(" ", "-")
                    with Client("confluent", broker.address, "resident") as other:
                        member = Member(other, group, "topic")
                        member.wait_for(8)
                        self.assertIn(group, client.ask("groups"))
                        self.assertEqual(client.ask("members", group), ["resident"])
                        member.leave()
                    self.assertEqual(client.offsets(group, "topic"), {p: 2 for p in range(4)})
                    client.ask("forget", group)
                    self.assertNotIn(group, client.ask("groups"))
                    self.assertEqual(client.offsets(group, "topic"), {})
            broker.stop()
            broker.check()

    def test_different_libraries_share_a_topic(self):
        partitions = 2 * len(SHARING)
        with Broker(*NO_GROUP_DELAY) as broker, ExitStack() as stack:
            clients = self.clients(stack, broker, SHARING)
            with Client("franz-go", broker.address, "writer") as writer:
                writer.ask("create", "shared", partitions)
                members = {
                    name: Member(client, "mixed", "shared") for name, client in clients.items()
                }
                sent = 0

                def send() -> None:
                    """What is sent at any time is read once, by whoever is there."""
                    nonlocal sent
                    writer.produce("shared", "lz4", records(sent, 120, partitions))
                    sent += 120
                    self.wait_until(
                        members, lambda: sum(len(m.read) for m in members.values()) >= sent
                    )

                while not all(member.read for member in members.values()):
                    send()
                for leaver in SHARING:
                    send()
                    members[leaver].leave()
                found = sum((member.read for member in members.values()), [])
                self.assertEqual(numbers(found), list(range(sent)))
                ends = {partition: sent // partitions for partition in range(partitions)}
                self.assertEqual(writer.offsets("mixed", "shared"), ends)
            broker.stop()
            broker.check()

    def raise_errors(self, members: dict[str, Member]) -> None:
        for member in members.values():
            if member.error is not None:
                raise member.error

    def wait_until(self, members: dict[str, Member], condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 60
        while not condition():
            self.raise_errors(members)
            read = {name: len(member.read) for name, member in members.items()}
            self.assertLess(time.monotonic(), deadline, read)
            time.sleep(0.05)


if __name__ == "__main__":
    unittest.main()
