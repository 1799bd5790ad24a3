# SPDX-License-Identifier: Apache-2.0
"""Client libraries behind one interface: a program each, asked in lines (clients/README.md)."""

import base64
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from broker import INTEROP

HERE = Path(__file__).parent / "clients"
ANSWER_TIMEOUT = 120  # seconds

# For tests of groups: the first member of an empty one waits for no others.
NO_GROUP_DELAY = ("--group-initial-rebalance-delay", "0s")
JAVA = ["java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"]


def java(version: str) -> list[str]:
    return [*JAVA, f"{INTEROP}/java-{version}/classes:{INTEROP}/java-{version}/*", "Client"]


def python(library: str) -> list[str]:
    return [sys.executable, str(HERE / "python_client.py"), library]


COMMANDS = {
    "kcat": python("kcat"),
    "confluent": python("confluent"),
    "kafka-python": python("kafka-python"),
    "java-4.4.0": java("4.4.0"),
    "java-2.8.2": java("2.8.2"),
    "java-2.0.1": java("2.0.1"),
    "franz-go": [f"{INTEROP}/franz-client"],
    "kafkajs": [f"{INTEROP}/node", f"{INTEROP}/kafkajs/client.js"],
}  # fmt: skip

ADMINS = [name for name in COMMANDS if name != "kcat"]


class ClientError(Exception):
    """What a client answered instead of doing what it was asked."""


def word(data: bytes | None) -> str:
    return "-" if data is None else "=" + base64.b64encode(data).decode()


def data_of(text: str) -> bytes | None:
    return None if text == "-" else base64.b64decode(text[1:])


@dataclass(frozen=True)
class Record:
    """As written (then offset is -1), or as read."""

    partition: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = field(default=())
    offset: int = -1

    def line(self) -> str:
        words = [str(self.partition), str(self.timestamp), word(self.key), word(self.value)]
        return " ".join(words + [name + word(value) for name, value in self.headers])

    @classmethod
    def read(cls, line: str) -> "Record":
        partition, offset, timestamp, key, value, *rest = line.split(" ")
        headers = []
        for header in rest:
            end = header.index("=") if "=" in header else len(header) - 1
            headers.append((header[:end], data_of(header[end:])))
        return cls(
            int(partition),
            int(timestamp),
            data_of(key),
            data_of(value),
            tuple(headers),
            int(offset),
        )


class Client:
    """A running client, ended with `with`."""

    def __init__(self, name: str, address: str, identity: str | None = None):
        self.name = name
        self.id = identity or name
        self.errors = tempfile.TemporaryFile("w+", errors="replace")
        self.process = subprocess.Popen(
            [*COMMANDS[name], address, self.id], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.errors, text=True,
        )  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        self.errors.close()

    def complaint(self) -> str:
        self.errors.seek(0)
        return self.errors.read()[-1500:]

    def say(self, *lines: str) -> None:
        self.process.stdin.write("".join(line + "\n" for line in lines))
        self.process.stdin.flush()

    def answer(self):
        """The answer's lines as they come. A client that says nothing more is ended."""
        watch = threading.Timer(ANSWER_TIMEOUT, self.process.kill)
        watch.start()
        try:
            for line in self.process.stdout:
                line = line.rstrip("\n")
                if line == ".":
                    return
                if line.startswith("! "):
                    raise ClientError(f"{self.name}: {line[2:]}")
                yield line
            raise ClientError(f"{self.name} ended: {self.complaint()}")
        finally:
            watch.cancel()

    def ask(self, *words: object) -> list[str]:
        self.say(" ".join(map(str, words)))
        return list(self.answer())

    def produce(self, topic: str, codec: str, records: list[Record], idempotent: bool = False):
        """Where they went, in order; nothing when the client does not tell."""
        command = f"produce {topic} {codec} {str(idempotent).lower()} {len(records)}"
        self.say(command, *(record.line() for record in records))
        return [tuple(map(int, line.split(" "))) for line in self.answer()]

    def consume(self, topic: str) -> list[Record]:
        """Everything, by partition and offset."""
        found = [Record.read(line) for line in self.ask("consume", topic)]
        return sorted(found, key=lambda record: (record.partition, record.offset))

    def pairs(self, *words: object) -> dict[str, str]:
        return dict(line.split("=", 1) for line in self.ask(*words))

    def offsets(self, group: str, topic: str) -> dict[int, int]:
        lines = self.ask("offsets", group, topic)
        return {int(partition): int(offset) for partition, offset in map(str.split, lines)}


class Member:
    """A client's stay in a group; it reads until `leave`."""

    def __init__(self, client: Client, group: str, topic: str):
        self.client = client
        self.read: list[Record] = []
        self.error: Exception | None = None
        self.changed = threading.Condition()
        client.say(f"group {group} {topic}")
        self.thread = threading.Thread(target=self.follow)
        self.thread.start()

    def follow(self) -> None:
        try:
            for line in self.client.answer():
                with self.changed:
                    self.read.append(Record.read(line))
                    self.changed.notify_all()
        except Exception as why:
            with self.changed:
                self.error = why
                self.changed.notify_all()

    def wait_for(self, count: int, timeout: float = 60) -> None:
        """Until it has read `count` records."""
        with self.changed:
            enough = self.changed.wait_for(lambda: self.error or len(self.read) >= count, timeout)
        if self.error is not None:
            raise self.error
        assert enough, f"{self.client.name} has read {len(self.read)} of {count}"

    def leave(self) -> list[Record]:
        """Commits and leaves; everything that it has read."""
        self.client.say("stop")
        self.thread.join()
        if self.error is not None:
            raise self.error
        return self.read
