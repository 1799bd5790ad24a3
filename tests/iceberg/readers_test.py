#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""DuckDB and pyiceberg read tables that we made, by their path, and find exactly the rows.

The Parquet files are pyarrow's, so that what is tested is our metadata. LKS_MAKE_TABLE is the
program of make_table.cc.
"""

import datetime
import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.table import StaticTable

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools/demo"))
from sql import connect

FOLDER = "tables/default/orders"


def make_rows():
    """Two logs of 300 and 200 records; null, empty and binary values told apart."""
    values = [None, b"", b"\0\xff value", b"v" * 40]
    headers = [[], [("h", None)], [("h", b""), ("\u00e9", b"\x80"), ("h", b"again")]]
    for partition, count in ((0, 300), (1, 200)):
        for offset in range(count):
            yield {
                "kafka_partition": partition,
                "kafka_offset": offset,
                "kafka_timestamp": 1_790_000_000_000_000 + offset * 1_000 + partition,
                "kafka_key": values[(offset + 1) % 4],
                "value": values[offset % 4],
                "kafka_headers": [{"key": k, "value": v} for k, v in headers[offset % 3]],
            }


def schema():
    def column(name, type_, field_id, nullable=False):
        return pa.field(name, type_, nullable, {"PARQUET:field_id": str(field_id)})

    header = pa.struct([column("key", pa.string(), 8), column("value", pa.binary(), 9, True)])
    return pa.schema(
        [
            column("kafka_partition", pa.int32(), 1),
            column("kafka_offset", pa.int64(), 2),
            column("kafka_timestamp", pa.timestamp("us", "UTC"), 3),
            column("kafka_key", pa.binary(), 4, True),
            column("value", pa.binary(), 5, True),
            column("kafka_headers", pa.list_(column("element", header, 7)), 6),
        ]
    )


def write_file(root: Path, name: str, rows: list) -> dict:
    """Store the rows; what a manifest says about the file."""
    path = root / FOLDER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema()), path, compression="zstd")
    group = pq.ParquetFile(path).metadata.row_group(0)
    columns = {}
    for place, field_id in enumerate((1, 2, 3, 4, 5, 8, 9)):
        chunk = group.column(place)
        columns[field_id] = {
            "size": chunk.total_compressed_size,
            "values": chunk.num_values,
            "nulls": chunk.statistics.null_count if chunk.statistics else 0,
        }
    bounded = ((1, "partition", "<i"), (2, "offset", "<q"), (3, "timestamp", "<q"))
    for field_id, column, form in bounded:
        values = [row[f"kafka_{column}"] for row in rows]
        columns[field_id]["lower"] = struct.pack(form, min(values)).hex()
        columns[field_id]["upper"] = struct.pack(form, max(values)).hex()
    ranges = {}
    for row in rows:
        first, _ = ranges.get(10 + row["kafka_partition"], (row["kafka_offset"], 0))
        ranges[10 + row["kafka_partition"]] = (first, row["kafka_offset"] + 1)
    return {
        "name": name,
        "bytes": path.stat().st_size,
        "rows": len(rows),
        "ranges": ranges,
        "columns": columns,
        "split_offsets": [4],
    }


def in_order(rows):
    return sorted(rows, key=lambda row: (row["kafka_partition"], row["kafka_offset"]))


def check_equal(reader: str, found: list, wanted: list):
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    microsecond = datetime.timedelta(microseconds=1)
    plain = []
    for row in found:
        since_epoch = (row["kafka_timestamp"] - epoch) // microsecond
        plain.append({**row, "kafka_timestamp": since_epoch})
    assert in_order(plain) == in_order(wanted), f"{reader}: the rows differ"


def pyiceberg_table(root: Path):
    return StaticTable.from_metadata(str(root / FOLDER))


def with_pyiceberg(root: Path, wanted: list):
    table = pyiceberg_table(root)
    check_equal("pyiceberg", table.scan().to_arrow().to_pylist(), wanted)
    # Statistics are believed: only files that may match are planned.
    filtered = table.scan(row_filter="kafka_partition = 1 and kafka_offset >= 150")
    late = [r for r in wanted if r["kafka_partition"] == 1 and r["kafka_offset"] >= 150]
    check_equal("pyiceberg, filtered", filtered.to_arrow().to_pylist(), late)
    if late:
        files = len(list(table.scan().plan_files()))
        assert len(list(filtered.plan_files())) < files, "pyiceberg: no file was pruned"
    assert table.scan(snapshot_id=table.refs()["lakestream"].snapshot_id).count() == len(wanted)


def with_duckdb(root: Path, wanted: list):
    connection = connect()
    folder = root / FOLDER
    hint = (folder / "metadata/version-hint.text").read_text()
    for path in (folder, folder / f"metadata/v{hint}.metadata.json"):
        found = connection.sql(f"SELECT * FROM iceberg_scan('{path}')").to_arrow_table()
        check_equal(f"DuckDB {path.name}", found.to_pylist(), wanted)
    late = "kafka_partition = 1 AND kafka_offset >= 150"
    query = f"SELECT count(*) FROM iceberg_scan('{folder}') WHERE {late}"
    count = connection.sql(query).fetchone()[0]
    assert count == sum(r["kafka_partition"] == 1 and r["kafka_offset"] >= 150 for r in wanted)


def make_table(program: str, root: Path, location: str, commits: list):
    description = json.dumps({"folder": FOLDER, "location": location, "commits": commits})
    quiet = subprocess.DEVNULL
    subprocess.run([program, root], input=description, text=True, check=True, stdout=quiet)


def in_commits(root: Path, rows: list, commits: int) -> list:
    """Each commit has one file with a part of both logs."""
    out = []
    for i in range(commits):
        part = [r for r in rows if r["kafka_offset"] * commits // 300 == i]
        if part:
            out.append([write_file(root, f"data/part-{i}.parquet", part)])
    return out


def check(program: str):
    rows = list(make_rows())
    for scheme in ("", "file://"):
        for commits, name in ((0, "empty"), (3, "some"), (120, "merged")):
            with tempfile.TemporaryDirectory() as temporary:
                root = Path(temporary)
                wanted = rows if commits else []
                files = in_commits(root, wanted, commits)
                make_table(program, root, f"{scheme}{root / FOLDER}", files)
                merged = list((root / FOLDER / "metadata").glob("*-m1.avro"))
                assert bool(merged) == (commits > 100), "manifests are merged from 100 on"
                with_pyiceberg(root, wanted)
                with_duckdb(root, wanted)
            print(f"{name} table, location {scheme or '/'}: pyiceberg and DuckDB agree")


def main():
    check(os.environ["LKS_MAKE_TABLE"])


if __name__ == "__main__":
    main()
