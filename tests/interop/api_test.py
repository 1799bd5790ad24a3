# SPDX-License-Identifier: Apache-2.0
"""Every API that is advertised has been asked by somebody else's client, which saw what it does."""

import re
import socket
import struct
import subprocess
import unittest

from kafka.protocol.api_key import ApiKey

from broker import JAVA_PATH, Broker
from clients import NO_GROUP_DELAY, Client, ClientError, Record

REQUESTS = re.compile(r'lakestream_kafka_requests_total\{api="(\w+)"\} (\d+)')


def advertised(broker: Broker) -> set[str]:
    """The names of the APIs in the answer to ApiVersions 0, which is none of the clients'."""
    with socket.create_connection(("127.0.0.1", broker.port), timeout=30) as connection:
        body = struct.pack(">hhih", ApiKey.ApiVersions, 0, 1, -1)
        connection.sendall(struct.pack(">i", len(body)) + body)
        stream = connection.makefile("rb")
        answer = stream.read(struct.unpack(">i", stream.read(4))[0])
    _, error, count = struct.unpack_from(">ihi", answer)
    assert error == 0, error
    keys = [struct.unpack_from(">h", answer, 10 + 6 * i)[0] for i in range(count)]
    return {ApiKey(key).name for key in keys}


class Apis(unittest.TestCase):
    def run_java(self, name: str, broker: Broker) -> None:
        """Its checks are in the program: it prints PASS or dies."""
        done = subprocess.run(
            ["java", "-Xmx256m", "-cp", JAVA_PATH, name, broker.address],
            capture_output=True, text=True, timeout=600,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("PASS", done.stdout)

    def test_every_advertised_api_is_used_by_a_foreign_client(self):
        with Broker(*NO_GROUP_DELAY) as broker:
            self.run_java("AdminCheck", broker)
            self.run_java("Groups", broker)
            self.old_calls(broker)
            status, text = broker.get("/metrics")
            self.assertEqual(status, 200)
            asked = {api: int(count) for api, count in REQUESTS.findall(text)}
            known = advertised(broker)
            self.assertGreaterEqual(len(known), 30)
            self.assertEqual(set(asked), known)
            self.assertEqual([api for api, count in asked.items() if count == 0], [])
            broker.stop()
            broker.check()

    def old_calls(self, broker: Broker) -> None:
        """What the newest Java client has better calls for."""
        with Client("java-2.0.1", broker.address) as client:
            client.ask("create", "old", 1)
            client.ask("set", "old", "retention.ms=4711")  # AlterConfigs
            self.assertEqual(client.pairs("config", "old")["retention.ms"], "4711")
            client.produce("old", "none", [Record(0, 1_700_000_000_000, b"k", b"v")] * 3)
            self.assertEqual(client.ask("cut", "old", 0, 2), ["2"])  # DeleteRecords
            self.assertEqual([record.offset for record in client.consume("old")], [2])
            client.ask("delete", "old")  # DeleteTopics
            with self.assertRaises(ClientError):
                client.ask("delete", "old")


if __name__ == "__main__":
    unittest.main()
