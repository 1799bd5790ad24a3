#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs a build into a temporary folder, moves it, and builds and runs the example against it.

usage: package_test.py BUILD EXAMPLE
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

RECORDS = [("en", "hello"), ("de", "hallo"), ("fr", "-")]


def run(*command: object) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def check_files(prefix: Path) -> None:
    """All that belongs, and no header of ours that is not public."""
    for name in [
        "bin/lakestream",
        "lib/liblakestream.so",
        "lib/liblakestream_tables.so",
        "lib/cmake/lakestream/lakestreamConfig.cmake",
        "lib/cmake/lakestream/lakestreamConfigVersion.cmake",
        "include/lakestream/engine.h",
    ]:
        assert (prefix / name).exists(), f"{name} is not installed"
    headers = {path.relative_to(prefix / "include") for path in prefix.glob("include/**/*.h")}
    assert {path.parent for path in headers} == {Path("lakestream")}, headers
    for path in headers:
        text = (prefix / "include" / path).read_text()
        for include in re.findall(r'#include ["<]([^">]+)', text):
            ours = Path(include) in headers
            standard = re.fullmatch(r"[a-z_]+", include)
            assert ours or standard, f"{path} includes {include}"
    assert run(prefix / "bin/lakestream", "version").startswith("lakestream ")


def check_run(program: Path, data: Path, runs: int) -> None:
    """The output of run number `runs` on this folder: all records so far, in stream and table."""
    lines = run(program, data).splitlines()
    expected = [(i, *RECORDS[i % 3]) for i in range(3 * runs)]
    assert lines[0] == f"appended {3 * (runs - 1)} to {3 * runs}", lines
    records = [f"record {offset} {key} {value}" for offset, key, value in expected]
    rows = [f"row 0 {offset} {key} {value}" for offset, key, value in expected]
    assert lines[1:] == [*records, f"table {data}/tables/default/greetings", *rows], lines


def main() -> None:
    build, example = Path(sys.argv[1]), Path(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="lakestream-package-") as name:
        folder = Path(name)
        run("cmake", "--install", build, "--prefix", folder / "installed")
        prefix = (folder / "installed").rename(folder / "moved")
        check_files(prefix)
        built = folder / "example"
        found = f"-DCMAKE_PREFIX_PATH={prefix}"
        run("cmake", "-S", example, "-B", built, "-G", "Ninja", found)
        run("cmake", "--build", built)
        for runs in (1, 2):
            check_run(built / "first_stream", folder / "data", runs)
        # Errors reach the user.
        file = prefix / "bin/lakestream"
        wrong = subprocess.run([built / "first_stream", file], capture_output=True, text=True)
        assert wrong.returncode == 1, wrong
        assert "unsupported: cannot make the folder" in wrong.stderr, wrong
    print("installed, moved, built against, run twice: all there")


if __name__ == "__main__":
    main()
