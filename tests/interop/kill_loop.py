#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills the broker with SIGKILL again and again under idempotent producers, then reads everything.

Every acknowledged id must be there exactly once, at the partition and offset of its
acknowledgement, byte for byte; one that was not acknowledged at most once; `lakestream check` must
be clean.

    kill_loop.py [--rounds N] [--seed S]      LKS_KILL_ROUNDS is the default of N
"""

import argparse
import os
import random
import sys
import threading
import time
from collections import Counter

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from broker import Broker

TOPIC = "ledger"
PARTITIONS = 24
IN_FLIGHT_MAX = 500  # messages of one producer
PAUSE_MAX = 1.5  # seconds between a start and the next kill


def value_of(number: int) -> bytes:
    """The id and bytes that follow from it."""
    chance = random.Random(number)
    return b"%d:" % number + chance.randbytes(chance.choice([10, 100, 300, 2000]))


class Ledger:
    """What was sent and what was acknowledged. Used by all producers' threads."""

    def __init__(self):
        self.lock = threading.Lock()
        self.next = 0
        self.acknowledged: dict[int, tuple[int, int]] = {}  # id -> partition, offset
        self.failed: dict[int, str] = {}

    def take(self) -> int:
        with self.lock:
            self.next += 1
            return self.next - 1

    def report(self, error, message, number: int) -> None:
        with self.lock:
            if error is None:
                assert number not in self.acknowledged, f"id {number} acknowledged twice"
                self.acknowledged[number] = (message.partition(), message.offset())
            else:
                self.failed[number] = str(error)


class Writer(threading.Thread):
    """One idempotent producer after the other; each lives for some time, through several kills."""

    def __init__(self, address: str, ledger: Ledger, seed: int):
        super().__init__()
        self.address = address
        self.ledger = ledger
        self.chance = random.Random(seed)
        self.stopping = threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            while not self.stopping.is_set():
                self.one_life()
        except BaseException as error:  # told by the main thread
            self.error = error

    def one_life(self) -> None:
        producer = Producer({
            "bootstrap.servers": self.address, "enable.idempotence": True,
            "linger.ms": self.chance.choice([0, 1, 5]), "message.timeout.ms": 300_000,
            "reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200, "retry.backoff.ms": 20,
            "batch.size": self.chance.choice([1000, 20_000, 1_000_000]),
            "compression.type": self.chance.choice(["none", "lz4", "zstd"]),
            "socket.timeout.ms": 10_000, "log_level": 0,
        })  # fmt: skip
        end = time.monotonic() + self.chance.uniform(2, 20)
        while not self.stopping.is_set() and time.monotonic() < end:
            if len(producer) < IN_FLIGHT_MAX:
                for _ in range(self.chance.randrange(60)):
                    self.send(producer)
            producer.poll(0.01)
        assert producer.flush(300) == 0, "messages without an answer"

    def send(self, producer: Producer) -> None:
        number = self.ledger.take()
        producer.produce(
            TOPIC, value_of(number), partition=self.chance.randrange(PARTITIONS),
            on_delivery=lambda e, m, number=number: self.ledger.report(e, m, number),
        )  # fmt: skip


def read_all(address: str) -> list[tuple[int, int, bytes]]:
    """(partition, offset, value) of everything."""
    consumer = Consumer({
        "bootstrap.servers": address, "group.id": "unused", "enable.auto.commit": False,
        "enable.partition.eof": True, "fetch.message.max.bytes": 4_000_000,
    })  # fmt: skip
    consumer.assign([TopicPartition(TOPIC, p, 0) for p in range(PARTITIONS)])
    found = []
    ended = set()
    while len(ended) < PARTITIONS:
        message = consumer.poll(60)
        assert message is not None, f"nothing for 60 s, {PARTITIONS - len(ended)} partitions open"
        if message.error() is None:
            found.append((message.partition(), message.offset(), message.value()))
        else:
            assert message.error().name() == "_PARTITION_EOF", message.error()
            ended.add(message.partition())
    consumer.close()
    return found


def compare(ledger: Ledger, found: list[tuple[int, int, bytes]]) -> list[str]:
    """What is wrong."""
    problems = []
    seen = Counter()
    for partition, offset, value in found:
        where = f"partition {partition} offset {offset}"
        number = int(value.split(b":", 1)[0])
        seen[number] += 1
        if value != value_of(number):
            problems.append(f"{where}: id {number} has other bytes than were sent")
        if ledger.acknowledged.get(number, (partition, offset)) != (partition, offset):
            told = ledger.acknowledged[number]
            problems.append(f"{where}: id {number} was acknowledged at {told}")
    problems += [f"id {n} is there {times} times" for n, times in seen.items() if times > 1]
    problems += [f"id {n} was acknowledged at {at} and is missing"
                 for n, at in ledger.acknowledged.items() if n not in seen]
    problems += [f"id {n} was never sent" for n in seen if n >= ledger.next]
    return problems


def run(broker: Broker, rounds: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    admin = AdminClient({"bootstrap.servers": broker.address, "log_level": 0})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(30)
    ledger = Ledger()
    writers = [Writer(broker.address, ledger, seed + i) for i in range(3)]
    for writer in writers:
        writer.start()
    for number in range(rounds):
        time.sleep(chance.uniform(0, PAUSE_MAX))
        broker.kill()
        time.sleep(chance.choice([0, 0, 0.1]))
        broker.start()
        print(f"round {number + 1}: {len(ledger.acknowledged)} acknowledged", flush=True)
    time.sleep(1)
    for writer in writers:
        writer.stopping.set()
    for writer in writers:
        writer.join()
    problems = [f"a producer ended: {w.error!r}" for w in writers if w.error is not None]
    problems += [f"id {n} was refused: {text}" for n, text in ledger.failed.items()]
    found = read_all(broker.address)
    print(f"{ledger.next} sent, {len(ledger.acknowledged)} acknowledged, {len(found)} read")
    assert len(ledger.acknowledged) > 100 * rounds, "too few to prove anything"
    return problems + compare(ledger, found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=int(os.environ.get("LKS_KILL_ROUNDS", "10")))
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    arguments = parser.parse_args()
    print(f"kill_loop.py --rounds {arguments.rounds} --seed {arguments.seed}", flush=True)
    with Broker("--kafka-auto-create-topics", "false") as broker:
        problems = run(broker, arguments.rounds, arguments.seed)
        for problem in problems[:50]:
            print(problem)
        assert not problems, f"{len(problems)} problems"
        broker.stop()
        print(broker.check().splitlines()[-1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
