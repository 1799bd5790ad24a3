# SPDX-License-Identifier: Apache-2.0
"""The process and the command line: draining, start errors, settings, exit codes, output."""

import json
import os
import resource
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

from confluent_kafka import Producer

from broker import BINARY, Broker, free_port, run_cli

WRONG = 2
UNCHECKED = 2
CHECKSUM = "user.lakestream.crc32c"


def dev(folder, *flags: str, **options) -> subprocess.CompletedProcess:
    """`lakestream dev` that is expected to end by itself."""
    return subprocess.run(
        [
            BINARY, "dev", "--data-dir", str(folder), "--kafka-listen", f"127.0.0.1:{free_port()}",
            "--http-listen", f"127.0.0.1:{free_port()}", *flags,
        ],
        capture_output=True, text=True, timeout=60, **options,
    )  # fmt: skip


def topic(broker: Broker, *arguments: str, input: bytes = b"") -> bytes:
    done = run_cli("topic", *arguments, "--bootstrap", broker.address, input=input)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def shell(redirection: str, *arguments: str) -> tuple[int, bool]:
    """The exit code of a command in a shell, and whether it complained that it cannot write."""
    command = f'"$0" "$@" {redirection}'
    done = subprocess.run(
        ["bash", "-c", command, BINARY, *arguments], capture_output=True, timeout=60
    )
    return done.returncode, b"stdout" in done.stderr


class Flood(threading.Thread):
    """Writes as fast as it goes until told to stop; remembers what was acknowledged."""

    def __init__(self, broker: Broker):
        super().__init__()
        self.producer = Producer({
            "bootstrap.servers": broker.address, "enable.idempotence": True, "linger.ms": 1,
            "reconnect.backoff.max.ms": 200, "message.timeout.ms": 60_000,
            "queue.buffering.max.messages": 2000, "log_level": 0,
        })  # fmt: skip
        self.acknowledged: dict[tuple[int, int], bytes] = {}
        self.failed: list[str] = []
        self.stopping = threading.Event()

    def report(self, error, message):
        if error is None:
            self.acknowledged[message.partition(), message.offset()] = message.value()
        else:
            self.failed.append(str(error))

    def run(self):
        number = 0
        while not self.stopping.is_set():
            try:
                self.producer.produce(
                    "flood", b"value %d" % number, partition=number % 4, on_delivery=self.report
                )
                number += 1
            except BufferError:
                self.producer.poll(0.05)
            self.producer.poll(0)
        assert self.producer.flush(60) == 0

    def finish(self):
        self.stopping.set()
        self.join()
        assert not self.failed, self.failed[:5]


def read_all(broker: Broker, name: str) -> dict[tuple[int, int], bytes]:
    lines = topic(broker, "consume", name, "--format", "json").decode().splitlines()
    records = map(json.loads, lines)
    return {(r["partition"], r["offset"]): r["value"].encode() for r in records}


class Process(unittest.TestCase):
    def wait_for(self, broker: Broker, metric: str):
        deadline = time.monotonic() + 60
        while f"{metric}\n" not in broker.get("/metrics")[1]:
            self.assertLess(time.monotonic(), deadline, metric)
            time.sleep(0.05)

    def test_drains_and_keeps_everything(self):
        with Broker() as broker:
            topic(broker, "create", "flood", "--partitions", "4")
            flood = Flood(broker)
            flood.start()
            for _ in range(3):
                time.sleep(0.7)
                broker.stop()
                broker.check()
                broker.start()
            flood.finish()
            self.assertGreater(len(flood.acknowledged), 1000)
            self.assertEqual(read_all(broker, "flood"), flood.acknowledged)
            broker.stop()
            broker.check()

    def test_health_and_metrics(self):
        with Broker() as broker:
            self.assertEqual(broker.get("/livez")[0], 200)
            status, body = broker.get("/readyz")
            self.assertEqual((status, json.loads(body)["ready"]), (200, True))
            topic(broker, "create", "t")
            topic(broker, "produce", "t", input=b"one\n")
            metrics = broker.get("/metrics")[1]
            self.assertIn('lakestream_objstore_requests_total{store="wal"', metrics)
            self.assertIn("lakestream_kafka_", metrics)
            broker.stop()

    def test_a_second_signal_ends_it_at_once(self):
        with Broker("--process-drain-max", "10min") as broker:
            topic(broker, "create", "t")
            with socket.create_connection(("127.0.0.1", broker.port)) as half:
                half.sendall(b"\0\0\1\0\0\x12")  # the beginning of a request holds the drain up
                time.sleep(0.2)
                broker.signal(signal.SIGTERM)
                time.sleep(0.5)
                if broker.process.poll() is None:
                    broker.signal(signal.SIGTERM)
                self.assertIn(broker.wait(10), (0, -signal.SIGTERM))
            broker.start()
            self.assertEqual(topic(broker, "list"), b"t\n")
            broker.stop()

    def test_a_closed_terminal_drains_unless_it_is_not_to_be_heard(self):
        with Broker("--process-drain-max", "10min") as broker:
            broker.signal(signal.SIGHUP)
            self.assertEqual(broker.wait(), 0)
            self.assertIn("stopping signal=SIGHUP", broker.log.read_text())
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
        try:
            with Broker() as broker:
                broker.signal(signal.SIGHUP)
                time.sleep(0.3)
                self.assertTrue(broker.ready())
                broker.stop()
        finally:
            signal.signal(signal.SIGHUP, before)

    def test_silent_http_clients_keep_no_probe_out(self):
        with Broker() as broker:
            idle = [socket.create_connection(("127.0.0.1", broker.http_port)) for _ in range(100)]
            self.assertEqual(broker.get("/livez")[0], 200)
            deaf = socket.create_connection(("127.0.0.1", broker.http_port))
            deaf.settimeout(1)
            try:
                while True:
                    deaf.sendall(b"GET /metrics HTTP/1.1\r\n\r\n" * 1000)
            except TimeoutError:
                pass
            begin = time.monotonic()
            broker.stop()
            self.assertLess(time.monotonic() - begin, 20)
            for connection in [*idle, deaf]:
                connection.close()

    def test_folders_without_a_name_or_a_place(self):
        for command in (("dev",), ("check",), ("inspect", "meta"), ("table", "verify", "t"),
                        ("table", "list")):
            with self.subTest(command):
                done = run_cli(*command, "--data-dir", "")
                self.assertEqual(done.returncode, WRONG, done.stderr)
                self.assertIn(b"the name of a folder is wanted", done.stderr)
        for command, code in (
            (("dev",), WRONG), (("check",), UNCHECKED), (("inspect", "meta"), 1)
        ):  # fmt: skip
            with self.subTest(command), tempfile.TemporaryDirectory() as folder:
                gone = f'cd "{folder}" && rmdir "{folder}" && exec "$@"'
                done = subprocess.run(
                    ["sh", "-c", gone, "sh", str(BINARY), *command], capture_output=True, timeout=60
                )
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(b"the current folder is not there any more", done.stderr)
                os.makedirs(folder)  # for its owner to remove

    def test_says_what_is_wrong_at_start(self):
        with Broker() as broker:
            done = dev(broker.data)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"another lakestream (pid {broker.process.pid})", done.stderr)
            with tempfile.TemporaryDirectory() as folder:
                done = dev(folder, "--kafka-listen", broker.address)
                self.assertEqual(done.returncode, 1)
                self.assertIn(f"{broker.address} is taken", done.stderr)
                done = dev(folder, "--kafka-listen", "0.0.0.0:0")
                self.assertEqual(done.returncode, WRONG)
                self.assertIn("kafka.advertise", done.stderr)
            with tempfile.TemporaryDirectory() as folder:
                storage = f"file://{broker.data}"  # another's, with metadata of its own
                spilled = broker.data / "scratch/spill/spilled"
                spilled.write_bytes(b"of the first")
                done = dev(folder, "--storage", storage)
                self.assertEqual(done.returncode, 1)
                self.assertIn(
                    f"another lakestream (pid {broker.process.pid}) works on "
                    f"{broker.data}/scratch",
                    done.stderr,
                )
                self.assertTrue(spilled.exists())
                listed = run_cli("table", "list", "--data-dir", str(broker.data))
                self.assertEqual((listed.returncode, listed.stderr), (0, b""))
            broker.stop()
            broker.check()
            broker.start()
            broker.stop()
        done = dev("/proc/nowhere")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot make the folder /proc/nowhere", done.stderr)

    def test_says_that_there_are_no_threads(self):
        def huge_stacks():  # more than there are addresses
            hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
            resource.setrlimit(resource.RLIMIT_STACK, (1 << 50, hard))

        with tempfile.TemporaryDirectory() as folder:
            done = dev(folder, preexec_fn=huge_stacks)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("cannot start the thread shard-0", done.stderr)

    def test_clients_leave_files_for_the_rest(self):
        few = 300

        def few_files():
            resource.setrlimit(resource.RLIMIT_NOFILE, (few, few))

        with Broker(prepare=few_files) as broker:
            topic(broker, "create", "kept")
            clients = [socket.create_connection(broker.address.split(":")) for _ in range(few)]
            self.wait_for(broker, "lakestream_kafka_connections_refused_total 150")
            for client in clients[:5]:  # they were taken; the next ones are
                client.close()
            self.wait_for(broker, "lakestream_kafka_connections 145")
            topic(broker, "produce", "kept", input=b"value\n")
            self.assertIn("connections_max_lowered from=10000 to=150", broker.log.read_text())
            for client in clients:
                client.close()
            broker.stop()

    def test_settings_by_file_environment_and_flag(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "node.toml")
            file.write_text('storage = "file:///nowhere"\n[kafka]\nlisten_at = "a:1"\n')
            done = run_cli("server", "--config", str(file))
            self.assertEqual(done.returncode, WRONG)
            self.assertIn(
                f"{file}:3: unknown key kafka.listen_at; the nearest is kafka.listen",
                done.stderr.decode(),
            )
            file.write_text('storage = "s3://bucket"\nmetadata = "embedded:///tmp/x"\n')
            done = run_cli("server", "--config", str(file))
            self.assertEqual(done.returncode, WRONG)
            self.assertIn("only file:///FOLDER is served", done.stderr.decode())
            done = run_cli("server", "--config", "/dev/zero")
            self.assertEqual(done.returncode, WRONG)
            self.assertIn("more than 64 KiB", done.stderr.decode())
            for wrong in ("--roles=catalog", "--compat=ursa-shared", "--storage=file://relative"):
                done = dev(folder, wrong)
                self.assertEqual(done.returncode, WRONG, wrong)
                self.assertIn(wrong.split("=")[0][2:], done.stderr)
            done = dev(folder, env={**os.environ, "LAKESTREAM_KAFKA_LISEN": "a:1"})
            self.assertEqual(done.returncode, WRONG)
            self.assertIn("the nearest is LAKESTREAM_KAFKA_LISTEN", done.stderr)
            done = dev(folder, "--kafka-lisen", "a:1")
            self.assertEqual(done.returncode, WRONG)
            self.assertIn("the nearest is --kafka-listen", done.stderr)
            done = dev(folder, "--log-linger", "20")
            self.assertEqual(done.returncode, WRONG)
            self.assertIn("--log-linger: log.linger: \"20\" is not: time", done.stderr)


class CommandLine(unittest.TestCase):
    def test_topics(self):
        with Broker() as broker:
            topic(broker, "create", "b", "--partitions", "2", "--config", "retention.ms=1000")
            topic(broker, "create", "a")
            self.assertEqual(topic(broker, "list"), b"a\nb\n")
            again = run_cli("topic", "create", "a", "--bootstrap", broker.address)
            self.assertEqual(again.returncode, 1)
            self.assertEqual(
                again.stderr,
                b"lakestream: topic a exists already: see `lakestream topic describe a`\n",
            )
            topic(broker, "produce", "b", "--partition", "1", input=b"x\ny\nz")
            described = [json.loads(l) for l in
                         topic(broker, "describe", "b", "--format", "json").splitlines()]
            self.assertEqual([(d["begin"], d["end"]) for d in described], [(0, 0), (0, 3)])
            self.assertEqual(topic(broker, "consume", "b"), b"x\ny\nz\n")
            self.assertEqual(topic(broker, "consume", "b", "--count", "2"), b"x\ny\n")
            one = ("consume", "b", "--partition", "1", "--from")
            self.assertEqual(topic(broker, *one, "2"), b"z\n")
            self.assertEqual(topic(broker, *one, "end"), b"")
            self.assertEqual(topic(broker, *one, "@2000-01-01T00:00:00Z"), b"x\ny\nz\n")
            topic(broker, "delete", "b")
            self.assertEqual(topic(broker, "list"), b"a\n")
            gone = run_cli("topic", "consume", "b", "--bootstrap", broker.address)
            self.assertEqual((gone.returncode, gone.stdout), (1, b""))
            self.assertIn(b"there is no topic b: see `lakestream topic list`", gone.stderr)
            again = run_cli("topic", "delete", "b", "--bootstrap", broker.address)
            self.assertEqual((again.returncode, again.stderr), (1, gone.stderr))
            broker.stop()
            broker.check()  # nothing of a deleted topic is a problem

    def test_says_what_is_wrong_outside(self):
        away = run_cli("topic", "list", "--bootstrap", f"127.0.0.1:{free_port()}")
        self.assertEqual(away.returncode, 1)
        self.assertIn(b"Connection refused; is a broker running there?", away.stderr)
        for file, why in (("/nowhere", b"No such file"), ("/", b"it is a folder")):
            done = run_cli("server", "--config", file)
            self.assertEqual(done.returncode, WRONG)
            self.assertIn(why, done.stderr)
        with tempfile.NamedTemporaryFile() as binary:
            binary.write(bytes(range(255, -1, -1)) * 20)
            binary.flush()
            done = run_cli("server", "--config", binary.name)
        self.assertEqual(done.returncode, WRONG)
        self.assertTrue(all(32 <= c < 127 or c == 10 for c in done.stderr), done.stderr)
        self.assertLess(len(done.stderr), 4000)

    def test_keys_and_json(self):
        with Broker() as broker:
            topic(broker, "create", "t", "--partitions", "8")
            rows = b"".join(b"key%d\tvalue%d\n" % (i % 10, i) for i in range(100))
            topic(broker, "produce", "t", "--keyed", input=rows)
            read = topic(broker, "consume", "t", "--keyed")
            self.assertEqual(sorted(read.splitlines()), sorted(rows.splitlines()))
            records = [json.loads(l) for l in
                       topic(broker, "consume", "t", "--format", "json").splitlines()]
            partitions = {}
            for record in records:
                partitions.setdefault(record["key"], set()).add(record["partition"])
            self.assertEqual({len(p) for p in partitions.values()}, {1})
            self.assertGreater(len(set.union(*partitions.values())), 1)
            broker.stop()

    def test_inspect(self):
        with Broker() as broker:
            topic(broker, "create", "t")
            topic(broker, "produce", "t", input=b"x\ny\n")
            broker.stop()
            broker.check()
            objects = [f for f in broker.data.rglob("wal/????/**/*") if f.is_file()]
            self.assertEqual(len(objects), 1)
            lines = [json.loads(l) for l in
                     run_cli("inspect", "wal", str(objects[0])).stdout.splitlines()]
            self.assertEqual([l["kind"] for l in lines], ["wal", "entry"])
            self.assertEqual(lines[1]["records"], 2)
            self.assertTrue(lines[1]["batches"][0]["crc_ok"])
            data = ("--data-dir", str(broker.data))
            index = [json.loads(l) for l in
                     run_cli("inspect", "index", str(lines[1]["log"]), *data).stdout.splitlines()]
            self.assertEqual([(i["begin"], i["end"]) for i in index], [(0, 2)])
            self.assertTrue(str(objects[0]).endswith(index[0]["object"]))
            meta = [json.loads(l) for l in
                    run_cli("inspect", "meta", "/lks/", *data).stdout.splitlines()]
            self.assertIn("/lks/cluster", [m["key"] for m in meta])

    def test_check_finds_damage(self):
        with Broker() as broker:
            topic(broker, "create", "t")
            for i in range(3):
                topic(broker, "produce", "t", input=b"value %d\n" % i)
            broker.stop()
            broker.check()
            objects = sorted(f for f in broker.data.rglob("wal/????/**/*") if f.is_file())
            self.assertEqual(len(objects), 3)
            data = ("--data-dir", str(broker.data))

            good = objects[0].read_bytes()
            objects[0].write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
            done = run_cli("check", *data)
            self.assertEqual(done.returncode, 1)
            self.assertIn(str(objects[0].name), done.stdout.decode())

            os.removexattr(objects[0], CHECKSUM)  # now only the section's CRC can tell
            done = run_cli("check", *data)
            self.assertEqual(done.returncode, 1)
            self.assertIn("wrong CRC", done.stdout.decode())
            objects[0].write_bytes(good)
            broker.check()

            stray = objects[0].with_name("00000000-0000-4000-8000-000000000000")
            stray.write_bytes(good)
            self.assertIn("note: orphan object", broker.check())

            objects[2].unlink()
            done = run_cli("check", *data)
            self.assertEqual(done.returncode, 1)
            self.assertIn(str(objects[2].name), done.stdout.decode())
            self.assertIn("1 problems", done.stdout.decode())

    def test_usage(self):
        self.assertEqual(run_cli().returncode, WRONG)
        self.assertEqual(run_cli("sing").returncode, WRONG)
        self.assertEqual(run_cli("topic", "create").returncode, WRONG)
        self.assertEqual(run_cli("inspect", "wal", "/").returncode, 1)
        done = run_cli("inspect", "wal", "/etc/passwd")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"/etc/passwd", done.stderr)
        self.assertEqual(run_cli("server", "--config", "/").returncode, WRONG)
        self.assertEqual(run_cli("--help").returncode, 0)
        beyond = "--offset=9223372036854775808"
        for wrong in ("--partition=-1", "--limit=-1", "--offset=-1", beyond):
            self.assertEqual(run_cli("table", "scan", "t", wrong).returncode, WRONG, wrong)
        wrong_from = ("--from=xyz", "--from=@xyz", "--from=-1", "--from=")
        for wrong in ("--partition=-1", "--count=-1", "--bootstrap=xyz", *wrong_from):
            self.assertEqual(run_cli("topic", "consume", "t", wrong).returncode, WRONG, wrong)
        self.assertEqual(run_cli("topic", "create", "t", "--config", "x").returncode, WRONG)
        self.assertEqual(run_cli("inspect", "index", "x").returncode, WRONG)
        for words, says in (
            ("topic list --foo", b"unknown flag --foo; see `lakestream topic list --help`"),
            ("topic list --bootsrap a", b"unknown flag --bootsrap; the nearest is --bootstrap"),
            ("version x", b'unexpected "x"; see `lakestream version --help`'),
            ("topic create", b"topic is required; see `lakestream topic create --help`"),
        ):
            done = run_cli(*words.split())
            said = b"lakestream: " + says + b"\n"
            self.assertEqual((done.returncode, done.stdout, done.stderr), (WRONG, b"", said))
        dev_help, server_help = (run_cli(c, "--help").stdout.decode() for c in ("dev", "server"))
        self.assertIn("--kafka-listen", dev_help)
        self.assertRegex(dev_help, r"true or\s+false \[true\]")
        self.assertIn("[5s]", dev_help)
        self.assertNotIn("[5s]", server_help.split("--table-commit-interval")[1].split("--")[0])
        self.assertRegex(run_cli("version").stdout, rb"^lakestream \d")
        nobody = run_cli("topic", "list", "--bootstrap", f"127.0.0.1:{free_port()}")
        self.assertEqual((nobody.returncode, nobody.stdout), (1, b""))

    def test_what_could_not_be_checked(self):
        data = ("--data-dir", "/nowhere")
        self.assertEqual(run_cli("check", *data).returncode, UNCHECKED)
        self.assertEqual(run_cli("table", "verify", "t", *data).returncode, UNCHECKED)
        with Broker() as broker:
            data = ("--data-dir", str(broker.data))
            for command in (("check",), ("table", "verify", "t")):
                done = run_cli(*command, *data)
                self.assertEqual(done.returncode, UNCHECKED)
                self.assertIn(f"(pid {broker.process.pid})", done.stderr.decode())
            broker.stop()
            self.assertEqual(run_cli("table", "verify", "t", *data).returncode, UNCHECKED)
            broker.check()

    def test_output_that_cannot_be_written(self):
        with Broker() as broker:
            topic(broker, "create", "t")
            topic(broker, "produce", "t", input=b"value\n")
            address = ("--bootstrap", broker.address)
            data = ("--data-dir", str(broker.data))
            until_row = time.monotonic() + 60
            while b"value" not in run_cli("table", "scan", "t", *data).stdout:
                self.assertLess(time.monotonic(), until_row)
                time.sleep(0.2)
            commands = [
                ("version",), ("--help",), ("topic", "create", "--help"), ("settings",),
                ("topic", "list", *address), ("topic", "describe", "t", *address),
                ("topic", "consume", "t", *address), ("table", "list", *data),
                ("table", "describe", "t", *data), ("table", "scan", "t", *data),
            ]  # fmt: skip
            for command in commands:
                for full in (">/dev/full", ">&-"):
                    self.assertEqual(shell(full, *command), (1, True), (full, command))
                self.assertEqual(shell("2>/dev/full", *command)[0], 0, command)
            broker.stop()
            for command in (("check", *data), ("inspect", "meta", *data)):
                self.assertEqual(shell(">/dev/full", *command), (1, True), command)
        for full in ("2>/dev/full", "2>&-", "2> >(true)"):
            self.assertEqual(shell(full, "topic", "list", "--foo")[0], WRONG)
            self.assertEqual(shell(full, "server", "--config", "/nowhere")[0], WRONG)
            self.assertEqual(shell(full, "inspect", "wal", "/nowhere")[0], 1)

    def test_a_node_without_standard_streams_writes_its_log_into_no_file(self):
        with tempfile.TemporaryDirectory() as folder:
            port = free_port()
            script = (
                '"$0" dev --data-dir "$1" --kafka-listen "$2" --http-listen "$3" '
                "<&- >&- 2>&- & echo $!; wait"
            )
            data = Path(folder, "data")
            shell_process = subprocess.Popen(
                ["bash", "-c", script, BINARY, str(data), f"127.0.0.1:{port}",
                 f"127.0.0.1:{free_port()}"], stdout=subprocess.PIPE,
            )  # fmt: skip
            pid = int(shell_process.stdout.readline())
            address = ("--bootstrap", f"127.0.0.1:{port}")
            deadline = time.monotonic() + 60
            while run_cli("topic", "list", *address).returncode != 0:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.1)
            for stream in range(3):
                self.assertEqual(os.readlink(f"/proc/{pid}/fd/{stream}"), "/dev/null")
            os.kill(pid, signal.SIGTERM)
            shell_process.communicate(timeout=60)
            self.assertEqual(run_cli("check", "--data-dir", str(data)).returncode, 0)

    def test_bench(self):
        with Broker() as broker:
            pid = str(broker.process.pid)
            for operation in ("produce", "fetch"):
                done = run_cli(
                    "bench", operation, "--bootstrap", broker.address, "--bytes", "20000000",
                    "--batch-bytes", "100000", "--server-pid", pid, "--json",
                )  # fmt: skip
                self.assertEqual(done.returncode, 0, done.stderr)
                report = json.loads(done.stdout)
                self.assertGreaterEqual(report["bytes"], 20_000_000)
                self.assertGreater(report["records"], 15_000)
                self.assertGreater(report["latency_ms"]["p99"], 0)
                self.assertGreaterEqual(report["server"]["cpu_seconds_per_gib"], 0)
                self.assertGreater(report["server"]["peak_rss_mib"], 1)
            broker.stop()
            broker.check()


if __name__ == "__main__":
    unittest.main()
