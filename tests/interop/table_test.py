# SPDX-License-Identifier: Apache-2.0
"""`lakestream table`, `inspect compacted` and `check`, over whole and damaged files of tables and
compacted objects. Rows are damaged by pyarrow, which writes the data file again."""

import base64
import json
import os
import shutil
import tempfile
import time
import unittest
from pathlib import Path
from typing import Callable

import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import Producer

from broker import Broker, run_cli

QUICK = ("--table-commit-interval", "300ms", "--compact-age", "1s")
ROWS = 600  # in 2 partitions, in 3 portions
TOPIC = "orders"
VALUES = (None, b"", b"\0\xff value", b"text")


def record(number: int) -> dict:
    return {
        "partition": number % 2,
        "offset": number // 2,
        "key": b"key %d" % number if number % 3 else None,
        "value": VALUES[number // 2 % 4],
        "headers": [("h", b"\x80"), ("h", None)] if number % 5 == 0 else [],
    }


def as_bytes(line: dict, name: str) -> bytes | None:
    if f"{name}_base64" in line:
        return base64.b64decode(line[f"{name}_base64"])
    return None if line[name] is None else line[name].encode()


def produce(broker: Broker, numbers: range) -> None:
    producer = Producer({"bootstrap.servers": broker.address, "log_level": 0, "linger.ms": 5})
    for number in numbers:
        one = record(number)
        producer.produce(
            TOPIC, one["value"], one["key"], one["partition"], headers=one["headers"]
        )
    assert producer.flush(60) == 0


def cli(*arguments: str, code: int = 0) -> tuple[str, str]:
    done = run_cli(*arguments, timeout=300)
    out, err = done.stdout.decode(), done.stderr.decode()
    assert done.returncode == code, f"{arguments} ended with {done.returncode}:\n{out}{err}"
    return out, err


def wait_for_rows(data: Path, rows: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        done = run_cli("table", "list", "--data-dir", str(data), "--format", "json")
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        if done.returncode == 0 and sum(line["rows"] for line in lines) == rows:
            return
        time.sleep(0.2)
    raise AssertionError(f"no {rows} rows in the table after 60 s")


def pairs_of(data: Path) -> list[Path]:
    return list(data.glob("compacted/default/*/*.parquet"))


def wait_for_pairs(data: Path, count: int = 2) -> None:
    deadline = time.monotonic() + 60
    while len(pairs_of(data)) < count:
        assert time.monotonic() < deadline, "nothing was compacted"
        time.sleep(0.2)


def forget_checksum(file: Path) -> None:
    """As if the file had been written so."""
    os.removexattr(file, "user.lakestream.crc32c")


def cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size * 2 // 3])


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0x40
    file.write_bytes(bytes(content))


def flip_unseen(file: Path) -> None:
    flip(file)
    forget_checksum(file)


def cut_short_unseen(file: Path) -> None:
    cut_short(file)
    forget_checksum(file)


DAMAGES = (Path.unlink, cut_short, flip, cut_short_unseen)


class Tables(unittest.TestCase):
    """One stopped node's folder, of which each test has a copy."""

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="lakestream-table-")
        cls.original = Path(cls.temporary.name, "original")
        with Broker(*QUICK) as broker:
            cli("topic", "create", TOPIC, "--partitions", "2", "--bootstrap", broker.address)
            for i in range(3):
                produce(broker, range(ROWS * i // 3, ROWS * (i + 1) // 3))
                wait_for_rows(broker.data, ROWS * (i + 1) // 3)  # beside the running node
            wait_for_pairs(broker.data)
            broker.stop()
            shutil.copytree(broker.data, cls.original)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def setUp(self):
        self.data = Path(self.temporary.name, self._testMethodName)
        shutil.copytree(self.original, self.data)
        self.table = self.data / "tables/default" / TOPIC

    def tearDown(self):
        shutil.rmtree(self.data)

    def fresh(self) -> None:
        shutil.rmtree(self.data)
        shutil.copytree(self.original, self.data)

    def run_table(self, command: str, *more: str, code: int = 0) -> tuple[str, str]:
        topic = () if command == "list" else (TOPIC,)
        return cli("table", command, *topic, "--data-dir", str(self.data), *more, code=code)

    def check(self, code: int) -> str:
        return "".join(cli("check", "--data-dir", str(self.data), code=code))

    def data_files(self) -> list[Path]:
        """In the order of the offsets of partition 0."""
        def first(file: Path) -> int:
            return pq.read_table(file, columns=["kafka_offset"]).column(0)[0].as_py()

        return sorted(self.table.glob("data/*.parquet"), key=first)

    def test_clean(self):
        lines = [json.loads(l) for l in self.run_table("list", "--format", "json")[0].splitlines()]
        self.assertEqual([(l["namespace"], l["topic"], l["rows"]) for l in lines],
                         [("default", TOPIC, ROWS)])
        self.assertGreaterEqual(lines[0]["files"], 3)
        self.assertIn(f"{ROWS} rows", self.run_table("list")[0])
        described = json.loads(self.run_table("describe", "--format", "json")[0])
        self.assertEqual([f["id"] for f in described["schema"]], [1, 2, 3, 4, 5, 6])
        self.assertEqual(list(described["next"].values()), [ROWS // 2] * 2)
        self.assertEqual(sum(f["rows"] for f in described["data"]), ROWS)
        self.assertIn("4 kafka_key binary", self.run_table("describe")[0])
        out, _ = self.run_table("verify")
        self.assertIn("partition 1: offsets 0 to 300, 300 rows", out)
        self.assertIn("equal to the topic", out)
        scratch = self.data / "scratch/files"
        scratch.mkdir(parents=True, exist_ok=True)
        (scratch / "kept").write_text("")
        self.assertIn(" 1 tables, 0 problems", self.check(0))
        self.assertTrue((scratch / "kept").exists())
        shutil.rmtree(self.data / "scratch")
        self.check(0)
        self.run_table("verify")
        self.assertFalse((self.data / "scratch").exists())

    def test_scan(self):
        out, _ = self.run_table("scan", "--format", "json")
        found = [json.loads(line) for line in out.splitlines()]
        rows = [
            {
                "partition": line["partition"],
                "offset": line["offset"],
                "key": as_bytes(line, "key"),
                "value": as_bytes(line, "value"),
                "headers": [(h["key"], as_bytes(h, "value")) for h in line.get("headers", [])],
            }
            for line in found
        ]
        place = lambda row: (row["partition"], row["offset"])
        self.assertEqual(sorted(rows, key=place), sorted(map(record, range(ROWS)), key=place))
        part = ("--partition", "1", "--offset", "290", "--limit", "4", "--format", "json")
        some = [json.loads(line) for line in self.run_table("scan", *part)[0].splitlines()]
        self.assertEqual([place(row) for row in some], [(1, 290), (1, 291), (1, 292), (1, 293)])
        text, _ = self.run_table("scan", "--partition", "0", "--limit", "2")
        self.assertEqual([line.split("\t")[3:5] for line in text.splitlines()],
                         [["null", "null"], ['"key 2"', '""']])

    def rewrite(self, file: Path, change: Callable[[list], list]) -> None:
        table = pq.read_table(file)
        changed = pa.Table.from_pylist(change(table.to_pylist()), table.schema)
        pq.write_table(changed, file, compression="zstd")
        forget_checksum(file)

    def verify_finds(self, change: Callable[[list], list], *wanted: str) -> None:
        self.fresh()
        file = self.data_files()[1]
        self.rewrite(file, change)
        out, _ = self.run_table("verify", code=1)
        for text in wanted:
            self.assertIn(text.format(file=f"data/{file.name}"), out)
        problems = [line for line in out.splitlines() if not line.startswith("note:")]
        self.assertEqual(len(problems), len(wanted), out)
        self.assertIn("move tables/default/orders", out)

    def test_verify_finds_changed_missing_doubled_and_swapped_rows(self):
        rows = pq.read_table(self.data_files()[1]).to_pylist()
        at = next(i for i, r in enumerate(rows) if r["kafka_partition"] == 1) + 7
        offset = rows[at]["kafka_offset"]

        def changed(column, value):
            return lambda rows: rows[:at] + [{**rows[at], column: value}] + rows[at + 1:]

        def swapped(rows):
            for name in ("kafka_key", "value", "kafka_headers", "kafka_timestamp"):
                rows[at][name], rows[at + 2][name] = rows[at + 2][name], rows[at][name]
            return rows

        one = f"partition 1: offset {offset} is "
        for column, value in (("value", b"other"), ("kafka_key", b""),
                              ("kafka_headers", [{"key": "new", "value": None}])):
            self.verify_finds(changed(column, value), one + "not what the topic has, in ")
        self.verify_finds(lambda rows: rows[:at] + rows[at + 1:], one + "missing in the table")
        self.verify_finds(
            lambda rows: rows[:at] + rows[at + 20:],
            f"partition 1: offsets {offset} to {offset + 19} (20 rows) are missing in the table",
        )
        self.verify_finds(
            lambda rows: rows[:at + 1] + rows[at:], one + "there 2 times, in "
        )
        self.verify_finds(
            swapped,
            f"partition 1: offset {offset} has the row of offset {offset + 2}, in ",
            f"partition 1: offset {offset + 2} has the row of offset {offset}, in ",
        )
        self.verify_finds(
            changed("kafka_offset", 10_000),
            "partition 1: 1 rows at offsets 10000 to 10000 in ",
            one + "missing in the table",
        )

    def test_verify_finds_rows_in_another_file(self):
        first, second = self.data_files()[:2]
        shutil.copy(first, second)
        forget_checksum(second)
        out, _ = self.run_table("verify", code=1)
        self.assertIn("there 2 times, in ", out)
        self.assertIn("missing in the table", out)
        self.assertIn(second.name, self.check(1))

    def test_verify_counts_what_is_not_committed_yet_as_lag(self):
        """Rows that only the topic has are no difference."""
        with Broker("--table-commit-interval", "1h", "--compact-age", "1h") as broker:
            shutil.rmtree(broker.data, ignore_errors=True)
            broker.kill()
            shutil.rmtree(broker.data, ignore_errors=True)
            shutil.copytree(self.original, broker.data)
            broker.start()
            produce(broker, range(ROWS, ROWS + 20))
            broker.kill()
            out, _ = cli("table", "verify", TOPIC, "--data-dir", str(broker.data))
            self.assertIn("10 offsets behind the topic", out)
            broker.start()
            broker.stop()

    def test_damaged_data_files(self):
        for damage in DAMAGES:
            with self.subTest(damage.__name__):
                self.fresh()
                file = self.data_files()[1]
                damage(file)
                for command in ("scan", "verify"):
                    text = "".join(self.run_table(command, code=1))
                    self.assertIn(file.name, text)
                    self.assertIn("restore the file from a copy", text)
                self.assertIn("missing in the table", text)
                text = self.check(1)
                self.assertIn(file.name, text)
                self.assertIn("restore the file from a copy", text)
                self.run_table("list")

    def test_damaged_manifests_and_metadata(self):
        metadata = self.table / "metadata"
        newest = f"v{(metadata / 'version-hint.text').read_text()}.metadata.json"
        described = json.loads((metadata / newest).read_text())
        snapshots = {s["snapshot-id"]: s for s in described["snapshots"]}
        listed = snapshots[described["current-snapshot-id"]]["manifest-list"].rsplit("/", 1)[1]
        manifest = next(f.name for f in metadata.glob("*-m0.avro"))
        for name in (newest, listed, manifest):
            for damage in DAMAGES:
                with self.subTest(f"{name} {damage.__name__}"):
                    self.fresh()
                    damage(metadata / name)
                    for command in ("list", "describe", "scan", "verify"):
                        text = "".join(self.run_table(command, code=1))
                        self.assertIn(name, text)
                        self.assertIn("restore the file from a copy", text)
                    self.assertIn(name, self.check(1))

    def test_a_lost_version_and_a_damaged_hint(self):
        (self.table / "metadata/v1.metadata.json").unlink()
        self.assertIn("v1.metadata.json", self.check(1))
        self.run_table("scan")
        self.fresh()
        hint = self.table / "metadata/version-hint.text"
        hint.write_text("seven")
        forget_checksum(hint)
        self.assertIn("write that number into it", self.run_table("scan", code=1)[1])
        hint.unlink()
        self.assertEqual(len(self.run_table("scan")[0].splitlines()), ROWS)

    def test_a_table_is_made_again_when_it_was_moved_away(self):
        """What the error messages say."""
        shutil.rmtree(self.table)
        with Broker(*QUICK) as broker:
            broker.kill()
            shutil.rmtree(broker.data)
            shutil.copytree(self.data, broker.data)
            broker.start()
            wait_for_rows(broker.data, ROWS)
            broker.stop()
            cli("table", "verify", TOPIC, "--data-dir", str(broker.data))
            broker.check()

    def test_a_topic_made_again_takes_its_table_over_by_command(self):
        with Broker(*QUICK) as broker:
            broker.kill()
            shutil.rmtree(broker.data)
            shutil.copytree(self.data, broker.data)
            broker.start()
            at = ("--bootstrap", broker.address)
            take_over = ("table", "take-over", TOPIC, "--data-dir", str(broker.data), *at)
            out, _ = cli(*take_over)
            self.assertIn("belongs to this topic already", out)
            cli("topic", "delete", TOPIC, *at)
            _, error = cli(*take_over, code=1)
            self.assertIn("there is no topic orders", error)
            cli("topic", "create", TOPIC, "--partitions", "2", *at)
            pairs = len(pairs_of(broker.data))
            produce(broker, range(30))
            wait_for_pairs(broker.data, pairs + 2)  # the logs do not wait for the table
            wait_for_rows(broker.data, ROWS)
            self.assertIn("`lakestream table take-over default/orders`", broker.log.read_text())
            out, _ = cli(*take_over)
            self.assertIn("the rows before are in snapshot", out)
            wait_for_rows(broker.data, 30)
            broker.stop()
            cli("table", "verify", TOPIC, "--data-dir", str(broker.data))
            broker.check()

    def test_suspended_tables_are_told(self):
        """By everybody who looks at one, as the node would say it."""
        def change(what: Callable[[dict], None]) -> None:
            self.fresh()
            folder = self.table / "metadata"
            newest = max(int(f.name[1:].split(".")[0]) for f in folder.glob("v*.metadata.json"))
            metadata = json.loads((folder / f"v{newest}.metadata.json").read_text())
            what(metadata)
            (folder / f"v{newest + 1}.metadata.json").write_text(json.dumps(metadata))

        def tag_back(metadata: dict) -> None:
            first = metadata["snapshots"][0]["snapshot-id"]
            metadata["refs"]["lakestream"]["snapshot-id"] = first

        other = "11111111-2222-3333-4444-555555555555"
        tag_gone = "its tag 'lakestream' is gone"  # then nobody knows what to compare with
        for why, what in (
            ("its position was made for table", lambda m: m.update({"table-uuid": other})),
            ("its format version is 3", lambda m: m.update({"format-version": 3})),
            ("lacks its current schema", lambda m: m.update({"schemas": []})),
            (tag_gone, lambda m: m["refs"].pop("lakestream")),
            ("its tag 'lakestream' was moved to snapshot", tag_back),
        ):
            with self.subTest(why):
                change(what)
                code = 2 if why == tag_gone else 1
                for text in (
                    self.check(1), "".join(self.run_table("verify", code=code)),
                    self.run_table("list")[0], self.run_table("describe")[0],
                ):  # fmt: skip
                    self.assertIn("suspended", text)
                    self.assertIn(why, text)
                [line] = self.run_table("list", "--format", "json")[0].splitlines()
                self.assertIn(why, json.loads(line)["suspended"])
        self.fresh()
        self.assertNotIn("suspended", self.run_table("list")[0])

    def test_a_table_behind_a_link_is_checked(self):
        elsewhere = self.data / "elsewhere"
        self.table.rename(elsewhere)
        self.table.symlink_to(elsewhere)
        self.assertIn("1 tables", self.check(0))
        self.data_files()[0].unlink()
        self.assertIn("missing", self.check(1))

    def test_inspect_compacted(self):
        found = 0
        for file in sorted(self.data.glob("compacted/default/*/*.parquet")):
            lines = [json.loads(l) for l in cli("inspect", "compacted", str(file))[0].splitlines()]
            head, entries = lines[0], lines[1:]
            self.assertEqual(head["kind"], "compacted")
            self.assertEqual(head["entries"], len(entries))
            self.assertEqual(entries[0]["begin"], head["begin"])
            self.assertEqual(entries[-1]["end"], head["end"])
            self.assertTrue(all(b["crc_ok"] for e in entries for b in e["batches"]))
            self.assertEqual(
                head["footer"]["lakestream.offsets"], f"{head['begin']}-{head['end']}"
            )
            found += head["records"]
            index = file.with_suffix(".index")
            self.assertEqual(cli("inspect", "compacted", str(index)),
                             cli("inspect", "compacted", str(file)))
        self.assertEqual(found, ROWS)
        _, error = cli("inspect", "compacted", str(self.data / "wal"), code=1)
        self.assertIn("a .parquet or .index file is wanted", error)

    def test_damaged_compacted_pairs(self):
        for ending in (".parquet", ".index"):
            for damage in (*DAMAGES, flip_unseen):
                with self.subTest(f"{ending} {damage.__name__}"):
                    self.fresh()
                    file = sorted(self.data.glob(f"compacted/default/*/*{ending}"))[0]
                    damage(file)
                    text = self.check(1)
                    self.assertIn(file.stem, text)
                    self.assertIn("restore it from a copy", text)
                    self.assertIn("cannot be read until then", text)
                    _, error = cli("inspect", "compacted", str(file), code=1)
                    self.assertIn(file.stem, error)
                    self.assertIn("from a copy", error)
                    out, _ = self.run_table("verify", code=1)
                    self.assertIn("its log cannot be read from offset", out)
                    self.assertIn(file.stem, out)
                    self.assertIn("keep the table", out)

    def test_check_finds_the_pair_of_another_log(self):
        pairs = sorted(self.data.glob("compacted/default/*/*.parquet"))
        for suffix in (".parquet", ".index"):
            a, b = (pair.with_suffix(suffix) for pair in pairs[:2])
            content = a.read_bytes(), b.read_bytes()
            for file, other in ((a, content[1]), (b, content[0])):
                file.write_bytes(other)
                forget_checksum(file)
        text = self.check(1)
        self.assertIn("holds log ", text)
        self.assertIn(pairs[0].name, text)
        self.assertIn(pairs[1].name, text)

    def test_wrong_usage(self):
        cli("table", "scan", code=2)
        cli("table", "verify", TOPIC, "--limit", "1", code=2)
        cli("table", "scan", TOPIC, "--format", "xml", code=2)
        _, error = cli("table", "list", "--data-dir", "/nowhere", code=1)
        self.assertIn("/nowhere/tables", error)
        for command, code in (("describe", 1), ("scan", 1), ("verify", 2)):
            cli("table", command, "../x", "--data-dir", str(self.data), code=code)
            _, error = cli("table", command, "none", "--data-dir", str(self.data), code=code)
            self.assertIn("there is no table default/none", error)


if __name__ == "__main__":
    unittest.main()
