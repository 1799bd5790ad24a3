#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the numbers of docs/benchmarks.md with the release binary and prints them as a table.

    tools/bench.py                     all of them, 3 runs each, medians
    tools/bench.py --only append,ready --runs 1

Each run starts a broker of its own on free ports and an empty folder (--folder, which must not be
in memory), loads it with `lakestream bench`, and reads the process's CPU time (user and system, all
threads) and memory from /proc. It is a tool, not a test: nothing fails when a number is missed.
"""

import argparse
import json
import os
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GIB = 1 << 30
MIB = 1 << 20
BROKER = "broker"
ALL_ROLES = "broker, compactor, catalog"
REQUESTS = ("lakestream_objstore_requests_total", "lakestream_meta_writes_total")


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mib(pid: int, field: str = "VmRSS") -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    raise KeyError(field)


class Server:
    """A broker over `folder`, killed at the end of `with`."""

    def __init__(self, binary: Path, folder: Path, roles: str, **settings: str):
        self.binary, self.folder = binary, folder
        self.port, self.http_port = free_port(), free_port()
        self.environment = dict(os.environ) | {f"LAKESTREAM_{k}": v for k, v in settings.items()}
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "server.toml").write_text(
            f'storage = "file://{folder}/data"\nmetadata = "embedded://{folder}/data/metadata"\n'
            f"roles = {json.dumps(roles.split(', '))}\n"
            f'[kafka]\nlisten = "127.0.0.1:{self.port}"\n'
            f'[http]\nlisten = "127.0.0.1:{self.http_port}"\n'
        )

    def __enter__(self):
        self.log = open(self.folder / "log", "ab")
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            [self.binary, "server", "--config", self.folder / "server.toml"],
            stdout=self.log, stderr=self.log, env=self.environment,
        )  # fmt: skip
        self.pid = self.process.pid
        while not self.ready():
            if self.process.poll() is not None:
                raise SystemExit(f"the broker ended: see {self.folder}/log")
            time.sleep(0.001)
        self.ready_seconds = time.monotonic() - self.began
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.log.close()

    def ready(self) -> bool:
        try:
            return self.get("/readyz")[0] == 200
        except OSError:
            return False

    def get(self, path: str) -> tuple[int, str]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}{path}", timeout=30) as a:
            return a.status, a.read().decode()

    def metrics(self) -> dict[str, float]:
        lines = self.get("/metrics")[1].splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        return {name: float(value) for name, value in pairs}

    def bench(self, operation: str, *flags: str) -> dict:
        done = subprocess.run(
            [self.binary, "bench", operation, "--bootstrap", f"127.0.0.1:{self.port}", "--json",
             "--server-pid", str(self.pid), *flags],
            capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode != 0:
            raise SystemExit(f"bench {operation} failed: {done.stderr}")
        return json.loads(done.stdout)

    def create_topics(self, names: list[str]) -> None:
        """CreateTopics, version 2, one partition each: one request for all of them."""

        def text(value: str) -> bytes:
            return struct.pack(">h", len(value)) + value.encode()

        topics = (text(name) + struct.pack(">ihii", 1, -1, 0, 0) for name in names)
        body = struct.pack(">i", len(names)) + b"".join(topics) + struct.pack(">i?", 60_000, False)
        request = struct.pack(">hhi", 19, 2, 1) + text("bench") + body
        address = ("127.0.0.1", self.port)
        with socket.create_connection(address) as wire, wire.makefile("rb") as answer:
            wire.sendall(struct.pack(">i", len(request)) + request)
            (size,) = struct.unpack(">i", answer.read(4))
            response = answer.read(size)
        at = 12  # behind correlation, throttle time and the count
        for name in names:
            at += 2 + len(name)
            error, message = struct.unpack_from(">hh", response, at)
            if error != 0:
                raise SystemExit(f"CreateTopics of {name} answered {error}")
            at += 4 + max(message, 0)


class Suite:
    """One method per number; each gives {what: value} of one run."""

    def __init__(self, binary: Path):
        self.binary = binary
        self.folder = Path()  # of this run

    def server(self, roles: str = BROKER, **settings: str) -> Server:
        return Server(self.binary, self.folder, roles, **settings)

    def wait(self, server: Server, ends: dict[str, float]) -> None:
        """Until each metric is as large as that."""
        deadline = time.monotonic() + 900
        while any(server.metrics().get(name, 0) < end for name, end in ends.items()):
            if time.monotonic() > deadline:
                raise SystemExit("compaction did not end: see the log")
            time.sleep(0.5)

    def append(self) -> dict[str, float]:
        with self.server() as server:
            out = server.bench("produce", "--bytes", str(2 * GIB), "--seconds", "120")["server"]
            return {
                "append, CPU-s/GiB": out["cpu_seconds_per_gib"],
                "append, peak resident MiB": out["peak_rss_mib"],
            }

    def fetch_memory(self) -> dict[str, float]:
        with self.server() as server:
            server.bench("produce", "--bytes", str(32 * MIB))
            out = server.bench("fetch", "--bytes", str(4 * GIB), "--seconds", "120")
            read = server.metrics()['lakestream_objstore_read_bytes_total{store="wal"}']
            if read != 0:
                raise SystemExit(f"fetch_memory read {read} bytes of objects")
            return {"fetch from memory, CPU-s/GiB": out["server"]["cpu_seconds_per_gib"]}

    def fetch_disk(self) -> dict[str, float]:
        with self.server() as server:
            server.bench("produce", "--bytes", str(2 * GIB), "--seconds", "120")
        with self.server() as server:
            out = server.bench("fetch", "--bytes", str(2 * GIB), "--seconds", "120")
            read = server.metrics()['lakestream_objstore_read_bytes_total{store="wal"}']
            return {
                "fetch from disk, CPU-s/GiB": out["server"]["cpu_seconds_per_gib"],
                "fetch from disk, bytes read per byte": read / out["bytes"],
            }

    def fetch_compacted(self) -> dict[str, float]:
        """The same data read from WAL objects and then, compacted, from pairs."""
        flags = ("--bytes", str(GIB), "--seconds", "120")
        with self.server() as server:
            made = server.bench("produce", *flags)
        with self.server() as server:
            wal = server.bench("fetch", *flags)
        with self.server(ALL_ROLES, COMPACT_AGE="1s") as server:
            self.wait(server, {"lakestream_compact_payload_bytes_total": made["bytes"]})
        with self.server() as server:
            pairs = server.bench("fetch", *flags)
            read = server.metrics()['lakestream_objstore_read_bytes_total{store="compacted"}']
        cpu = [out["server"]["cpu_seconds_per_gib"] for out in (wal, pairs)]
        rate = [out["mb_per_second"] for out in (wal, pairs)]
        return {
            "fetch of WAL objects, CPU-s/GiB": cpu[0],
            "fetch of compacted pairs, CPU-s/GiB": cpu[1],
            "rate from pairs / rate from WAL objects": rate[1] / rate[0],
            "bytes read of pairs per byte": read / pairs["bytes"],
        }

    def cold_readers(self) -> dict[str, float]:
        """Acknowledgements beside consumers that read what no cache holds, and the reverse."""
        cold = ("--topic", "cold", "--connections", "2", "--in-flight", "2")
        pace = ("--rate", "5", "--seconds", "15", "--batch-bytes", "16384")
        with self.server() as server:
            server.bench("produce", *cold, "--partitions", "8", "--bytes", str(2 * GIB),
                         "--seconds", "120")  # fmt: skip
        with self.server() as server:
            server.bench("produce", "--bytes", str(8 * MIB), "--rate", "5")
            idle = server.bench("produce", *pace)
            solo = server.bench("fetch", *cold, "--seconds", "15")
            with ThreadPoolExecutor() as pool:
                reading = pool.submit(server.bench, "fetch", *cold, "--seconds", "16")
                both = server.bench("produce", *pace)
                readers = reading.result()
        return {
            "append p99 with cold readers / idle": both["latency_ms"]["p99"]
            / idle["latency_ms"]["p99"],
            "append p99 idle, ms": idle["latency_ms"]["p99"],
            "cold readers' rate beside appends / solo": readers["mb_per_second"]
            / solo["mb_per_second"],
        }

    def acknowledge(self) -> dict[str, float]:
        with self.server() as server:
            server.bench("produce", "--bytes", str(8 * MIB), "--rate", "5")
            flags = ("--rate", "5", "--seconds", "15", "--batch-bytes", "16384")
            out = server.bench("produce", *flags)
            return {
                "acknowledge at 5 MB/s, p50 ms": out["latency_ms"]["p50"],
                "acknowledge at 5 MB/s, p99 ms": out["latency_ms"]["p99"],
            }

    def compact(self) -> dict[str, float]:
        """What a compactor spends on a backlog, from its start to its last table commit."""
        with self.server() as server:
            out = server.bench("produce", "--bytes", str(GIB), "--seconds", "120")
        records, value_mb = out["records"], out["records"] * 1024 / 1e6
        with self.server(ALL_ROLES, TABLE_DEFAULT="true", COMPACT_AGE="1s") as server:
            deadline = time.monotonic() + 300
            while server.metrics().get("lakestream_table_rows_total", 0) < records:
                if time.monotonic() > deadline:
                    raise SystemExit("compaction did not end: see the log")
                time.sleep(0.5)
            fetches = server.metrics()["lakestream_compact_wal_fetches_total"]
            files = (self.folder / "data/wal").rglob("*")
            objects = sum(1 for f in files if f.is_file())
            return {
                "WAL to compacted pair and Iceberg, MB per CPU-second": value_mb
                / cpu_seconds(server.pid),
                "the same, fetches per WAL object": fetches / objects,
                "the same, peak resident MiB": memory_mib(server.pid, "VmHWM"),
            }

    def backlog(self, label: str, flags: tuple[str, ...], table: bool) -> dict[str, float]:
        """What all roles hold in memory while they compact what was there at their start."""
        with self.server() as server:
            made = server.bench("produce", "--seconds", "600", *flags)
        settings = {"TABLE_DEFAULT": str(table).lower(), "COMPACT_AGE": "10s",
                    "TABLE_COMMIT_INTERVAL": "10s"}  # fmt: skip
        with self.server(ALL_ROLES, **settings) as server:
            ends = {"lakestream_compact_payload_bytes_total": made["bytes"]}
            if table:
                ends["lakestream_table_rows_total"] = made["records"]
            self.wait(server, ends)
            what = f"backlog of {label}, {'with' if table else 'without'} a table"
            objects = server.metrics()["lakestream_compact_objects_total"]
            return {
                f"{what}: peak resident MiB": memory_mib(server.pid, "VmHWM"),
                f"{what}: CPU-s/GiB": cpu_seconds(server.pid) * GIB / made["bytes"],
                f"{what}: compacted objects": objects,
            }

    def backlog_one(self, table: bool = False) -> dict[str, float]:
        flags = ("--bytes", str(2 * GIB), "--partitions", "1")
        return self.backlog("2 GiB in 1 partition", flags, table)

    def backlog_one_table(self) -> dict[str, float]:
        return self.backlog_one(table=True)

    def backlog_many(self, table: bool = False) -> dict[str, float]:
        flags = ("--bytes", str(GIB), "--partitions", "10000", "--batch-bytes", "16384",
                 "--in-flight", "64")  # fmt: skip
        return self.backlog("1 GiB in 10,000 partitions", flags, table)

    def backlog_many_table(self) -> dict[str, float]:
        return self.backlog_many(table=True)

    def ready(self) -> dict[str, float]:
        with self.server() as server:
            for i in range(0, 10_000, 100):
                server.create_topics([f"many-{i + j}" for j in range(100)])
            flags = ("--bytes", str(64 * MIB), "--batch-bytes", "4096")
            server.bench("produce", "--topic", "many-0", *flags)
        with self.server(ALL_ROLES) as server:
            ready = server.ready_seconds
            begin = time.monotonic()
            flags = ("--bytes", "1", "--connections", "1", "--in-flight", "1")
            server.bench("produce", "--topic", "many-1", *flags)
            first = time.monotonic() - begin
            return {
                "ready with 10,000 streams, ms": ready * 1e3,
                "then a client process with one acknowledgement, ms": first * 1e3,
                "resident with 10,000 streams, MiB": memory_mib(server.pid),
            }

    def idle(self) -> dict[str, float]:
        out = {}
        for roles in (BROKER, ALL_ROLES):
            with self.server(roles, TABLE_DEFAULT="true", COMPACT_AGE="1s") as server:
                server.bench("produce", "--bytes", "1000000", "--batch-bytes", "100000")
                time.sleep(20)
                before, cpu = server.metrics(), cpu_seconds(server.pid)
                time.sleep(30)
                cpu, after = cpu_seconds(server.pid) - cpu, server.metrics()
                requests = sum(after[k] - before[k] for k in after if k.startswith(REQUESTS))
                label = "all roles" if roles == ALL_ROLES else "broker"
                out[f"idle, {label}, resident MiB"] = memory_mib(server.pid)
                out[f"idle, {label}, requests and metadata writes in 30 s"] = requests
                out[f"idle, {label}, CPU ms per second"] = cpu * 1e3 / 30
            self.folder = self.folder.with_name(self.folder.name + "-next")
        return out


NUMBERS = (
    "append", "fetch_memory", "fetch_disk", "fetch_compacted", "cold_readers", "acknowledge",
    "compact", "backlog_one",
    "backlog_one_table", "backlog_many", "backlog_many_table", "ready", "idle",
)  # fmt: skip


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--binary", type=Path, default=ROOT / "build/release/lakestream")
    options.add_argument("--folder", type=Path, default=ROOT / "build/bench")
    options.add_argument("--only", default=",".join(NUMBERS), help="some of " + ",".join(NUMBERS))
    options.add_argument("--runs", type=int, default=3)
    given = options.parse_args()
    suite = Suite(given.binary.resolve())
    shutil.rmtree(given.folder, ignore_errors=True)
    print("| what | median | runs |\n|---|---|---|")
    for name in given.only.split(","):
        runs = []
        for run in range(given.runs):
            # Removed at the end only: ext4 searches long for inodes right after many were freed.
            suite.folder = given.folder.resolve() / f"{name}-{run}"
            runs.append(getattr(suite, name)())
        for what in runs[0]:
            values = [run[what] for run in runs]
            told = ", ".join(f"{value:.2f}" for value in values)
            print(f"| {what} | {statistics.median(values):.2f} | {told} |", flush=True)
    shutil.rmtree(given.folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
