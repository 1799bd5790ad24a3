#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills the broker with SIGKILL again and again under idempotent producers, then reads everything.

Meanwhile the broker compacts and commits to the table all the time. In the stream, every
acknowledged id must be there exactly once, at the partition and offset of its acknowledgement, byte
for byte; one that was not acknowledged at most once. The table must have exactly the stream's
records, and `lakestream check` and `lakestream table verify` must be clean.

    kill_loop.py [--rounds N] [--seed S]      LKS_KILL_ROUNDS is the default of N
"""

import argparse
import os
import random
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Callable, Iterable, Iterator

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from pyiceberg.table import StaticTable

from broker import Broker, run_cli

TOPIC = "ledger"
PARTITIONS = 24
IN_FLIGHT_MAX = 500  # messages of one producer
PAUSE_MAX = 1.5  # seconds between a start and the next kill
COMMIT_MAX = 5  # seconds to wait for a commit before a kill
STALL_MAX = 120  # seconds without a record or a row; all may take as long as it likes
BUSY = ("--table-commit-interval", "300ms", "--compact-age", "1s")

# (partition, offset) -> value
Stream = dict[tuple[int, int], bytes]


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
            "retry.backoff.max.ms": 200,
            "batch.size": self.chance.choice([1000, 20_000, 1_000_000]),
            "compression.type": self.chance.choice(["none", "lz4", "zstd"]),
            "socket.timeout.ms": 10_000, "log_level": 0,
        })  # fmt: skip
        end = time.monotonic() + self.chance.uniform(2, 20)
        while not self.stopping.is_set() and time.monotonic() < end:
            if len(producer) < IN_FLIGHT_MAX:
                for _ in range(self.chance.randrange(40)):
                    self.send(producer)
            producer.poll(0.02)
        assert producer.flush(300) == 0, "messages without an answer"

    def send(self, producer: Producer) -> None:
        number = self.ledger.take()
        producer.produce(
            TOPIC, value_of(number), partition=self.chance.randrange(PARTITIONS),
            on_delivery=lambda e, m, number=number: self.ledger.report(e, m, number),
        )  # fmt: skip


def read_all(address: str) -> Stream:
    """Everything, by a client that starts at offset 0 of each partition."""
    consumer = Consumer({
        "bootstrap.servers": address, "group.id": "unused", "enable.auto.commit": False,
        "enable.partition.eof": True, "fetch.message.max.bytes": 4_000_000,
    })  # fmt: skip
    consumer.assign([TopicPartition(TOPIC, p, 0) for p in range(PARTITIONS)])
    found: Stream = {}
    open_ = set(range(PARTITIONS))
    while open_:
        message = consumer.poll(STALL_MAX)
        assert message is not None, f"nothing for {STALL_MAX} s; partitions {open_} not at the end"
        if message.error() is None:
            found[message.partition(), message.offset()] = message.value()
        else:
            assert message.error().name() == "_PARTITION_EOF", message.error()
            open_.discard(message.partition())
    consumer.close()
    return found


def records_of(address: str) -> int:
    """Records of the stream, by the ends of its partitions: there are no gaps."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": "unused"})
    ends = [
        consumer.get_watermark_offsets(TopicPartition(TOPIC, p), timeout=STALL_MAX)
        for p in range(PARTITIONS)
    ]
    consumer.close()
    assert all(begin == 0 for begin, _ in ends), ends
    return sum(end for _, end in ends)


def await_table(folder: Path, records: int) -> StaticTable:
    """The topic's table, once it has as many rows as the stream has records."""
    rows, moved = -1, time.monotonic()
    while True:
        table = StaticTable.from_metadata(str(folder))
        now, found = time.monotonic(), table.scan().count()
        if found >= records:
            return table
        if found != rows:
            rows, moved = found, now
        assert now - moved < STALL_MAX, f"the table stays at {rows} of {records} rows"
        time.sleep(0.2)


def rows_of(table: StaticTable) -> Iterator[tuple[int, int, bytes]]:
    """Partition, offset, value of each row, in no order."""
    columns = ("kafka_partition", "kafka_offset", "value")
    for batch in table.scan(selected_fields=columns).to_arrow_batch_reader():
        yield from zip(*(batch.column(name).to_pylist() for name in columns))


def compare(ledger: Ledger, stream: Stream) -> list[str]:
    """What is wrong with the stream."""
    problems = []
    seen = Counter()
    for (partition, offset), value in stream.items():
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


def compare_table(stream: Stream, rows: Iterable[tuple[int, int, bytes]]) -> list[str]:
    """What is wrong with the table, whose rows must be the stream's records."""
    problems = []
    times = Counter()
    for partition, offset, value in rows:
        times[partition, offset] += 1
        where = f"table: partition {partition} offset {offset}"
        if (partition, offset) not in stream:
            problems.append(f"{where} is not in the stream")
        elif stream[partition, offset] != value:
            problems.append(f"{where} has other bytes than the stream")
    problems += [f"table: partition {p} offset {o} is there {n} times"
                 for (p, o), n in times.items() if n > 1]
    problems += [f"table: partition {p} offset {o} is missing"
                 for p, o in stream if (p, o) not in times]
    return problems


def version_of(folder: Path) -> int:
    """Commits of the table so far, about."""
    try:
        return int((folder / "metadata/version-hint.text").read_text())
    except (FileNotFoundError, ValueError):
        return 0


def await_change(value: Callable[[], int], seconds: float) -> bool:
    """Whether it has changed within this time."""
    before, deadline = value(), time.monotonic() + seconds
    while value() == before:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def await_moment(chance: random.Random, ledger: Ledger, table: Path) -> None:
    """Returns at a moment to kill: at once, while records are acknowledged, around a commit."""
    kind = chance.choices(("any", "append", "commit"), weights=(2, 4, 4))[0]
    if kind == "append":
        grows = await_change(lambda: len(ledger.acknowledged), STALL_MAX)
        assert grows, f"nothing is acknowledged for {STALL_MAX} s"
    if kind == "commit":  # which may be late: there is more to do than between kills
        await_change(lambda: version_of(table), COMMIT_MAX)
    time.sleep(chance.uniform(0, PAUSE_MAX))


def run(broker: Broker, rounds: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    admin = AdminClient({"bootstrap.servers": broker.address, "log_level": 0})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(30)
    ledger = Ledger()
    table = broker.data / f"tables/default/{TOPIC}"
    writers = [Writer(broker.address, ledger, seed + i) for i in range(3)]
    for writer in writers:
        writer.start()
    for number in range(rounds):
        await_moment(chance, ledger, table)
        broker.kill()
        time.sleep(chance.choice([0, 0, 0.1]))
        broker.start()
        print(
            f"round {number + 1}: {len(ledger.acknowledged)} acknowledged, "
            f"version {version_of(table)} of the table", flush=True,
        )  # fmt: skip
    time.sleep(1)
    for writer in writers:
        writer.stopping.set()
    for writer in writers:
        writer.join()
    problems = [f"a producer ended: {w.error!r}" for w in writers if w.error is not None]
    problems += [f"id {n} was refused: {text}" for n, text in ledger.failed.items()]
    assert len(ledger.acknowledged) > 100 * rounds, "too few to prove anything"
    # First the table: behind it, the stream is read from compacted objects as well.
    rows = list(rows_of(await_table(table, records_of(broker.address))))
    began = time.monotonic()
    stream = read_all(broker.address)
    print(
        f"{ledger.next} sent, {len(ledger.acknowledged)} acknowledged, {len(stream)} read in "
        f"{time.monotonic() - began:.0f} s; {len(rows)} rows, version {version_of(table)}",
        flush=True,
    )  # fmt: skip
    return problems + compare(ledger, stream) + compare_table(stream, rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=int(os.environ.get("LKS_KILL_ROUNDS", "10")))
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    arguments = parser.parse_args()
    print(f"kill_loop.py --rounds {arguments.rounds} --seed {arguments.seed}", flush=True)
    with Broker("--kafka-auto-create-topics", "false", *BUSY) as broker:
        problems = run(broker, arguments.rounds, arguments.seed)
        for problem in problems[:50]:
            print(problem)
        assert not problems, f"{len(problems)} problems"
        broker.stop()
        print(broker.check().splitlines()[-1])
        done = run_cli("table", "verify", TOPIC, "--data-dir", str(broker.data), timeout=3600)
        assert done.returncode == 0, done.stdout + done.stderr
    return 0


if __name__ == "__main__":
    sys.exit(main())
