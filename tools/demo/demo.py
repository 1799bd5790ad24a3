#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demo: GitHub events into Kafka, read back, and asked about in SQL, on a broker of its own.

`make demo` builds, installs the clients and runs this. The data is kept below --folder until the
next run empties it.
"""

import argparse
import contextlib
import hashlib
import itertools
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Iterator

from github_events import as_line, github_events
from sql import ROOT, connect

TOPIC = "github_events"
PARTITIONS = 4
READY_MAX = 60.0  # seconds
STALL_MAX = 60.0  # without a record or a row
DRAIN_MAX = 40.0
MARK = "made-by-the-demo"  # only a folder that has this file is emptied

BY_TYPE = """\
SELECT decode(value) ->> '$.type' AS event,
       count(*) AS events,
       count(DISTINCT decode(value) ->> '$.repo.name') AS repos,
       round(avg(octet_length(value)) / 1000, 1) AS kb_each
FROM iceberg_scan('{table}')
GROUP BY event ORDER BY events DESC, event LIMIT 8"""

BY_PARTITION = """\
SELECT kafka_partition, count(*) AS records, min(kafka_offset) AS first, max(kafka_offset) AS last
FROM iceberg_scan('{table}')
GROUP BY kafka_partition ORDER BY kafka_partition"""


class DemoError(Exception):
    """What went wrong, for the user."""


def step(text: str) -> None:
    print(f"\n-- {text}", flush=True)


class Progress:
    """A bar on a terminal, else a line every few seconds."""

    WIDTH = 30
    LINE_INTERVAL = 2.0  # seconds
    BAR_INTERVAL = 0.1

    def __init__(self, verb: str, total: int):
        self.verb, self.total = verb, total
        self.records = self.bytes = 0
        self.begin = time.monotonic()
        self.terminal = sys.stdout.isatty()
        self.shown_at = self.begin

    def add(self, bytes_: int) -> None:
        self.records += 1
        self.bytes += bytes_
        now = time.monotonic()
        if now - self.shown_at >= (self.BAR_INTERVAL if self.terminal else self.LINE_INTERVAL):
            self.shown_at = now
            self.show(now)

    def show(self, now: float) -> None:
        rate = self.bytes / 1e6 / max(now - self.begin, 0.001)
        text = f"{self.verb} {self.records:,} of {self.total:,} records, {rate:.0f} MB/s"
        if self.terminal:
            done = self.WIDTH * self.records // self.total
            text = f"\r   [{'#' * done}{'.' * (self.WIDTH - done)}] {text}\x1b[K"
            print(text, end="", flush=True)
        else:
            print(f"   {text}", flush=True)

    def end(self) -> None:
        self.show(time.monotonic())
        if self.terminal:
            print()


class Digest:
    """Of a set of records: the same whatever their order."""

    def __init__(self):
        self.count = self.sum = 0

    def add(self, value: bytes) -> None:
        self.count += 1
        self.sum += int.from_bytes(hashlib.sha256(value).digest()[:16], "big")

    def __eq__(self, other) -> bool:
        return (self.count, self.sum) == (other.count, other.sum)


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def end_of(file: Path) -> str:
    return "\n".join(file.read_text(errors="replace").splitlines()[-5:])


@contextlib.contextmanager
def broker(binary: Path, folder: Path) -> Iterator[str]:
    """A `lakestream dev` on free ports, stopped at the end; gives its Kafka address."""
    address, http = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    command = [binary, "dev", "--data-dir", folder / "data"]
    command += ["--kafka-listen", address, "--http-listen", http]
    log = folder / "broker.log"
    with open(log, "wb") as out:
        # A session of its own: Control-C reaches only this script, which stops it in order.
        process = subprocess.Popen(command, stdout=out, stderr=out, start_new_session=True)
    try:
        deadline = time.monotonic() + READY_MAX
        while not is_ready(http):
            if process.poll() is not None:
                raise DemoError(f"the broker ended with {process.returncode}:\n{end_of(log)}")
            if time.monotonic() > deadline:
                raise DemoError(f"the broker is not ready after {READY_MAX:.0f} s; see {log}")
            time.sleep(0.02)
        yield address
    finally:
        process.terminate()
        try:
            process.wait(DRAIN_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def is_ready(http: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://{http}/readyz", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def run(*command) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise DemoError(f"{shlex.join(map(str, command))}\n{done.stderr.strip()}")


@contextlib.contextmanager
def kcat(address: str, *arguments: str, **pipes) -> Iterator[subprocess.Popen]:
    """A kcat that must end well, and ends with us."""
    command = ["kcat", "-b", address, "-t", TOPIC, *arguments]
    try:
        process = subprocess.Popen(
            command, stderr=subprocess.PIPE, start_new_session=True, **pipes
        )
    except FileNotFoundError:
        raise DemoError("kcat is missing; tools/bootstrap.sh installs it") from None
    said: list[bytes] = []
    listener = threading.Thread(target=lambda: said.extend(process.stderr))
    listener.start()
    broken = False
    try:
        yield process
        if process.stdin is not None:
            process.stdin.close()
    except BrokenPipeError:
        broken = True
    except BaseException:
        process.kill()
        raise
    finally:
        code = process.wait()
        listener.join()
    if code != 0 or broken:
        text = b"".join(said).decode(errors="replace").strip()
        raise DemoError(f"{shlex.join(command)}\nended with {code}: {text}")


def produce(address: str, count: int) -> tuple[Digest, int]:
    """What was written and its bytes, once all of it is acknowledged."""
    sent = Digest()
    progress = Progress("wrote", count)
    # Few messages wait in kcat, so that the progress is that of the broker.
    tuning = ["-X", "enable.idempotence=true", "-X", "queue.buffering.max.messages=1000"]
    with kcat(address, "-P", "-K", "\t", "-z", "lz4", *tuning, stdin=subprocess.PIPE) as writer:
        for event in itertools.islice(github_events(), count):
            value = as_line(event)
            writer.stdin.write(event["actor"]["login"].encode() + b"\t" + value + b"\n")
            sent.add(value)
            progress.add(len(value))
    progress.end()
    return sent, progress.bytes


def consume(address: str, count: int) -> Digest:
    """Everything from the beginning to the end."""
    read = Digest()
    progress = Progress("read", count)
    arguments = ["-C", "-o", "beginning", "-e", "-q", "-f", "%s\n"]
    with kcat(address, *arguments, stdout=subprocess.PIPE) as reader:
        for line in reader.stdout:
            value = line[:-1]
            read.add(value)
            progress.add(len(value))
    progress.end()
    return read


def rows_of(table: Path) -> int:
    """By pyiceberg; 0 while there is no table."""
    from pyiceberg.table import StaticTable

    if not (table / "metadata/version-hint.text").exists():
        return 0
    return StaticTable.from_metadata(str(table)).scan().count()


def await_rows(table: Path, count: int, since: float) -> None:
    rows, moved = -1, time.monotonic()
    while rows != count:
        now, found = time.monotonic(), rows_of(table)
        if found > count:
            raise DemoError(f"the table has {found:,} rows, of {count:,} records")
        if found != rows:
            rows, moved = found, now
        elif now - moved > STALL_MAX:
            raise DemoError(f"the table stays at {rows:,} of {count:,} rows")
        if rows != count:
            time.sleep(0.25)
    seconds = time.monotonic() - since
    print(f"   pyiceberg counts {rows:,} rows, {seconds:.1f} s after the last record was written")


def ask(connection, query: str) -> None:
    for line in query.splitlines():
        print(f"   {line}")
    connection.sql(query).show()


def demo(binary: Path, folder: Path, count: int) -> None:
    table = folder / f"data/tables/default/{TOPIC}"
    step(f"a broker, with its data in {shown(folder / 'data')}")
    with broker(binary, folder) as address:
        print(f"   Kafka on {address}")
        create = ["topic", "create", TOPIC, "--partitions", str(PARTITIONS)]
        run(binary, *create, "--bootstrap", address)

        step(f"kcat writes {count:,} GitHub events to the topic {TOPIC}, {PARTITIONS} partitions")
        sent, bytes_ = produce(address, count)
        written_at = time.monotonic()

        step("kcat reads them back")
        if consume(address, count) != sent:
            raise DemoError("what was read is not what was written")
        print(f"   the same {count:,} records, {bytes_:,} bytes")

        step(f"the same records as an Iceberg table, {shown(table)}")
        await_rows(table, count, written_at)

        step("DuckDB reads the table by its path")
        connection = connect()
        for query in (BY_PARTITION, BY_TYPE):
            ask(connection, query.format(table=shown(table)))
    print(WHAT_NEXT.format(
        binary=shown(binary), folder=shown(folder), table=shown(table), topic=TOPIC
    ))  # fmt: skip


WHAT_NEXT = """
-- what to try next (the broker has stopped; all data is kept)

   SQL of your own:
       tools/demo/sql.py "SELECT * FROM iceberg_scan('{table}') LIMIT 3"
   start the broker again, on port 9092:
       {binary} dev --data-dir {folder}/data
   and in another terminal, read an event:
       kcat -C -b 127.0.0.1:9092 -t {topic} -o beginning -c 1 | python3 -m json.tool | head -20
   write one, and count again a few seconds later:
       echo '{{"type":"hello"}}' | kcat -P -b 127.0.0.1:9092 -t {topic}
       tools/demo/sql.py "SELECT count(*) FROM iceberg_scan('{table}')"
   every stored byte, checked (stop the broker before):
       {binary} check --data-dir {folder}/data"""


def shown(path: Path) -> str:
    """From the current folder on, when it is below."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def empty(folder: Path) -> None:
    """Removes what an earlier demo left, and nothing else."""
    mark = folder / MARK
    if folder.exists() and any(folder.iterdir()) and not mark.exists():
        raise DemoError(f"{folder} is not empty and not of a demo; give another --folder")
    shutil.rmtree(folder / "data", ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    mark.touch()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=Path, default=ROOT / "build/release/lakestream")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/demo")
    parser.add_argument("--events", type=int, default=20_000, metavar="N")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if arguments.events < 1:
            raise DemoError("--events must be 1 or more")
        if not os.access(arguments.binary, os.X_OK):
            raise DemoError(f"{arguments.binary} is missing; `make build` makes it")
        folder = arguments.folder.absolute()
        empty(folder)
        demo(arguments.binary.absolute(), folder, arguments.events)
    except DemoError as error:
        print(f"\ndemo: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"\ndemo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ndemo: stopped", file=sys.stderr)
        return 128 + signal.SIGINT
    return 0


if __name__ == "__main__":
    sys.exit(main())
