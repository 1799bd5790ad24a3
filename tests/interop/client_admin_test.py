# SPDX-License-Identifier: Apache-2.0
"""The admin clients of every library: topics, partitions, configurations, deleting records."""

import unittest
from contextlib import ExitStack

from broker import Broker
from clients import ADMINS, NO_GROUP_DELAY, Client, ClientError, Record

FIRST_TIME = 1_700_000_000_000

# kafkajs has AlterConfigs only, which sets all that it does not name to the default.
REPLACES = {"kafkajs", "java-2.0.1"}


class ClientAdmin(unittest.TestCase):
    def test_every_client_administers(self):
        with Broker(*NO_GROUP_DELAY) as broker, ExitStack() as stack:
            clients = {name: stack.enter_context(Client(name, broker.address)) for name in ADMINS}
            for name, client in clients.items():
                with self.subTest(client=name):
                    # What one has done, another one sees.
                    other = clients["franz-go" if name != "franz-go" else "java-4.4.0"]
                    self.topics(name, client, other)
                    self.deletes_records(name, client, other)
            broker.stop()
            broker.check()

    def topics(self, name: str, client: Client, other: Client) -> None:
        topic = f"made.by.{name}"
        client.ask("create", topic, 3, "retention.ms=123456", "max.message.bytes=50000")
        self.assertIn(topic, client.ask("topics"))
        self.assertIn(topic, other.ask("topics"))
        with self.assertRaises(ClientError):
            client.ask("create", topic, 3)
        for seen in (client.pairs("config", topic), other.pairs("config", topic)):
            self.assertEqual(seen["retention.ms"], "123456")
            self.assertEqual(seen["max.message.bytes"], "50000")
            self.assertEqual(seen["cleanup.policy"], "delete")
        client.ask("set", topic, "retention.ms=654321")
        for seen in (client.pairs("config", topic), other.pairs("config", topic)):
            self.assertEqual(seen["retention.ms"], "654321")
            kept = "50000" if name not in REPLACES else "1048588"
            self.assertEqual(seen["max.message.bytes"], kept)
        client.ask("grow", topic, 5)
        where = other.produce(topic, "none", [Record(4, FIRST_TIME, b"k", b"v")])
        self.assertEqual(where, [(4, 0)])
        with self.assertRaises(ClientError):
            client.ask("grow", topic, 2)
        client.ask("delete", topic)
        self.assertNotIn(topic, client.ask("topics"))
        self.assertNotIn(topic, other.ask("topics"))
        with self.assertRaises(ClientError):
            client.ask("delete", topic)

    def deletes_records(self, name: str, client: Client, other: Client) -> None:
        topic = f"cut.by.{name}"
        client.ask("create", topic, 1)
        sent = [Record(0, FIRST_TIME + i, b"%d" % i, b"v") for i in range(20)]
        other.produce(topic, "none", sent)
        self.assertEqual(client.ask("cut", topic, 0, 12), ["12"])
        self.assertEqual([record.offset for record in other.consume(topic)], list(range(12, 20)))
        self.assertEqual([record.offset for record in client.consume(topic)], list(range(12, 20)))


if __name__ == "__main__":
    unittest.main()
