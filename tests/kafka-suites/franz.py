# SPDX-License-Identifier: Apache-2.0
"""franz-go's own tests of its client (pkg/kgo), from its module."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from brokers import CACHE
from suite import FAIL, PASS, SKIP, Outcomes, Run, Suite

MODULE = "github.com/twmb/franz-go"
VERSION = "v1.22.3"
SUM = "h1:RHe35s34pKefMLyL+ZYJ6mQVtfFZz4zHDHVkTyACur0="
RECORDS = 10_000
TIMEOUT = "900s"

OUTCOME = {"PASS": PASS, "FAIL": FAIL, "SKIP": SKIP}


def prepare() -> Path:
    """The folder of the module, which `go test` may write to."""
    folder = CACHE / f"franz-go-{VERSION}"
    if folder.exists():
        return folder
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch, "go.mod").write_text("module scratch\n")
        done = subprocess.run(
            ["go", "mod", "download", "-json", f"{MODULE}@{VERSION}"],
            cwd=scratch, capture_output=True, text=True, check=True,
        )  # fmt: skip
    module = json.loads(done.stdout)
    assert module["Sum"] == SUM, f"{MODULE} {VERSION} is {module['Sum']}, not {SUM}"
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.copytree(module["Dir"], partial)
    subprocess.run(["chmod", "-R", "u+w", partial], check=True)
    partial.rename(folder)
    return folder


def regex(names: tuple[str, ...]) -> str:
    return "^(" + "|".join(re.escape(name).replace(r"\*", ".*") for name in names) + ")$"


def run(run: Run) -> Outcomes:
    folder = prepare() / "pkg/kgo"
    command = ["go", "test", "-count=1", "-timeout", TIMEOUT, "-v"]
    if run.only:
        command += ["-run", regex(run.only)]
    elif run.leave_out:
        command += ["-skip", regex(run.leave_out)]
    log = run.logs / "go-test.log"
    settings = {
        "KGO_SEEDS": run.address, "KGO_TEST_RF": "1", "KGO_TEST_RECORDS": str(RECORDS),
    }  # fmt: skip
    with open(log, "wb") as out:
        subprocess.run(
            [*command, "."], cwd=folder, stdout=out, stderr=out, env={**os.environ, **settings}
        )
    text = log.read_text(errors="replace")
    outcomes = {
        match[2]: OUTCOME[match[1]]
        for match in re.finditer(r"^--- (PASS|FAIL|SKIP): (\S+)", text, re.M)
    }
    # What a panic or the time-out ended has started and has no result.
    for match in re.finditer(r"^=== RUN +([^/\s]+)$", text, re.M):
        outcomes.setdefault(match[1], FAIL)
    return outcomes


SUITE = Suite("franz", f"franz-go {VERSION}, pkg/kgo", run)
