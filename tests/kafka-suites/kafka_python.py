# SPDX-License-Identifier: Apache-2.0
"""kafka-python's integration tests, from its source distribution."""

import os
import re
import shutil
import subprocess
import tarfile
import venv
from pathlib import Path
from xml.etree import ElementTree

from brokers import CACHE, HERE, KAFKA_VERSION
from suite import FAIL, PASS, SKIP, Outcomes, Run, Suite

VERSION = "3.0.12"
REQUIREMENTS = HERE / "kafka-python.txt"
TEST_TIMEOUT = 120  # seconds
# The newest version that it knows.
BROKER_VERSION = "4.3.0"

# The source distribution leaves this file out. Here is its half for brokers that run already.
SERVICE = """
class ExternalService:
    def __init__(self, host, port):
        self.host, self.port = host, port

    def open(self):
        pass

    def close(self):
        pass


class SpawnedService:
    def __init__(self, *_):
        raise RuntimeError("only external brokers")
"""


def prepare() -> Path:
    """A folder with `venv` and `source`."""
    folder = CACHE / f"kafka-python-{VERSION}"
    if folder.exists():
        return folder
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    venv.create(partial / "venv", with_pip=True)
    pip = [partial / "venv/bin/python", "-m", "pip", "--disable-pip-version-check"]
    lines = REQUIREMENTS.read_text()
    hashed = ["--quiet", "--require-hashes", "-r", REQUIREMENTS]
    subprocess.run([*pip, "install", "--only-binary=:all:", *hashed], check=True)
    # pip would build what it downloads; the archive alone is wanted.
    source = re.search(rf"^# kafka-python=={VERSION} --hash=sha256:(\w+)$", lines, re.M)
    subprocess.run(
        [
            *pip, "download", "--quiet", "--no-deps", "--no-binary=:all:", "--no-build-isolation",
            f"--dest={partial}", f"kafka-python=={VERSION}",
        ],
        check=True,
    )  # fmt: skip
    archive = partial / f"kafka_python-{VERSION}.tar.gz"
    digest = subprocess.run(["sha256sum", archive], capture_output=True, text=True).stdout.split()[
        0
    ]
    assert source and digest == source[1], f"{archive.name} has the digest {digest}"
    with tarfile.open(archive) as tar:
        tar.extractall(partial, filter="data")
    (partial / f"kafka_python-{VERSION}").rename(partial / "source")
    (partial / "source/test/__init__.py").touch()
    (partial / "source/test/service.py").write_text(SERVICE)
    partial.rename(folder)
    return folder


def outcome(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return FAIL
    return SKIP if case.find("skipped") is not None else PASS


def run(run: Run) -> Outcomes:
    folder = prepare()
    report = run.logs / "report.xml"
    report.unlink(missing_ok=True)
    log = run.logs / "pytest.log"
    settings = {
        "KAFKA_ROOT": str(folder), "KAFKA_VERSION": BROKER_VERSION,
        "KAFKA_URI": f"kafka://{run.address}", "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    tests = [f"test/integration/{name}" for name in run.only] or ["test/integration"]
    with open(log, "wb") as out:
        subprocess.run(
            [
                folder / "venv/bin/python", "-m", "pytest", *tests, "-v", "-W", "ignore",
                "-p", "no:cacheprovider", f"--timeout={TEST_TIMEOUT}", f"--junit-xml={report}",
                # These start brokers of their own.
                "--ignore=test/integration/test_ssl_integration.py",
                "--ignore=test/integration/test_sasl_integration.py",
                *(f"--deselect=test/integration/{name}" for name in run.leave_out),
            ],
            cwd=folder / "source", stdout=out, stderr=out, env={**os.environ, **settings},
        )  # fmt: skip
    if not report.exists():
        return {}
    outcomes = {}
    for case in ElementTree.parse(report).iter("testcase"):
        file = case.get("classname").removeprefix("test.integration.").split(".")
        outcomes["::".join([f"{file[0]}.py", *file[1:], case.get("name")])] = outcome(case)
    return outcomes


SUITE = Suite("kafka-python", f"kafka-python {VERSION}, its integration tests", run)
