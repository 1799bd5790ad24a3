# SPDX-License-Identifier: Apache-2.0
"""What a running broker says of itself, and what is made from it: docs/metrics.md, the alert rules
and the dashboard name metrics, labels and values that are there."""

import json
import os
import re
import subprocess
import time
import unittest
from pathlib import Path
from typing import Iterator

from broker import INTEROP, Broker, run_cli

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "deploy/prometheus/alerts.yml"
DASHBOARD = ROOT / "deploy/grafana/lakestream.json"
OF_PROMETHEUS = {"up"}  # it makes this one itself
TARGET = {"job", "instance"}  # labels that scraping adds
FUNCTIONS = {"and", "by", "changes", "histogram_quantile", "increase", "max", "on", "or",
             "predict_linear", "rate", "sum", "time", "topk"}  # fmt: skip
# What happens only on bad days, or when there is more than this test does.
MAY_BE_EMPTY = {"lakestream_compact_last_object_age_seconds"}

Samples = dict[str, list[dict[str, str]]]  # labels of each series, by name


def read_samples(text: str) -> Samples:
    samples: Samples = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            match = re.fullmatch(r"([a-z_]+)(?:\{(.*)\})? (\S+)", line)
            assert match, line
            float(match[3])
            labels = dict(re.findall(r'([a-z_]+)="((?:[^"\\]|\\.)*)"', match[2] or ""))
            samples.setdefault(match[1], []).append(labels)
    return samples


def read_types(text: str) -> dict[str, str]:
    return dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))


def rule_expressions() -> Iterator[str]:
    """`expr:` of each rule; a folded one goes on in lines that are indented further."""
    for match in re.finditer(r"^( +)expr: (?:>-\n((?:\1  .*\n)+)|(.*)\n)", RULES.read_text(), re.M):
        yield match[2] or match[3]


def dashboard_expressions() -> Iterator[str]:
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel.get("targets", []):
            yield target["expr"]


def promtool(*arguments: str, input: str = "") -> str:
    done = subprocess.run(
        [INTEROP / "promtool", *arguments], input=input, capture_output=True, text=True,
        cwd=RULES.parent,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Metrics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        broker = Broker("--table-commit-interval", "300ms")
        cls.enterClassContext(broker)
        cls.broker = broker
        records = b"".join(b"%d\n" % i for i in range(1000))
        kcat = ["kcat", "-b", broker.address, "-t", "seen"]
        subprocess.run([*kcat, "-P"], input=records, check=True, timeout=60)
        out = subprocess.run(
            [*kcat, "-C", "-o", "beginning", "-e", "-q"],
            check=True,
            capture_output=True,
            timeout=60,
        )
        assert out.stdout.count(b"\n") == 1000
        again = run_cli("topic", "create", "seen", "--bootstrap", broker.address)
        assert b"already" in again.stderr.lower(), again  # an error, for its metric
        deadline = time.monotonic() + 60
        while not cls.is_in_its_table():
            assert time.monotonic() < deadline, cls.status()
            time.sleep(0.1)
        cls.text = broker.get("/metrics")[1]
        cls.samples = read_samples(cls.text)

    @classmethod
    def is_in_its_table(cls) -> bool:
        """All of it, and the compactor's status, which is up to a second old, says so."""
        if "lakestream_table_rows_total 1000\n" not in cls.broker.get("/metrics")[1]:
            return False
        status = cls.status()
        lags = [table["lag_records"] for table in status["tables"]]
        return lags == [0] and status["compaction"]["backlog_records"] == 1000

    @classmethod
    def status(cls) -> dict:
        code, body = cls.broker.get("/v1/status")
        assert code == 200, body
        return json.loads(body)

    def value(self, name: str, **labels: str) -> float:
        """Of one series of a new scrape."""
        values = []
        for line in self.broker.get("/metrics")[1].splitlines():
            if line.startswith((name + "{", name + " ")):
                if all(f'{label}="{value}"' in line for label, value in labels.items()):
                    values.append(float(line.rsplit(" ", 1)[1]))
        self.assertEqual(len(values), 1, f"{name} {labels}")
        return values[0]

    def check_expression(self, expression: str) -> None:
        bare = re.sub(r'"[^"]*"', '""', expression)
        for name, matchers in re.findall(r"([a-z_]+)(?:\{(.*?)\})?", bare):
            if not name.startswith(("lakestream_", "process_")):
                continue
            self.assertTrue(
                name in self.samples or name in MAY_BE_EMPTY, f"no {name}: {expression}"
            )
        for name, matchers in re.findall(r'([a-z_]+)\{((?:[^"}]|"[^"]*")*)\}', expression):
            if name in OF_PROMETHEUS:
                continue
            for label, operator, value in re.findall(r'([a-z_]+)(=~|=)"([^"]*)"', matchers):
                if label in TARGET:
                    continue
                found = {series.get(label) for series in self.samples[name]}
                for one in value.split("|") if operator == "=~" else [value]:
                    self.assertIn(one, found, f"{name}{{{label}}}: {expression}")
        # Names of labels: those in `by (…)` are labels of a metric in the expression.
        names = [name for name in re.findall(r"(?:lakestream|process)_[a-z_]+", bare)]
        labels = {
            label for name in names for series in self.samples.get(name, []) for label in series
        }
        for group in re.findall(r"by \(([^)]*)\)", bare):
            for label in group.split(", "):
                self.assertIn(label, labels | TARGET, expression)
        # What is left is something that Prometheus knows.
        words = set(
            re.findall(r"\b[a-z_]+\b", re.sub(r"\{[^}]*\}|by \([^)]*\)|\$\w+|\[[^]]*\]", "", bare))
        )
        self.assertEqual(words - set(names) - FUNCTIONS - OF_PROMETHEUS, set(), expression)

    def test_rules_and_dashboard_name_what_is_there(self):
        rules, panels = list(rule_expressions()), list(dashboard_expressions())
        self.assertGreater(len(rules), 15)
        self.assertEqual(len(rules), RULES.read_text().count("- alert:"))
        self.assertGreater(len(panels), 40)
        for expression in rules + panels:
            self.check_expression(expression)

    def test_a_wrong_name_is_found(self):
        for wrong in (
            "lakestream_wal_object_total > 0",
            'lakestream_tables{state="closed"} > 0',
            "sum by (topics) (lakestream_table_lag_seconds)",
            "rates(lakestream_wal_objects_total[5m])",
        ):
            with self.subTest(wrong), self.assertRaises(AssertionError):
                self.check_expression(wrong)

    def test_rules_fire_when_they_should(self):
        promtool("check", "rules", "alerts.yml")
        promtool("test", "rules", "alerts_test.yml")

    def test_prometheus_finds_nothing_to_criticise(self):
        promtool("check", "metrics", input=self.text)

    def test_document(self):
        made = run_cli("metrics")
        self.assertEqual(made.returncode, 0, made.stderr)
        stored = (ROOT / "docs/metrics.md").read_text()
        self.assertEqual(
            stored, made.stdout.decode(), "stale: lakestream metrics > docs/metrics.md"
        )
        documented = dict(re.findall(r"^\| `([a-z_]+)` \| (\w+) \|", stored, re.M))
        self.assertEqual(documented, read_types(self.text))
        for name, kind, labels in re.findall(
            r"^\| `(\w+)` \| (\w+) \| ([a-z, ]*) \|", stored, re.M
        ):
            of = f"{name}_count" if kind == "histogram" else name
            for series in self.samples.get(of, []):
                self.assertEqual(sorted(series), labels.split(", ") if labels else [], name)

    def test_every_alert_is_explained(self):
        alerts = re.findall(r"- alert: (\w+)", RULES.read_text())
        text = (ROOT / "docs/operations.md").read_text()
        explained = re.findall(r"^\| `(Lakestream\w+)` \|", text, re.M)
        self.assertEqual(explained, alerts)

    def test_numbers_are_those_of_what_happened(self):
        self.assertGreaterEqual(self.value("lakestream_kafka_requests_total", api="Produce"), 1)
        self.assertEqual(self.value("lakestream_table_rows_total"), 1000)
        self.assertEqual(self.value("lakestream_table_lag_records", topic="seen"), 0)
        self.assertEqual(self.value("lakestream_table_lag_seconds", topic="seen"), 0)
        self.assertEqual(self.value("lakestream_tables", state="open"), 1)
        self.assertEqual(self.value("lakestream_compact_backlog_records"), 1000)
        self.assertGreater(self.value("lakestream_compact_backlog_bytes"), 1000)
        self.assertGreater(self.value("lakestream_compact_backlog_seconds"), 0)
        self.assertEqual(self.value("lakestream_wal_oldest_pending_seconds"), 0)
        self.assertEqual(self.value("lakestream_node_ready"), 1)
        objects = self.value("lakestream_wal_objects_total")
        causes = [
            self.value("lakestream_wal_flushes_total", cause=cause)
            for cause in ("idle", "linger", "slot", "full")
        ]
        self.assertEqual(sum(causes), objects)
        self.assertEqual(self.value("lakestream_wal_object_size_bytes_count"), objects)
        started = self.value("process_start_time_seconds")
        self.assertLess(abs(time.time() - started), 600)
        self.assertGreater(self.value("process_resident_memory_bytes"), 10 << 20)
        pid = self.broker.process.pid
        self.assertLess(
            abs(self.value("process_open_fds") - len(os.listdir(f"/proc/{pid}/fd"))), 10
        )

        error = {"api": "CreateTopics", "error": "TOPIC_ALREADY_EXISTS"}
        self.assertEqual(self.value("lakestream_kafka_errors_total", **error), 1)

    def test_status(self):
        status = self.status()
        self.assertTrue(status["ready"])
        checks = [check["name"] for check in status["checks"]]
        self.assertEqual(checks, ["node", "metadata", "storage", "disk"])
        version = run_cli("version").stdout.decode().split()[1]
        self.assertEqual(status["node"]["version"], version)
        self.assertEqual(status["node"]["kafka"], self.broker.address)
        self.assertEqual((status["topics"], status["partitions"]), (1, 1))
        (table,) = status["tables"]
        self.assertEqual(
            (table["topic"], table["state"], table["lag_records"]), ("seen", "open", 0)
        )
        self.assertEqual(status["compaction"]["backlog_records"], 1000)
        self.assertEqual({disk["of"] for disk in status["disks"]}, {"storage", "metadata"})
        self.assertGreater(status["node"]["uptime_seconds"], 0)


if __name__ == "__main__":
    unittest.main()
