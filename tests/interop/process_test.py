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
            objects = [f for f in broker.data.rglob("wal/????/**/*") if f.is_file()
                       and f.suffix != ".crc32c"]
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
            objects = sorted(f for f in broker.data.rglob("wal/????/**/*") if f.is_file()
                             and f.suffix != ".crc32c")
            self.assertEqual(len(objects), 3)
            data = ("--data-dir", str(broker.data))

            good = objects[0].read_bytes()
            objects[0].write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
            done = run_cli("check", *data)
            self.assertEqual(done.returncode, 1)
            self.assertIn(str(objects[0].name), done.stdout.decode())

            Path(str(objects[0]) + ".crc32c").unlink()  # now only the section's CRC can tell
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
        self.assertEqual(run_cli("check", "--data-dir", "/nowhere").returncode, 1)
        self.assertEqual(run_cli("inspect", "wal", "/").returncode, 1)
        self.assertEqual(run_cli("server", "--config", "/").returncode, WRONG)
        self.assertEqual(run_cli("--help").returncode, 0)
        beyond = "--offset=9223372036854775808"
        for wrong in ("--partition=-1", "--limit=-1", "--offset=-1", beyond):
            self.assertEqual(run_cli("table", "scan", "t", wrong).returncode, WRONG, wrong)
        for wrong in ("--partition=-1", "--count=-1"):
            self.assertEqual(run_cli("topic", "consume", "t", wrong).returncode, WRONG, wrong)
        dev_help, server_help = (run_cli(c, "--help").stdout.decode() for c in ("dev", "server"))
        self.assertIn("--kafka-listen", dev_help)
        self.assertRegex(dev_help, r"true or\s+false \[true\]")
        self.assertIn("[5s]", dev_help)
        self.assertNotIn("[5s]", server_help.split("--table-commit-interval")[1].split("--")[0])
        self.assertRegex(run_cli("version").stdout, rb"^lakestream \d")
        nobody = run_cli("topic", "list", "--bootstrap", f"127.0.0.1:{free_port()}")
        self.assertEqual((nobody.returncode, nobody.stdout), (1, b""))

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
