#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs SQL in DuckDB, with what it needs to read Iceberg tables: sql.py "SELECT ..."

Installs DuckDB into build/interop when it is not there.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = ROOT / "build/interop"
EXTENSIONS = ("json", "parquet", "icu", "avro", "iceberg")


def connect():
    """A DuckDB connection that can read Iceberg tables."""
    import duckdb
    from duckdb_extensions import import_extension

    connection = duckdb.connect()
    for extension in EXTENSIONS:
        import_extension(extension)
        connection.execute("LOAD " + extension)
    connection.execute("SET TimeZone='UTC'")
    return connection


def with_clients() -> None:
    """Goes on as the Python that has the clients, installing them before."""
    setup = ROOT / "tests/interop/setup.py"
    subprocess.run([sys.executable, setup, CLIENTS, "--python-only"], check=True)
    python = CLIENTS / "venv/bin/python"
    os.execv(python, [str(python), *sys.argv])


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        connection = connect()
    except ImportError:
        with_clients()
    import duckdb

    try:
        answer = connection.sql(sys.argv[1])
        if answer is not None:
            answer.show()
    except duckdb.Error as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
