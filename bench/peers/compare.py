#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lakestream and Apache Kafka side by side: the same Java clients, the same machine, interleaved.

    bench/peers/compare.py                         every workload, 3 runs each
    bench/peers/compare.py --only batches_16k --runs 1

Both brokers run all the time; each run loads the one and then the other, so that what else the
machine does meets both. A broker's cost is the CPU time of its process (user and system, all
threads, the garbage collector too) by /proc, per GiB of record bytes; an uncounted short run first
warms the JIT. Lakestream runs the broker role, as Kafka has no compaction into tables;
--all-roles adds what that costs. It is a tool, not a test: nothing fails when a number is missed.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/kafka-suites")]

from bench import ALL_ROLES, BROKER, GIB, Server, cpu_seconds, memory_mib  # noqa: E402
from brokers import apache_kafka, java  # noqa: E402

RECORD = 1024


TOOLS = {
    "topics": "org.apache.kafka.tools.TopicCommand",
    "producer-perf": "org.apache.kafka.tools.ProducerPerformance",
    "consumer-perf": "org.apache.kafka.tools.ConsumerPerformance",
}


def run_tool(name: str, *arguments: str) -> None:
    """A tool of Apache Kafka, with the JVM's own choices."""
    command = java(TOOLS[name], *arguments, options=("-Xmx512m",))
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{name} {' '.join(arguments)} failed: {done.stdout}{done.stderr}")


def pid_of_listener(address: str) -> int:
    """Of the process that listens on the port, by its socket's inode."""
    port = f":{int(address.rsplit(':', 1)[1]):04X}"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    rows += [line.split() for line in Path("/proc/net/tcp6").read_text().splitlines()[1:]]
    sockets = {f"socket:[{row[9]}]" for row in rows if row[1].endswith(port) and row[3] == "0A"}
    for entry in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(entry) in sockets:
                return int(entry.parts[2])
        except OSError:
            continue  # it ended meanwhile
    raise SystemExit(f"nobody listens on {address}")


class Broker:
    """One of the two: an address, a process, and what its runs have cost."""

    def __init__(self, name: str, address: str, pid: int):
        self.name, self.address, self.pid = name, address, pid

    def create(self, topic: str, partitions: int) -> None:
        run_tool(
            "topics", "--bootstrap-server", self.address, "--create", "--topic", topic,
            "--partitions", str(partitions), "--replication-factor", "1",
        )  # fmt: skip

    def produce(self, topic: str, records: int, **properties: str) -> None:
        """The Java producer's defaults but for `properties`."""
        run_tool(
            "producer-perf", "--bootstrap-server", self.address, "--topic", topic,
            "--num-records", str(records), "--record-size", str(RECORD), "--throughput", "-1",
            "--command-property", "acks=all",
            *(f"{key}={value}" for key, value in properties.items()),
        )  # fmt: skip

    def consume(self, topic: str, records: int) -> None:
        run_tool(
            "consumer-perf", "--bootstrap-server", self.address, "--topic", topic,
            "--num-records", str(records), "--timeout", "60000",
        )  # fmt: skip

    def cost(self, work, records: int) -> dict[str, float]:
        """What `work` costs this broker, per GiB, and its rate (of the whole client process)."""
        cpu, begin = cpu_seconds(self.pid), time.monotonic()
        work()
        seconds = time.monotonic() - begin
        gib = records * RECORD / GIB
        return {
            "CPU-s/GiB": (cpu_seconds(self.pid) - cpu) / gib,
            "MB/s": records * RECORD / 1e6 / seconds,
            "peak resident MiB": memory_mib(self.pid, "VmHWM"),
        }


BIG = {"batch.size": "1000000", "linger.ms": "20", "buffer.memory": "134217728"}


def batches_16k(broker: Broker, run: int, records: int) -> dict[str, float]:
    topic = f"small-{run}"
    broker.create(topic, 12)
    return broker.cost(lambda: broker.produce(topic, records), records)


def batches_1m(broker: Broker, run: int, records: int) -> dict[str, float]:
    topic = f"big-{run}"
    broker.create(topic, 12)
    return broker.cost(lambda: broker.produce(topic, records, **BIG), records)


def consume(broker: Broker, run: int, records: int) -> dict[str, float]:
    """Written a moment before: from the page cache there, from our tail cache and files here."""
    topic = f"read-{run}"
    broker.create(topic, 12)
    broker.produce(topic, records, **BIG)
    return broker.cost(lambda: broker.consume(topic, records), records)


WORKLOADS = {"batches_16k": batches_16k, "batches_1m": batches_1m, "consume": consume}


def compare(name: str, brokers: list[Broker], runs: int, records: int) -> None:
    results: dict[str, list[dict[str, float]]] = {broker.name: [] for broker in brokers}
    for run in range(runs):
        for broker in brokers:
            results[broker.name].append(WORKLOADS[name](broker, run, records))
    for what in results[brokers[0].name][0]:
        cells, medians = [], []
        for broker in brokers:
            values = [result[what] for result in results[broker.name]]
            medians.append(statistics.median(values))
            cells.append(f"{medians[-1]:.2f} ({', '.join(f'{v:.2f}' for v in values)})")
        ratio = medians[1] / medians[0] if medians[0] else float("nan")
        print(f"| {name}, {what} | {' | '.join(cells)} | {ratio:.2f} |", flush=True)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--binary", type=Path, default=ROOT / "build/release/lakestream")
    options.add_argument("--folder", type=Path, default=ROOT / "build/bench-peers")
    options.add_argument("--only", default=",".join(WORKLOADS), help=f"of {', '.join(WORKLOADS)}")
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--records", type=int, default=1_000_000, help="of 1 KiB, in a run")
    options.add_argument("--all-roles", action="store_true", help="with compactor and tables")
    given = options.parse_args()
    folder = given.folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    roles = ALL_ROLES if given.all_roles else BROKER
    # As apache_kafka() has it: else a consumer waits for 3 s here and not there.
    settings = {"GROUP_INITIAL_REBALANCE_DELAY": "0s"}
    with Server(given.binary.resolve(), folder, roles, **settings) as ours, apache_kafka() as kafka:
        brokers = [
            Broker("Lakestream", f"127.0.0.1:{ours.port}", ours.pid),
            Broker("Apache Kafka", kafka, pid_of_listener(kafka)),
        ]
        for broker in brokers:
            broker.create("warm", 12)
            broker.produce("warm", 200_000)
        print("| what | Lakestream (runs) | Apache Kafka (runs) | Kafka / Lakestream |")
        print("|---|---|---|---|")
        for name in given.only.split(","):
            compare(name, brokers, given.runs, given.records)
    shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
