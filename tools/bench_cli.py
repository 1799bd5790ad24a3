#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `lakestream topic produce|consume` with kcat: rate and CPU of the client, one broker.

    tools/bench_cli.py                 1,000,000 small lines and 200 MB of larger ones, 3 runs each
    tools/bench_cli.py --bootstrap HOST:PORT      another broker than a `lakestream dev` of its own

Runs alternate between the two clients; the table has medians. Both read a file and write one.
"""

import argparse
import os
import random
import resource
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def make_lines(path: Path, count: int, size: int) -> None:
    """Random hexadecimal text, `size` bytes a line on average."""
    chance = random.Random(size)
    with open(path, "wb") as out:
        for begin in range(0, count, 10_000):
            lines = (
                chance.randbytes(chance.randint(size // 4, size * 3 // 4)).hex().encode()
                for _ in range(min(10_000, count - begin))
            )
            out.write(b"\n".join(lines) + b"\n")


def measure(command: list[str], stdin: Path | None, stdout: Path | None) -> tuple[float, float]:
    """Seconds and CPU seconds of a client."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    with open(stdin or os.devnull, "rb") as read, open(stdout or os.devnull, "wb") as written:
        subprocess.run(command, stdin=read, stdout=written, stderr=subprocess.PIPE, check=True)
    seconds = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, cpu


def create(binary: Path, address: str, topic: str) -> None:
    subprocess.run(
        [binary, "topic", "create", topic, "--partitions", "1", "--bootstrap", address], check=True
    )


def run_all(arguments: argparse.Namespace, address: str, folder: Path) -> None:
    binary = arguments.binary
    print("| what | kcat MB/s | ours MB/s | kcat CPU-s | ours CPU-s |\n|---|---|---|---|---|")
    for name, count, size in (("1,000,000 lines of 20 B", 1_000_000, 20),
                              ("200 MB of lines of 2 kB", 100_000, 2000)):  # fmt: skip
        lines = folder / "lines"
        make_lines(lines, count, size)
        megabytes = lines.stat().st_size / 1e6
        found: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for run in range(arguments.runs):
            topics = {client: f"bench-{size}-{run}-{client}" for client in ("kcat", "ours")}
            for client, topic in topics.items():
                create(binary, address, topic)
                command = {
                    "kcat": ["kcat", "-P", "-b", address, "-t", topic],
                    "ours": [str(binary), "topic", "produce", topic, "--bootstrap", address],
                }[client]
                found.setdefault(("produce", client), []).append(measure(command, lines, None))
            for client, topic in topics.items():
                command = {
                    "kcat": ["kcat", "-C", "-q", "-e", "-b", address, "-t", topic],
                    "ours": [str(binary), "topic", "consume", topic, "--bootstrap", address],
                }[client]
                read = folder / "read"
                found.setdefault(("consume", client), []).append(measure(command, None, read))
                same = subprocess.run(["cmp", "-s", lines, read]).returncode == 0
                if not same:
                    raise SystemExit(f"{client} did not read what was written to {topic}")
        for what in ("produce", "consume"):
            median = {
                client: [statistics.median(column) for column in zip(*found[what, client])]
                for client in ("kcat", "ours")
            }
            print(
                f"| {what} {name} | {megabytes / median['kcat'][0]:.0f} | "
                f"{megabytes / median['ours'][0]:.0f} | {median['kcat'][1]:.2f} | "
                f"{median['ours'][1]:.2f} |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", type=Path, default=ROOT / "build/release/lakestream")
    parser.add_argument("--server", type=Path, help="the broker's program, when another one")
    parser.add_argument("--bootstrap")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bench-cli-"))
    if arguments.bootstrap:
        run_all(arguments, arguments.bootstrap, folder)
    else:
        port, http = free_port(), free_port()
        server = subprocess.Popen(
            [arguments.server or arguments.binary, "dev", "--data-dir", folder / "data",
             "--kafka-listen", f"127.0.0.1:{port}", "--http-listen", f"127.0.0.1:{http}",
             "--roles", "broker"], stdout=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            address = f"127.0.0.1:{port}"
            ask = [arguments.binary, "topic", "list", "--bootstrap", address]
            while subprocess.run(ask, capture_output=True).returncode:
                time.sleep(0.1)
            run_all(arguments, address, folder)
        finally:
            server.terminate()
            server.wait()
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
