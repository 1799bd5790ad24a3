#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One node with 10,000 partitions, 2,000 connections and 1,000 groups: memory and waiting times.

    bench/scale.py                      with build/release/lakestream
    bench/scale.py --address HOST:PORT --pid PID      a broker that runs already, of any kind

Speaks the Kafka protocol itself, in old versions that every broker serves. Every partition gets a
record, every group a member that holds a partition and commits an offset. The large group has 100
members which send a heartbeat every 100 ms; a rebalance is measured from the moment one more asks
to join until all have their assignments. It is a tool, not a test.
"""

import argparse
import shutil
import socket
import statistics
import struct
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from bench import ALL_ROLES, Server, memory_mib  # noqa: E402

PRODUCE, METADATA, OFFSET_COMMIT, FIND_COORDINATOR = 0, 3, 8, 10
JOIN, HEARTBEAT, LEAVE, SYNC, CREATE_TOPICS = 11, 12, 13, 14, 19
NOT_LEADER = 6
COORDINATOR_NOT_READY = (14, 15, 16)
REBALANCE_IN_PROGRESS = 27
HEARTBEAT_SECONDS = 0.1


def text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


def blob(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def one_record() -> bytes:
    """A record batch (version 2) of one small record."""
    record = bytes([0, 0, 0, 1, 10]) + b"value" + bytes([0])
    now = int(time.time() * 1000)
    head = struct.pack(">hiqqqhii", 0, 0, now, now, -1, -1, -1, 1)
    covered = head + bytes([len(record) * 2]) + record
    return struct.pack(">qiibI", 0, len(covered) + 9, -1, 2, crc32c(covered)) + covered


class Reader:
    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def take(self, form: str):
        values = struct.unpack_from(">" + form, self.data, self.at)
        self.at += struct.calcsize(">" + form)
        return values[0] if len(values) == 1 else values

    def text(self) -> str:
        size = self.take("h")
        self.at += max(size, 0)
        return self.data[self.at - max(size, 0) : self.at].decode()

    def blob(self) -> bytes:
        size = self.take("i")
        self.at += max(size, 0)
        return self.data[self.at - max(size, 0) : self.at]


class Client:
    """One connection; one request at a time."""

    def __init__(self, address: tuple[str, int]):
        self.wire = socket.create_connection(address, timeout=120)
        self.wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.answer = self.wire.makefile("rb")

    def ask(self, api: int, version: int, body: bytes) -> Reader:
        request = struct.pack(">hhi", api, version, 1) + text("scale") + body
        self.wire.sendall(blob(request))
        (size,) = struct.unpack(">i", self.answer.read(4))
        data = self.answer.read(size)
        return Reader(data[4:])

    def create_topics(self, names: list[str], partitions: int) -> None:
        topics = (text(name) + struct.pack(">ihii", partitions, -1, 0, 0) for name in names)
        body = struct.pack(">i", len(names)) + b"".join(topics) + struct.pack(">i?", 60_000, False)
        reader = self.ask(CREATE_TOPICS, 2, body)
        reader.take("ii")
        for _ in names:
            name, error = reader.text(), reader.take("h")
            reader.text()
            assert error == 0, f"CreateTopics of {name} answered {error}"

    def produce(self, topic: str, partitions: int, batch: bytes) -> None:
        parts = b"".join(struct.pack(">i", i) + blob(batch) for i in range(partitions))
        head = struct.pack(">hhii", -1, -1, 60_000, 1)  # no transaction, acks of all, one topic
        body = head + text(topic) + struct.pack(">i", partitions) + parts
        errors = {NOT_LEADER}
        while errors == {NOT_LEADER}:  # some brokers say so for a moment after CreateTopics
            reader = self.ask(PRODUCE, 3, body)
            reader.take("i")
            reader.text()
            errors = {reader.take("ihqq")[1] for _ in range(reader.take("i"))} - {0}
        assert not errors, f"Produce to {topic} answered {errors}"

    def metadata_of_all(self) -> int:
        """Version 1, every topic: the size of the answer in bytes."""
        return len(self.ask(METADATA, 1, struct.pack(">i", -1)).data)


class Member:
    """One member of a classic group, range-like: the leader gives everybody his own index."""

    def __init__(self, address: tuple[str, int], group: str):
        self.client, self.group = Client(address), group
        self.member, self.generation = "", -1

    def join(self) -> None:
        """To a stable generation; joins again when it was overtaken."""
        while True:
            protocols = struct.pack(">i", 1) + text("range") + blob(b"metadata")
            timeouts = struct.pack(">ii", 30_000, 60_000)
            head = text(self.group) + timeouts + text(self.member) + text("consumer")
            reader = self.client.ask(JOIN, 2, head + protocols)
            reader.take("i")
            error, generation = reader.take("h"), reader.take("i")
            if error in COORDINATOR_NOT_READY:
                self.client.ask(FIND_COORDINATOR, 0, text(self.group))
                time.sleep(0.1)
                continue
            reader.text()
            leader, self.member = reader.text(), reader.text()
            assert error == 0, f"JoinGroup of {self.group} answered {error}"
            members = [(reader.text(), reader.blob())[0] for _ in range(reader.take("i"))]
            given = members if leader == self.member else []
            parts = (text(m) + blob(b"%d" % i) for i, m in enumerate(given))
            head = text(self.group) + struct.pack(">i", generation) + text(self.member)
            body = head + struct.pack(">i", len(given)) + b"".join(parts)
            reader = self.client.ask(SYNC, 1, body)
            reader.take("i")
            error = reader.take("h")
            if error == 0:
                assert reader.blob(), "an empty assignment"
                self.generation = generation
                return
            assert error == REBALANCE_IN_PROGRESS, f"SyncGroup of {self.group} answered {error}"

    def heartbeat(self) -> int:
        body = text(self.group) + struct.pack(">i", self.generation) + text(self.member)
        reader = self.client.ask(HEARTBEAT, 1, body)
        reader.take("i")
        return reader.take("h")

    def commit(self, topic: str, partition: int, offset: int) -> None:
        head = text(self.group) + struct.pack(">i", self.generation) + text(self.member)
        part = struct.pack(">iiq", 1, partition, offset) + text("")
        body = head + struct.pack(">qi", -1, 1) + text(topic) + part
        reader = self.client.ask(OFFSET_COMMIT, 2, body)
        reader.take("i")
        reader.text()
        reader.take("ii")
        error = reader.take("h")
        assert error == 0, f"OffsetCommit of {self.group} answered {error}"


class LargeGroup:
    """Members on threads of their own, until `stop`."""

    def __init__(self, address: tuple[str, int], size: int):
        self.members = [Member(address, "large") for _ in range(size)]
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self.live, args=(m,)) for m in self.members]
        for thread in self.threads[:-1]:
            thread.start()

    def live(self, member: Member) -> None:
        member.join()
        while not self.stopping.wait(HEARTBEAT_SECONDS):
            if member.heartbeat() == REBALANCE_IN_PROGRESS:
                member.join()

    def generations(self, members: list[Member]) -> set[int]:
        return {member.generation for member in members}

    def wait_until_one_generation(self, members: list[Member], after: int) -> int:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            seen = self.generations(members)
            if len(seen) == 1 and min(seen) > after:
                return min(seen)
            time.sleep(0.002)
        raise SystemExit(f"the large group has generations {self.generations(members)}")

    def seconds_of_a_rebalance(self) -> float:
        settled = self.wait_until_one_generation(self.members[:-1], 0)
        time.sleep(1)
        settled = max(settled, *self.generations(self.members[:-1]))
        begin = time.monotonic()
        self.threads[-1].start()
        self.wait_until_one_generation(self.members, settled)
        return time.monotonic() - begin

    def stop(self) -> None:
        self.stopping.set()
        for thread in self.threads:
            thread.join()


def fill(address: tuple[str, int], partitions: int, connections: int, groups: int) -> list:
    """What is held open: members of groups and idle connections, one metadata answer each."""
    client = Client(address)
    topics = [f"scale-{i}" for i in range(partitions // 10)]
    for i in range(0, len(topics), 100):
        client.create_topics(topics[i : i + 100], 10)
    batch = one_record()
    for topic in topics:
        client.produce(topic, 10, batch)
    held: list = [client]
    for i in range(groups):
        member = Member(address, f"group-{i}")
        member.join()
        member.commit(topics[i % len(topics)], i % 10, i)
        held.append(member)
    while len(held) < connections:
        idle = Client(address)
        idle.ask(FIND_COORDINATOR, 0, text("group-0"))
        held.append(idle)
    return held


def measure(address: tuple[str, int], pid: int, given: argparse.Namespace) -> None:
    held = fill(address, given.partitions, given.connections, given.groups)
    print(f"| resident, MiB | {memory_mib(pid):.0f} |", flush=True)
    client: Client = held[0]
    times = []
    for _ in range(21):
        begin = time.monotonic()
        size = client.metadata_of_all()
        times.append((time.monotonic() - begin) * 1e3)
    print(f"| Metadata of all topics ({size} bytes), first, ms | {times[0]:.1f} |")
    print(f"| the same, median of 20, ms | {statistics.median(times[1:]):.1f} |", flush=True)
    runs = []
    for run in range(given.runs):
        group = LargeGroup(address, given.members)
        runs.append(group.seconds_of_a_rebalance())
        group.stop()
        for member in group.members:
            body = text(member.group) + text(member.member)
            member.client.ask(LEAVE, 1, body)
    told = ", ".join(f"{r:.2f}" for r in runs)
    print(f"| rebalance of {given.members} members, s | {statistics.median(runs):.2f} ({told}) |")
    print(f"| peak resident, MiB | {memory_mib(pid, 'VmHWM'):.0f} |")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--binary", type=Path, default=ROOT / "build/release/lakestream")
    options.add_argument("--folder", type=Path, default=ROOT / "build/bench-scale")
    options.add_argument("--address", help="of a broker that runs already, with --pid")
    options.add_argument("--pid", type=int)
    options.add_argument("--partitions", type=int, default=10_000)
    options.add_argument("--connections", type=int, default=2_000)
    options.add_argument("--groups", type=int, default=1_000)
    options.add_argument("--members", type=int, default=100)
    options.add_argument("--runs", type=int, default=3)
    given = options.parse_args()
    print("| what | measured |\n|---|---|")
    if given.address:
        host, port = given.address.rsplit(":", 1)
        measure((host, int(port)), given.pid, given)
        return 0
    folder = given.folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    delay = {"GROUP_INITIAL_REBALANCE_DELAY": "0s"}
    with Server(given.binary.resolve(), folder, ALL_ROLES, **delay) as server:
        measure(("127.0.0.1", server.port), server.pid, given)
    shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
