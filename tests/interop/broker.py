# SPDX-License-Identifier: Apache-2.0
"""A real `lakestream dev` process for a test: free ports, a folder of its own, logs kept."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

BINARY = os.environ["LKS_BINARY"]
INTEROP = Path(os.environ["LKS_INTEROP"])  # what setup.py has installed
JAVA_PATH = f"{INTEROP}/java-4.4.0/classes:{INTEROP}/java-4.4.0/*"


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def run_cli(
    *arguments: str, input: bytes = b"", timeout: float = 120
) -> subprocess.CompletedProcess:
    """`lakestream ARGUMENTS`, its output as bytes."""
    return subprocess.run([BINARY, *arguments], input=input, capture_output=True, timeout=timeout)


class Broker:
    """Stopped by its pid at the end of `with`; its folder is removed when the test passed."""

    def __init__(self, *flags: str, data: Path | None = None, prepare=None):
        """`prepare` is called in the child before the program starts."""
        self.folder = Path(tempfile.mkdtemp(prefix="lakestream-"))
        self.data = data or self.folder / "data"
        self.port = free_port()
        self.http_port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.flags = flags
        self.prepare = prepare
        self.process: subprocess.Popen | None = None
        self.log = self.folder / "log"

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, value, traceback):
        if self.process is not None:
            self.kill()
        if kind is None:
            shutil.rmtree(self.folder)
        else:
            print(f"kept for a look: {self.folder}; the log's end:")
            print("\n".join(self.log.read_text(errors="replace").splitlines()[-30:]))

    def start(self) -> None:
        """Returns once it is ready."""
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [
                    BINARY, "dev", "--data-dir", str(self.data), "--kafka-listen", self.address,
                    "--http-listen", f"127.0.0.1:{self.http_port}", *self.flags,
                ],
                stdout=log, stderr=log, preexec_fn=self.prepare,
            )  # fmt: skip
        deadline = time.monotonic() + 60
        while not self.ready():
            code = self.process.poll()
            assert code is None, f"the broker ended with {code}: {self.log.read_text()[-2000:]}"
            assert time.monotonic() < deadline, "the broker is not ready after 60 s"
            time.sleep(0.02)

    def ready(self) -> bool:
        try:
            return self.get("/readyz")[0] == 200
        except OSError:
            return False

    def get(self, path: str) -> tuple[int, str]:
        """Status and body of an HTTP request."""
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{self.http_port}{path}", timeout=5
            ) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def wait(self, timeout: float = 60) -> int:
        code = self.process.wait(timeout)
        self.process = None
        return code

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.wait()

    def stop(self) -> None:
        """SIGTERM; it must drain and end well (a sanitizer's finding is no good end)."""
        self.signal(signal.SIGTERM)
        code = self.wait()
        assert code == 0, f"the broker ended with {code}: {self.log.read_text()[-4000:]}"

    def check(self) -> str:
        """`lakestream check` of the stopped broker's folder: must be clean. Gives what it said."""
        done = run_cli("check", "--data-dir", str(self.data), timeout=600)
        text = done.stdout.decode() + done.stderr.decode()
        assert done.returncode == 0, f"check ended with {done.returncode}:\n{text[-4000:]}"
        return text
