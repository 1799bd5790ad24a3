# SPDX-License-Identifier: Apache-2.0
"""The command line, noun by noun, against a real broker.

LKS_CLI_BOOTSTRAP=HOST:PORT runs the tests that need Kafka's protocol only against that broker
instead of one of ours (it has to be empty of topics whose names begin with `cli-`).
"""

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
import unittest
import uuid

from broker import BINARY, Broker, run_cli

FOREIGN = os.environ.get("LKS_CLI_BOOTSTRAP")
FAILED = 1
WRONG = 2
CUT_OFF = 141

GROUP_APIS = {
    "FindCoordinator", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit",
    "OffsetFetch", "DescribeGroups", "ListGroups", "DeleteGroups", "OffsetDelete",
}  # fmt: skip


def rows(output: bytes) -> list[dict]:
    return [json.loads(line) for line in output.splitlines()]


class OnBroker(unittest.TestCase):
    """One broker for all tests of a class; each has topics and groups of its own."""

    @classmethod
    def setUpClass(cls):
        cls.stack = contextlib.ExitStack()
        cls.broker = None if FOREIGN else cls.stack.enter_context(Broker())
        cls.address = FOREIGN or cls.broker.address
        cls.apis = {row["api"] for row in rows(cls.output("cluster", "apis", "--format", "json"))}

    @classmethod
    def tearDownClass(cls):
        if cls.broker is not None:
            cls.broker.stop()
        cls.stack.close()

    def setUp(self):
        self.name = f"cli-{uuid.uuid4().hex[:12]}"

    @classmethod
    def run_on(cls, *words: str, input: bytes = b"") -> subprocess.CompletedProcess:
        return run_cli(*words, "--bootstrap", cls.address, input=input)

    @classmethod
    def output(cls, *words: str, input: bytes = b"") -> bytes:
        done = cls.run_on(*words, input=input)
        assert done.returncode == 0, (words, done.stderr.decode())
        return done.stdout

    @classmethod
    def rows(cls, *words: str) -> list[dict]:
        return rows(cls.output(*words, "--format", "json"))

    def fails(self, *words: str, says: str) -> None:
        done = self.run_on(*words)
        self.assertEqual(done.returncode, FAILED, words)
        text = done.stderr.decode()
        self.assertTrue(text.startswith("lakestream: ") and text.count("\n") == 1, text)
        self.assertIn(says, text)

    def create(self, partitions: int = 1) -> str:
        self.output("topic", "create", self.name, "--partitions", str(partitions))
        return self.name

    def wait_for(self, condition, what: str, seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.1)

    def has(self, api: str, *words: str) -> bool:
        """Whether the broker serves it; if not, the command must say so."""
        if api in self.apis:
            return True
        self.fails(*words, says=f"this broker does not serve {api}: see `lakestream cluster apis`")
        return False


class Records(OnBroker):
    def test_lines_with_every_compression_and_headers(self):
        topic = self.create()
        lines = [b"", b"x", "größe".encode(), b"y" * 100_000, b"\xff\x00\xfe"]
        for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
            self.output("topic", "produce", topic, "--compression", codec, "--key", codec,
                        "--header", "a=1", "--header", "b==",
                        input=b"\n".join(lines) + b"\n")  # fmt: skip
        self.assertEqual(
            self.output("topic", "consume", topic), (b"\n".join(lines) + b"\n") * 5
        )
        found = self.rows("topic", "consume", topic)
        self.assertEqual([row["offset"] for row in found], list(range(25)))
        self.assertEqual({row["key"] for row in found}, {"none", "gzip", "snappy", "lz4", "zstd"})
        self.assertEqual(found[0]["headers"],
                         [{"key": "a", "value": "1"}, {"key": "b", "value": "="}])  # fmt: skip
        self.assertEqual(list(found[0])[:4], ["topic", "partition", "offset", "timestamp"])

    def test_json_goes_out_and_in(self):
        topic = self.create(3)
        records = [
            {"partition": 2, "timestamp": 1_700_000_000_000, "key": "k", "value": "v"},
            {"partition": 0, "timestamp": 5, "key": None, "value": None},
            {"partition": 1, "timestamp": 6, "key": "\n\"\\\u0001", "value_base64": "/wD+",
             "headers": [{"key": "h", "value": "1"}, {"key": "n", "value": None}]},
        ]  # fmt: skip
        text = "".join(json.dumps(record) + "\n" for record in records).encode()
        self.output("topic", "produce", topic, "--format", "json", input=text)
        first = self.output("topic", "consume", topic, "--format", "json")
        found = {row["partition"]: row for row in rows(first)}
        for record in records:
            for name, value in record.items():
                self.assertEqual(found[record["partition"]][name], value)
        copy = f"{topic}-copy"
        self.output("topic", "create", copy, "--partitions", "3")
        self.output("topic", "produce", copy, "--format", "json", input=first)
        second = self.output("topic", "consume", copy, "--format", "json")
        self.assertEqual(
            sorted(second.replace(copy.encode(), topic.encode()).splitlines()),
            sorted(first.splitlines()),
        )
        wrong = self.run_on("topic", "produce", topic, "--format", "json",
                            input=b'{"value":"ok"}\n{"value":')  # fmt: skip
        self.assertEqual(wrong.returncode, FAILED)
        self.assertIn(b"line 2: this is no JSON object", wrong.stderr)
        wrong = self.run_on("topic", "produce", topic, "--format", "json",
                            input=b'{"value":"v","partition":3}')  # fmt: skip
        self.assertIn(b"line 1: " + topic.encode() + b" has no partition 3", wrong.stderr)

    def test_many_lines_keep_their_order(self):
        topic = self.create()
        lines = b"".join(b"line %d\n" % i for i in range(300_000))
        self.output("topic", "produce", topic, input=lines)
        self.assertEqual(self.output("topic", "consume", topic), lines)
        self.assertEqual(self.rows("topic", "describe", topic)[0]["end"], 300_000)
        self.assertEqual(
            self.output("topic", "consume", topic, "--from", "299998"),
            b"line 299998\nline 299999\n",
        )

    def test_keys_go_where_the_java_client_puts_them(self):
        topic = self.create(7)
        keys = [f"key-{i}" for i in range(50)]
        text = "".join(f"{key}\tv\n" for key in keys).encode()
        self.output("topic", "produce", topic, "--keyed", input=text)
        for row in self.rows("topic", "consume", topic):
            self.assertEqual(row["partition"], (murmur2(row["key"].encode()) & 0x7FFFFFFF) % 7)

    def test_what_is_too_large_or_nowhere(self):
        topic = self.create()
        done = self.run_on("topic", "produce", topic, input=b"x" * 20_000_000)
        self.assertEqual(done.returncode, FAILED)
        self.assertIn(b"larger than", done.stderr)
        self.fails("topic", "consume", topic, "--from", "5", "--follow",
                   says="does not hold offset 5")
        self.fails("topic", "consume", topic, "--partition", "9", says="has no partition 9")
        self.fails("topic", "consume", f"{topic}-not", says="there is no topic")

    def test_follows_until_a_signal(self):
        topic = self.create()
        for number in (signal.SIGINT, signal.SIGTERM):
            with subprocess.Popen(
                [BINARY, "topic", "consume", topic, "--follow", "--from", "end", "--bootstrap",
                 self.address], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            ) as follower:  # fmt: skip
                arrived = threading.Event()
                threading.Thread(
                    target=lambda f=follower, a=arrived: f.stdout.readline() and a.set()
                ).start()
                while not arrived.is_set():  # `end` is where it is when the follower asks
                    self.output("topic", "produce", topic, input=b"new\n")
                    arrived.wait(0.2)
                follower.send_signal(number)
                self.assertEqual(follower.wait(30), 0, follower.stderr.read())

    def test_a_reader_that_goes_away_while_nothing_comes(self):
        topic = self.create()
        self.output("topic", "produce", topic, input=b"one line\n")
        for words in ((), ("--group", f"{topic}-group")):
            with subprocess.Popen(
                [BINARY, "topic", "consume", topic, "--follow", *words, "--bootstrap",
                 self.address], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            ) as follower:  # fmt: skip
                self.assertEqual(follower.stdout.readline(), b"one line\n")
                follower.stdout.close()
                self.assertEqual(follower.wait(30), CUT_OFF)
                self.assertEqual(follower.stderr.read(), b"")

    def test_a_reader_that_goes_away(self):
        topic = self.create()
        self.output("topic", "produce", topic, input=b"some line\n" * 200_000)
        for tail in ("", " --format json", " --follow"):
            done = subprocess.run(
                ["bash", "-c",
                 f'"$0" topic consume {topic} --bootstrap {self.address}{tail} | head -n 1; '
                 'echo "${PIPESTATUS[0]}"', BINARY], capture_output=True, timeout=60,
            )  # fmt: skip
            self.assertEqual(done.stdout.splitlines(), [done.stdout.splitlines()[0], b"141"])
            self.assertEqual(done.stderr, b"")


def murmur2(data: bytes) -> int:
    """As org.apache.kafka.common.utils.Utils.murmur2."""
    m, mask = 0x5BD1E995, 0xFFFFFFFF
    h = 0x9747B28C ^ len(data)
    whole = len(data) // 4 * 4
    for i in range(0, whole, 4):
        k = int.from_bytes(data[i : i + 4], "little") * m & mask
        h = h * m & mask ^ (k ^ k >> 24) * m & mask
    rest = data[whole:]
    for i in reversed(range(len(rest))):
        h ^= rest[i] << 8 * i
    if rest:
        h = h * m & mask
    h = (h ^ h >> 13) * m & mask
    return h ^ h >> 15


class Topics(OnBroker):
    def test_listed_described_and_complained_of(self):
        topic = self.create(2)
        self.assertIn(topic.encode(), self.output("topic", "list").splitlines())
        listed = {row["topic"]: row for row in self.rows("topic", "list")}
        self.assertEqual(listed[topic]["partitions"], 2)
        described = self.rows("topic", "describe", topic)
        self.assertEqual([row["partition"] for row in described], [0, 1])
        self.assertEqual({row["id"] for row in described}, {listed[topic]["id"]})
        heading = self.output("topic", "describe", topic).splitlines()[0].split()
        self.assertEqual(heading, [b"TOPIC", b"ID", b"PARTITION", b"LEADER", b"BEGIN", b"END"])
        self.fails("topic", "create", topic, says=f"see `lakestream topic describe {topic}`")
        self.assertEqual(self.output("topic", "delete", topic), b"")
        self.fails("topic", "delete", topic, says="see `lakestream topic list`")

    def test_several_are_created_and_deleted(self):
        names = [f"{self.name}-{i}" for i in range(3)]
        made = self.rows("topic", "create", *names, "--partitions", "2",
                         "--replication-factor", "1")  # fmt: skip
        self.assertEqual([(row["topic"], row["partitions"]) for row in made],
                         [(name, 2) for name in names])  # fmt: skip
        listed = {row["topic"]: row["id"] for row in self.rows("topic", "list")}
        self.assertEqual([listed[name] for name in names], [row["id"] for row in made])
        # What can be done is done, and each failure is said.
        again = self.run_on("topic", "create", names[0], f"{self.name}-new", names[1], "--format",
                            "json")  # fmt: skip
        self.assertEqual(again.returncode, FAILED)
        self.assertEqual([row["topic"] for row in rows(again.stdout)], [f"{self.name}-new"])
        said = again.stderr.decode().splitlines()
        self.assertEqual(len(said), 2, said)
        for line, name in zip(said, names):
            self.assertTrue(line.startswith(f"lakestream: topic {name} exists already"), line)
        gone = self.rows("topic", "delete", *names)
        self.assertEqual([row["topic"] for row in gone], names)
        missing = self.run_on("topic", "delete", names[0], f"{self.name}-new", "--format", "json")
        self.assertEqual(missing.returncode, FAILED)
        self.assertEqual([row["topic"] for row in rows(missing.stdout)], [f"{self.name}-new"])
        self.assertIn(f"there is no topic {names[0]}:".encode(), missing.stderr)

    @unittest.skipIf(FOREIGN, "others copy records between brokers")
    def test_replication_factors_mean_nothing(self):
        (made,) = self.rows("topic", "create", self.name, "--replication-factor", "3")
        self.assertEqual(made["partitions"], 1)

    def test_more_partitions(self):
        topic = self.create(2)
        words = ("topic", "add-partitions", topic, "--num", "3")
        if self.has("CreatePartitions", *words):
            self.assertEqual(self.rows(*words), [{"topic": topic, "partitions": 5}])
            self.wait_for(
                lambda: len(self.rows("topic", "describe", topic)) == 5, "five partitions"
            )
        self.fails("topic", "add-partitions", f"{topic}-not", "--num", "1", says="no topic")

    def test_trim(self):
        topic = self.create(2)
        for partition in ("0", "1"):
            self.output("topic", "produce", topic, "--partition", partition, input=b"x\n" * 10)
        planned = self.rows("topic", "trim", topic, "--to", "4", "--partition", "1", "--dry-run")
        self.assertEqual(planned, [{"topic": topic, "partition": 1, "begin": 0, "new_begin": 4,
                                    "end": 10}])  # fmt: skip
        self.fails("topic", "trim", topic, "--to", "11", says="ends at 10: it cannot be trimmed")
        if not self.has("DeleteRecords", "topic", "trim", topic, "--to", "end"):
            return
        begins = lambda: [row["begin"] for row in self.rows("topic", "describe", topic)]
        self.output("topic", "trim", topic, "--to", "4", "--partition", "1")
        self.wait_for(lambda: begins() == [0, 4], "partition 1 begins at 4")
        self.output("topic", "trim-prefix", topic, "--to", "end")
        self.wait_for(lambda: begins() == [10, 10], "both are empty")
        self.assertEqual(self.output("topic", "consume", topic), b"")

    def test_configurations(self):
        topic = self.create()
        get = ("config", "get", "--topic", topic, "retention.ms")
        if self.has("DescribeConfigs", *get):
            before = self.rows(*get)
            self.assertEqual(list(before[0]), ["name", "value", "source", "read_only"])
            names = [row["name"] for row in self.rows("config", "list", "--topic", topic)]
            self.assertIn("max.message.bytes", names)
            self.assertEqual(names, sorted(names))
            self.fails("config", "get", "--topic", topic, "retention.mss",
                       says="the nearest is retention.ms")  # fmt: skip
            self.fails("config", "list", "--topic", f"{topic}-not", says="there is no topic")
            broker = str(self.rows("cluster", "info")[0]["broker"])
            self.assertTrue(self.rows("config", "list", "--broker", broker))
        change = ("config", "set", "--topic", topic, "retention.ms=1234567", "segment.ms=7654321")
        if self.has("IncrementalAlterConfigs", *change):
            value = lambda: self.rows(*get)[0]
            changed = self.rows(*change, "--dry-run")
            self.assertEqual(changed, [
                {"name": "retention.ms", "value": "1234567", "changed": False},
                {"name": "segment.ms", "value": "7654321", "changed": False},
            ])  # fmt: skip
            self.assertEqual(value(), before[0])
            self.assertEqual(self.output(*change), b"")
            self.wait_for(lambda: value()["value"] == "1234567", "the new value")
            self.assertEqual(value()["source"], "topic")
            changed = self.rows("topic", "alter-config", topic, "--set", "retention.ms=99999999",
                                "--delete", "segment.ms")  # fmt: skip
            self.assertEqual(changed, [
                {"name": "retention.ms", "value": "99999999", "changed": True},
                {"name": "segment.ms", "value": None, "changed": True},
            ])  # fmt: skip
            self.wait_for(lambda: value()["value"] == "99999999", "the newer value")
            changed = self.rows("config", "unset", "--topic", topic, "retention.ms")
            self.assertEqual(changed, [{"name": "retention.ms", "value": None, "changed": True}])
            self.wait_for(lambda: value() == before[0], "the default")
            refused = self.run_on("config", "set", "--topic", topic, "retention.ms=soon")
            self.assertEqual(refused.returncode, FAILED)
            self.assertIn(topic.encode(), refused.stderr)


class Groups(OnBroker):
    def setUp(self):
        super().setUp()
        missing = sorted(GROUP_APIS - self.apis)
        if missing:
            self.says_what_is_missing()
            self.skipTest(f"the broker does not serve {missing}")
        self.group = f"{self.name}-group"

    def says_what_is_missing(self):
        commands = [("group", "list"), ("group", "describe", "g"), ("group", "members", "g")]
        for words in commands:
            done = self.run_on(*words)
            if done.returncode:
                self.assertIn(b"this broker does not serve ", done.stderr)

    def member(self, topic: str, *words: str) -> subprocess.Popen:
        return subprocess.Popen(
            [BINARY, "topic", "consume", topic, "--group", self.group, "--bootstrap", self.address,
             *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def lags(self) -> list[tuple]:
        return [(row["partition"], row["committed"], row["lag"])
                for row in self.rows("group", "describe", self.group)]  # fmt: skip

    def consume(self, topic: str, *words: str) -> bytes:
        return self.output("topic", "consume", topic, "--group", self.group, *words)

    def test_offsets_are_committed_and_moved(self):
        topic = self.create(2)
        for partition in ("0", "1"):
            self.output("topic", "produce", topic, "--partition", partition, input=b"a\nb\nc\n")
        self.assertEqual(len(self.consume(topic, "--count", "4").splitlines()), 4)
        self.assertEqual(sum(lag for _, _, lag in self.lags()), 2)
        self.assertEqual(len(self.consume(topic).splitlines()), 2)
        self.assertEqual(self.lags(), [(0, 3, 0), (1, 3, 0)])
        self.assertEqual(self.consume(topic), b"")
        listed = {row["group"]: row for row in self.rows("group", "list")}
        self.assertIn(self.group, listed)

        seek = ("group", "seek", self.group, "--to")
        planned = self.rows(*seek, "1", "--dry-run")
        self.assertEqual([(row["committed"], row["new"]) for row in planned], [(3, 1), (3, 1)])
        self.assertEqual(self.lags(), [(0, 3, 0), (1, 3, 0)])
        self.output(*seek, "1", "--topic", topic, "--partition", "1")
        self.assertEqual(self.lags(), [(0, 3, 0), (1, 1, 2)])
        self.assertEqual(self.consume(topic), b"b\nc\n")
        self.output("group", "reset-offsets", self.group, "--to", "beginning")
        self.assertEqual(self.lags(), [(0, 0, 3), (1, 0, 3)])
        self.output(*seek, "@2000-01-01T00:00:00Z")
        self.assertEqual(self.lags(), [(0, 0, 3), (1, 0, 3)])
        self.output(*seek, "1000000")  # as far as there is
        self.assertEqual(self.lags(), [(0, 3, 0), (1, 3, 0)])

        gone = self.rows("group", "delete-offsets", self.group, "--topic", topic,
                         "--partition", "0")  # fmt: skip
        self.assertEqual(gone, [{"topic": topic, "partition": 0, "committed": 3}])
        self.assertEqual(self.lags(), [(1, 3, 0)])
        self.fails("group", "delete-offsets", self.group, "--topic", "cli-other",
                   says=f"see `lakestream group describe {self.group}`")  # fmt: skip
        self.assertEqual(self.rows("group", "delete", self.group), [{"group": self.group}])
        self.fails("group", "delete", self.group, says="see `lakestream group list`")
        self.fails("group", "describe", self.group, says="there is no group")

    def test_all_topics_are_moved_by_one_commit(self):
        first, second = self.create(2), f"{self.name}-b"
        self.output("topic", "create", second)
        for topic in (first, second):
            self.output("topic", "produce", topic, "--partition", "0", input=b"a\nb\n")
            self.consume(topic)
        before = self.commits()
        moved = self.rows("group", "seek", self.group, "--to", "1")
        self.assertEqual(
            sorted((row["topic"], row["partition"], row["new"]) for row in moved),
            [(first, 0, 1), (first, 1, 0), (second, 0, 1)],
        )
        self.assertEqual(self.lags(), [(0, 1, 1), (1, 0, 0), (0, 1, 1)])
        if self.broker is not None:
            self.assertEqual(self.commits() - before, 1)

    def commits(self) -> float:
        return sum(
            float(line.split()[-1])
            for line in self.broker.get("/metrics")[1].splitlines()
            if line.startswith("lakestream_kafka_requests_total{") and 'api="OffsetCommit"' in line
        ) if self.broker is not None else 0

    def test_members_share_partitions(self):
        topic = self.create(4)
        first = self.member(topic, "--follow")
        second = self.member(topic, "--follow")
        try:
            members = lambda: self.rows("group", "members", self.group)
            shared = lambda: sorted(len(row["partitions"]) for row in self.quietly(members))
            self.wait_for(lambda: shared() == [2, 2], "two members with two partitions each", 120)
            for row in members():
                self.assertTrue(row["client"].startswith("lakestream"), row)
            readers = {row["member"] for row in self.rows("group", "describe", self.group)}
            self.assertEqual(readers, {row["member"] for row in members()})
            self.fails("group", "seek", self.group, "--to", "end", "--topic", topic,
                       says=f"see `lakestream group members {self.group}`")  # fmt: skip
            self.fails("group", "delete", self.group, says="is in use")
            for partition in range(4):
                self.output("topic", "produce", topic, "--partition", str(partition),
                            input=b"p%d\n" % partition)  # fmt: skip
            second.send_signal(signal.SIGINT)
            self.assertEqual(second.wait(60), 0, second.stderr.read())
            self.wait_for(lambda: shared() == [4], "one member with all", 120)
            self.wait_for(lambda: [lag for _, _, lag in self.lags()] == [0] * 4, "no lag")
            first.send_signal(signal.SIGTERM)
            self.assertEqual(first.wait(60), 0, first.stderr.read())
            said = first.stdout.read() + second.stdout.read()
            self.assertEqual(sorted(said.splitlines()), [b"p0", b"p1", b"p2", b"p3"])
            self.assertEqual(members(), [])
        finally:
            for process in (first, second):
                process.kill()
                process.communicate()

    @staticmethod
    def quietly(members) -> list[dict]:
        """While a group does not exist there are no members."""
        try:
            return members()
        except AssertionError:
            return []

    def test_a_group_that_is_not_there(self):
        self.fails("group", "describe", self.group, says="see `lakestream group list`")
        self.fails("group", "seek", self.group, "--to", "end", says="has no offsets")


class Cluster(OnBroker):
    def test_who_is_there(self):
        topic = self.create(3)
        info = self.rows("cluster", "info")
        self.assertEqual(list(info[0]), ["cluster", "broker", "host", "port", "zone", "controller"])
        self.assertIn(self.address, [f"{row['host']}:{row['port']}" for row in info])
        partitions = [row for row in self.rows("cluster", "metadata") if row["topic"] == topic]
        self.assertEqual([row["partition"] for row in partitions], [0, 1, 2])
        self.assertIn("Produce", self.apis)

    @unittest.skipIf(FOREIGN, "it has no HTTP port of ours")
    def test_how_a_node_is(self):
        http = f"127.0.0.1:{self.broker.http_port}"
        health = rows(run_cli("cluster", "health", "--http", http, "--format", "json").stdout)
        self.assertTrue(health and all(row["ok"] for row in health), health)
        status = run_cli("cluster", "status", "--http", http, "--format", "json")
        if status.returncode:
            self.assertIn(b"does not serve /v1/status", status.stderr)
        else:
            self.assertEqual(len(rows(status.stdout)), 1)
            topic = self.create()
            self.output("topic", "produce", topic, input=b"a row\n")
            status = lambda: self.table(run_cli("cluster", "status", "--http", http).stdout)
            self.wait_for(lambda: f"table {topic}" in status(), "its table is told of")
            parts = status()
            self.assertEqual(parts["ready"], "yes")
            self.assertTrue(parts["kafka"].startswith(self.address), parts)
            self.assertIn("objects waiting", parts["wal"])
        away = run_cli("cluster", "health", "--http", "127.0.0.1:1")
        self.assertEqual(away.returncode, FAILED)
        self.assertIn(b"is a node with this http.listen running?", away.stderr)

    def table(self, output: bytes) -> dict[str, str]:
        heading, *lines = output.decode().splitlines()
        self.assertEqual(heading.split(), ["PART", "STATE"])
        at = heading.index("STATE")
        return {line[:at].strip(): line[at:] for line in lines}

    @unittest.skipIf(FOREIGN, "it has no HTTP port of ours")
    def test_doctor(self):
        words = ("doctor", "--http", f"127.0.0.1:{self.broker.http_port}", "--data-dir",
                 str(self.broker.data), "--format", "json")  # fmt: skip
        done = self.run_on(*words)
        found = {row["check"]: row for row in rows(done.stdout)}
        self.assertEqual(found["broker"]["level"], "ok", found)
        self.assertTrue(found["broker"]["says"].startswith("1 broker, "), found)
        self.assertEqual(found["ready"]["level"], "ok", found)
        self.assertEqual(found["data folder"]["level"], "ok", found)
        self.assertEqual(done.returncode, "fail" in {row["level"] for row in found.values()})
        for check in ("open files", "memory", "clock", "disk space", "fsync", "file system"):
            self.assertIn(check, found)
        for row in found.values():
            self.assertEqual(row["todo"] is None, row["level"] == "ok", row)
        away = run_cli("doctor", "--bootstrap", "127.0.0.1:1", "--http", "127.0.0.1:1",
                       "--data-dir", "/nowhere", "--format", "json")  # fmt: skip
        self.assertEqual(away.returncode, FAILED)
        levels = {row["check"]: row["level"] for row in rows(away.stdout)}
        self.assertEqual((levels["broker"], levels["data folder"]), ("fail", "note"))

    @unittest.skipIf(FOREIGN, "it has no HTTP port of ours")
    def test_cost(self):
        done = run_cli("cost", "workload", "--in", "10", "--flushes", "4", "--format", "json")
        by_item = {(row["store"], row["item"]): row for row in rows(done.stdout)}
        puts = by_item["s3", "put"]
        self.assertAlmostEqual(puts["quantity"], (4 + 10 / 64) * 730 * 3600, delta=1)
        self.assertAlmostEqual(puts["month_usd"], puts["quantity"] * 0.005 / 1000, delta=0.01)
        stored = by_item["s3", "stored"]
        self.assertAlmostEqual(stored["quantity"], 10e6 * 86400 * 7 / 1e9, delta=0.1)
        total = sum(row["month_usd"] for (store, item), row in by_item.items()
                    if store == "s3" and item != "total")  # fmt: skip
        self.assertAlmostEqual(by_item["s3", "total"]["month_usd"], total, delta=0.05)
        self.assertIn(b"this is an estimate", done.stderr)

        http = f"127.0.0.1:{self.broker.http_port}"
        topic = self.create()
        watched = subprocess.Popen(
            [BINARY, "cost", "node", "--http", http, "--seconds", "3", "--store", "s3", "--format",
             "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        while watched.poll() is None:
            self.output("topic", "produce", topic, input=b"x" * 1000)
        output, errors = watched.communicate()
        self.assertEqual(watched.returncode, 0, errors)
        node = {row["item"]: row for row in rows(output)}
        self.assertGreater(node["put"]["quantity"], 0)
        self.assertGreater(node["written"]["quantity"], 0)


class Restart(unittest.TestCase):
    def test_a_producer_outlives_a_broker(self):
        """Killed while five requests are in flight: each line is there once, in order."""
        with Broker() as broker:
            run_cli("topic", "create", "t", "--bootstrap", broker.address)
            producer = subprocess.Popen(
                [BINARY, "topic", "produce", "t", "--bootstrap", broker.address],
                stdin=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
            lines = [b"line %d %s\n" % (i, b"x" * 90) for i in range(200_000)]
            describe = ("topic", "describe", "t", "--format", "json")
            end = lambda: json.loads(
                run_cli(*describe, "--bootstrap", broker.address).stdout
            )["end"]
            half = len(lines) // 2
            producer.stdin.writelines(lines[:half])
            producer.stdin.flush()
            deadline = time.monotonic() + 60
            while end() == 0:
                self.assertLess(time.monotonic(), deadline)
            broker.kill()
            broker.start()
            producer.stdin.writelines(lines[half:])
            producer.stdin.close()
            self.assertEqual(producer.wait(120), 0, producer.stderr.read())
            producer.stderr.close()
            done = run_cli("topic", "consume", "t", "--bootstrap", broker.address)
            self.assertEqual(done.stdout, b"".join(lines))
            broker.stop()

    def test_a_member_that_is_interrupted_while_the_group_forms(self):
        with Broker("--group-initial-rebalance-delay=60s") as broker:
            run_cli("topic", "create", "t", "--bootstrap", broker.address)
            for number in (signal.SIGINT, signal.SIGTERM):
                with subprocess.Popen(
                    [BINARY, "topic", "consume", "t", "--group", "g", "--follow", "--bootstrap",
                     broker.address], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                ) as member:  # fmt: skip
                    members = lambda: run_cli("group", "members", "g", "--format", "json",
                                              "--bootstrap", broker.address).stdout  # fmt: skip
                    deadline = time.monotonic() + 50
                    while not members():
                        self.assertLess(time.monotonic(), deadline)
                    member.send_signal(number)
                    self.assertEqual(member.wait(30), 0, member.stderr.read())
                    self.assertEqual(member.stderr.read(), b"")
                    self.assertEqual(members(), b"")  # nobody waits for its session to end
            broker.stop()

    def test_lines_go_out_as_they_come(self):
        with Broker() as broker:
            run_cli("topic", "create", "t", "--bootstrap", broker.address)
            with subprocess.Popen(
                [BINARY, "topic", "produce", "t", "--bootstrap", broker.address],
                stdin=subprocess.PIPE,
            ) as producer:
                for i in range(1, 4):
                    producer.stdin.write(b"line\n")
                    producer.stdin.flush()
                    deadline = time.monotonic() + 60
                    while run_cli("topic", "consume", "t", "--bootstrap",
                                  broker.address).stdout != b"line\n" * i:  # fmt: skip
                        self.assertLess(time.monotonic(), deadline)
            broker.stop()


class Completion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.script = run_cli("completion", "bash").stdout.decode()

    def complete(self, *words: str) -> list[str]:
        quoted = " ".join(f"'{word}'" for word in ("lakestream", *words))
        done = subprocess.run(
            ["bash", "-c", self.script + f"\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words)}; "
             '_lakestream; printf "%s\\n" "${COMPREPLY[@]}"'],
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.split()

    def test_bash(self):
        self.assertEqual(self.complete("top"), ["topic"])
        self.assertIn("group", self.complete(""))
        self.assertIn("produce", self.complete("topic", ""))
        self.assertEqual(self.complete("topic", "prod"), ["produce"])
        self.assertEqual(self.complete("topic", "produce", "orders", "--comp"), ["--compression"])
        self.assertEqual(self.complete("topic", "consume", "t", "--format", "j"), ["json"])
        self.assertEqual(self.complete("config", "set", "--top"), ["--topic"])
        self.assertEqual(self.complete("dev", "--kafka-lis"), ["--kafka-listen"])
        self.assertNotIn("manual", self.complete(""))

    def test_scripts_are_well_formed(self):
        for shell in ("bash", "zsh", "fish"):
            script = run_cli("completion", shell)
            self.assertEqual(script.returncode, 0)
            if shell == "fish":
                continue  # it may not be here; its lines are of one form
            done = subprocess.run(["bash", "-n"], input=script.stdout, capture_output=True)
            self.assertEqual(done.returncode, 0, done.stderr)


class Output(unittest.TestCase):
    def test_what_cannot_be_written(self):
        with Broker() as broker:
            address = ("--bootstrap", broker.address)
            http = ("--http", f"127.0.0.1:{broker.http_port}")
            run_cli("topic", "create", "t", *address)
            run_cli("topic", "produce", "t", *address, input=b"a line\n")
            commands = [
                ("cluster", "info", *address), ("cluster", "metadata", *address),
                ("cluster", "apis", *address), ("cluster", "health", *http),
                ("topic", "trim", "t", "--to", "end", "--dry-run", *address),
                ("topic", "consume", "t", *address),
                ("topic", "consume", "t", "--group", "g", *address),
                ("cost", "workload", "--in", "1"), ("doctor", *address, *http),
                ("completion", "bash"), ("group", "--help"),
            ]  # fmt: skip
            for command in commands:
                for full in (">/dev/full", ">&-"):
                    done = subprocess.run(["bash", "-c", f'"$0" "$@" {full}', BINARY, *command],
                                          capture_output=True, timeout=60)  # fmt: skip
                    self.assertEqual(done.returncode, FAILED, command)
                    self.assertIn(b"stdout", done.stderr, command)
                    self.assertEqual(done.stderr.count(b" stdout"), 1, done.stderr)
            # What nobody got is not committed.
            again = run_cli("topic", "consume", "t", "--group", "g", *address)
            self.assertEqual(again.stdout, b"a line\n")
            closed = subprocess.run(["bash", "-c", '"$0" "$@" <&-', BINARY, "topic", "produce", "t",
                                     *address], capture_output=True, timeout=60)  # fmt: skip
            self.assertEqual((closed.returncode, closed.stderr), (0, b""))  # as of no lines
            broker.stop()


if __name__ == "__main__":
    unittest.main()
