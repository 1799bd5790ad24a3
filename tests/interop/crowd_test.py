# SPDX-License-Identifier: Apache-2.0
"""Bad days with many: ten thousand connections, clients that never read, a storm of rebalances."""

import re
import resource
import socket
import struct
import threading
import unittest
from contextlib import ExitStack
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition

from broker import Broker
from clients import NO_GROUP_DELAY, Client, Member
from groups_test import committed, create, describe, wait_for

CONNECTIONS = 10_000  # as many as a broker takes
FILES = 2 * CONNECTIONS + 1_000  # a broker keeps half of its files for itself
MIB = 1 << 20
API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 1, -1)


def raise_files() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES, hard), hard))


def resident(broker: Broker) -> int:
    """Bytes."""
    status = Path(f"/proc/{broker.process.pid}/status").read_text()
    return 1024 * int(re.search(r"VmRSS:\s+(\d+) kB", status)[1])


def metric(broker: Broker, name: str) -> int:
    text = broker.get("/metrics")[1]
    return int(re.search(rf"^lakestream_kafka_{name} (\d+)$", text, re.MULTILINE)[1])


def produce(broker: Broker, topic: str, count: int, partitions: int = 1, size: int = 10) -> None:
    producer = Producer({"bootstrap.servers": broker.address, "linger.ms": 5})
    errors = []
    for number in range(count):
        producer.produce(
            topic, value=b"%*d" % (size, number), partition=number % partitions,
            on_delivery=lambda error, _: errors.append(error) if error else None,
        )  # fmt: skip
        producer.poll(0)
    assert producer.flush(120) == 0 and errors == [], errors


def consume(broker: Broker, topic: str, count: int) -> None:
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "unused"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    for number in range(count):
        message = consumer.poll(60)
        assert message is not None and message.error() is None, message and message.error()
        assert int(message.value()) == number
    consumer.close()


def connect(broker: Broker, count: int) -> list[socket.socket]:
    return [socket.create_connection(("127.0.0.1", broker.port)) for _ in range(count)]


def hung_up(client: socket.socket) -> bool:
    client.settimeout(60)
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


class Crowd(unittest.TestCase):
    def test_ten_thousand_connections(self):
        raise_files()
        # Fewer where neither side may have so many files.
        limit = min(CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
        with Broker("--kafka-connections-max", str(limit), prepare=raise_files) as broker:
            create(broker, "t", 1)
            self.assertNotIn("connections_max_lowered", broker.log.read_text())
            before = resident(broker)
            reserve = 20  # for the librdkafka clients below
            crowd = connect(broker, limit - reserve)
            for client in crowd[::2]:
                client.sendall(API_VERSIONS)
            for client in crowd[::2]:
                self.assertGreater(len(client.recv(4096)), 100)
            wait_for(lambda: metric(broker, "connections") == len(crowd), "all are there")
            # With AddressSanitizer it is 18 KiB.
            self.assertLess((resident(broker) - before) / len(crowd), 48 << 10)
            produce(broker, "t", 1000)
            consume(broker, "t", 1000)
            more = connect(broker, 2 * reserve)
            wait_for(lambda: metric(broker, "connections_refused_total") > 0, "some are refused")
            refused = metric(broker, "connections_refused_total")
            self.assertEqual(sum(map(hung_up, more[-refused:])), refused)
            for client in more:
                client.close()
            wait_for(lambda: metric(broker, "connections") == len(crowd), "there is room again")
            produce(broker, "t", 10)
            for client in crowd:
                client.close()
            wait_for(lambda: metric(broker, "connections") == 0, "nobody is left")
            broker.stop()

    def test_clients_that_never_read(self):
        """All of them together cost a bounded amount, and are cut off before others starve."""
        limit, shards, readers = 8 * MIB, 2, 40
        with Broker(
            "--kafka-shard-response-bytes", str(limit), "--process-shards", str(shards)
        ) as broker:
            create(broker, "t", 1)
            produce(broker, "t", 32, size=900_000)
            crowd = connect(broker, readers)
            for client in crowd:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                client.sendall(b"".join(fetch("t", number % 32) for number in range(20)))
            highest = 0
            ended = threading.Event()

            def watch() -> None:
                nonlocal highest
                while not ended.wait(0.05):
                    highest = max(highest, metric(broker, "response_bytes"))

            watcher = threading.Thread(target=watch)
            watcher.start()
            try:
                produce(broker, "t2", 1000)
                consume(broker, "t2", 1000)
                consume(broker, "t", 32)
                # Those that were given records have been hung up on.
                wait_for(lambda: metric(broker, "response_bytes") == 0, "memory comes back")
            finally:
                ended.set()
                watcher.join()
            for client in crowd:
                client.close()
            self.assertGreater(highest, limit)
            # Of 700 MiB that they asked for: twice the limit, and a batch for each read under way,
            # which counts as the floor of 256 KiB until it is done.
            self.assertLess(highest, shards * 2 * limit * (1 + 4))
            self.assertIn("client_does_not_read", broker.log.read_text())
            produce(broker, "t2", 10)
            broker.stop()

    def test_a_storm_of_rebalances(self):
        """Members come and go all the time, and every record is read and committed."""
        partitions, members, stays = 12, 6, 6
        read: set[int] = set()
        errors: list[Exception] = []
        with Broker(*NO_GROUP_DELAY) as broker, ExitStack() as stack:
            create(broker, "t", partitions)
            base = {"bootstrap.servers": broker.address, "linger.ms": 5}
            producer, sent = Producer(base), 0

            def come_and_go(client: Client) -> None:
                try:
                    for _ in range(stays):
                        member = Member(client, "g", "t")
                        member.wait_for(1)
                        read.update(int(record.value) for record in member.leave())
                except Exception as why:
                    errors.append(why)

            threads = []
            for number in range(members):
                client = stack.enter_context(Client("franz-go", broker.address, f"m{number}"))
                threads.append(threading.Thread(target=come_and_go, args=[client]))
                threads[-1].start()
            # So that whoever has a part soon has something to read.
            while any(thread.is_alive() for thread in threads):
                for _ in range(partitions):
                    producer.produce("t", b"%d" % sent, partition=sent % partitions)
                    sent += 1
                self.assertEqual(producer.flush(60), 0)
            self.assertEqual(errors, [])
            rebalances = metric(broker, "group_rebalances_total")
            self.assertGreater(rebalances, stays)
            left = sent - sum(committed(broker).values())
            with Client("franz-go", broker.address, "last") as client:
                last = Member(client, "g", "t")
                last.wait_for(left)
                read.update(int(record.value) for record in last.leave())
            self.assertEqual(read, set(range(sent)), f"after {rebalances} rebalances")
            self.assertEqual(sum(committed(broker).values()), sent)
            self.assertEqual(describe(broker).members, [])
            self.assertEqual(metric(broker, "group_members"), 0)
            broker.stop()
            broker.check()


def fetch(topic: str, offset: int) -> bytes:
    """A Fetch request, version 4, for a MiB of partition 0."""
    name = topic.encode()
    body = struct.pack(">hhih", 1, 4, offset, -1)
    body += struct.pack(">iiiibi", -1, 100, 1, 50 * MIB, 0, 1)
    body += struct.pack(f">h{len(name)}s", len(name), name)
    body += struct.pack(">iiqi", 1, 0, offset, MIB)
    return struct.pack(">i", len(body)) + body


if __name__ == "__main__":
    unittest.main()
