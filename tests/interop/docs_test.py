#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of the documents: every ```sh block of README.md, CONTRIBUTING.md and docs/.

A comment before a block says how; without one each command must succeed.

    <!-- run: until WORD -->      the block is repeated until its output has WORD
    <!-- run: serve PORT -->      it runs until the document ends, or a block `stop`; PORT opens
    <!-- run: stop -->            the servers of the document are stopped first
    <!-- run: exit CODE -->       it ends with this code
    <!-- not run: REASON -->      it cannot run here; the reason is for the reader of the source

A ```text block that follows one is its output; … in it stands for anything. `fresh:` is what `run:`
is here, and tools/fresh.sh runs it as a newcomer would. Each document runs in a folder
of its own and in a network of its own: its ports are free, nothing outside answers.
"""

import fcntl
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ["LKS_BINARY"])
PATIENCE = 60
# The examples of --help: src/cli/main/command_line_test.cc parses each.
OF_HELP = ROOT / "docs/cli.md"
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(path for path in sorted(ROOT.glob("docs/**/*.md")) if path != OF_HELP),
]
# What builds: the commands that stand for it here, or none where this test is part of it.
MAKE = {
    "make run": "lakestream dev",
    "make build": "true",
    "make test": "true",
    "make demo": "true",  # demo_test.py
}
BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[^>]*?) -->\n+)?^```sh\n(?P<body>.*?)^```\n"
    r"(?:\n*^```text\n(?P<output>.*?)^```\n)?",
    re.M | re.S,
)


@dataclass
class Block:
    line: int
    how: str  # "", or what is behind `run:`
    body: str
    output: str | None
    not_run: str | None = None


def blocks_of(text: str) -> list[Block]:
    blocks = []
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("body"))
        kind, _, rest = (match["mark"] or "run:").partition(":")
        if kind not in ("run", "not run", "fresh"):
            raise ValueError(f"line {line}: unknown mark '{match['mark']}'")
        block = Block(line, rest.strip(), match["body"], match["output"])
        if kind == "fresh" and block.how == "run":
            block.how = ""
        if kind == "not run":
            if len(block.how) < 10:
                raise ValueError(f"line {line}: a block that does not run needs a reason")
            block.not_run = block.how
        blocks.append(block)
    if len(blocks) != len(re.findall(r"^\s*```(?:sh|bash|console|shell)\b", text, re.M)):
        raise ValueError("a block is not a plain ```sh block")
    return blocks


def commands(body: str) -> list[str]:
    """A command each; one that ends with a backslash goes on."""
    return [line for line in body.replace("\\\n", " ").splitlines() if line.strip()]


def is_like(expected: str, output: str) -> bool:
    parts = [re.escape(part) for part in expected.strip().split("…")]
    return re.fullmatch(".*?".join(parts), output.strip(), re.S) is not None


class Run:
    """One document, from its first block to its last."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.servers: list[subprocess.Popen] = []
        (folder / "tools").symlink_to(ROOT / "tools")
        binaries = folder / ".bin"
        binaries.mkdir()
        (binaries / "lakestream").symlink_to(BINARY)
        self.environment = {
            **os.environ, "PATH": f"{binaries}:{os.environ['PATH']}", "HOME": str(folder),
        }  # fmt: skip

    def shell(self, command: str, **more):
        command = MAKE.get(command.strip(), command)
        return subprocess.Popen(
            ["bash", "-eu", "-o", "pipefail", "-c", command], cwd=self.folder,
            env=self.environment, stdin=subprocess.DEVNULL, text=True, start_new_session=True,
            **more,
        )  # fmt: skip

    def output_of(self, command: str) -> tuple[int, str]:
        process = self.shell(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            output, _ = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise AssertionError(f"not done after {PATIENCE} s: {command}")
        return process.returncode, output

    def serve(self, command: str, port: int) -> None:
        server = self.shell(f"exec {MAKE.get(command.strip(), command)}")
        self.servers.append(server)
        deadline = time.monotonic() + PATIENCE
        while True:
            assert server.poll() is None, f"it ended with {server.returncode}: {command}"
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", port)) == 0:
                    return
            assert time.monotonic() < deadline, f"port {port} did not open: {command}"
            time.sleep(0.05)

    def stop(self) -> None:
        for server in self.servers:
            server.terminate()
        for server in self.servers:
            code = server.wait(PATIENCE)
            assert code == 0, f"a server ended with {code}"
        self.servers.clear()

    def run(self, block: Block) -> None:
        how, _, argument = block.how.partition(" ")
        if how == "serve":
            (command,) = commands(block.body)
            return self.serve(command, int(argument))
        if how == "stop":
            self.stop()
        elif how not in ("", "until", "exit"):
            raise ValueError(f"unknown: run: {block.how}")
        wanted = int(argument) if how == "exit" else 0
        deadline = time.monotonic() + PATIENCE
        while True:
            outputs = []
            for command in commands(block.body):
                code, output = self.output_of(command)
                outputs.append(output)
                if how != "until":
                    assert code == wanted, f"`{command}` ended with {code}:\n{output}"
            output = "".join(outputs)
            if how != "until" or argument in output:
                break
            assert time.monotonic() < deadline, f"no '{argument}' in:\n{output}"
            time.sleep(0.2)
        if block.output is not None:
            assert is_like(block.output, output), f"expected:\n{block.output}\ngot:\n{output}"

    def kill(self) -> None:
        for server in self.servers:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


class Documents(unittest.TestCase):
    def run_document(self, document: Path) -> int:
        blocks = blocks_of(document.read_text())
        with tempfile.TemporaryDirectory(prefix="lakestream-docs-") as name:
            run = Run(Path(name))
            try:
                for block in blocks:
                    if block.not_run is None:
                        try:
                            run.run(block)
                        except (AssertionError, ValueError) as error:
                            place = f"{document.relative_to(ROOT)}:{block.line}"
                            raise AssertionError(f"{place}: {error}") from None
                run.stop()
            finally:
                run.kill()
        return len(blocks)

    def test_documents(self):
        count = 0
        for document in DOCUMENTS:
            with self.subTest(document.relative_to(ROOT)):
                count += self.run_document(document)
        self.assertGreater(count, 12)

    def test_makefile(self):
        """What stands for `make run` is what it does."""
        makefile = (ROOT / "Makefile").read_text()
        self.assertRegex(makefile, r"\nrun: build .*\n\t@exec build/release/lakestream dev\n")
        for command in MAKE:
            self.assertRegex(makefile, rf"\n{command.removeprefix('make ')}:")

    def test_finds_what_is_wrong(self):
        wrong = {
            "false": "ended with 1",
            "true | false": "ended with 1",
            "echo no": "expected",
        }
        for command, message in wrong.items():
            text = f"# X\n\n```sh\n{command}\n```\n\n```text\nyes … and\n```\n"
            with tempfile.TemporaryDirectory() as folder, self.subTest(command):
                run = Run(Path(folder))
                (block,) = blocks_of(text)
                with self.assertRaisesRegex(AssertionError, message):
                    run.run(block)
        for text in (
            "<!-- not run: -->\n```sh\nx\n```\n",
            "<!-- ran: x -->\n```sh\nx\n```\n",
            "```bash\nx\n```\n",
        ):
            with self.subTest(text), self.assertRaises(ValueError):
                blocks_of(text)


def enter_own_network() -> None:
    """Start over where nothing is on the network but ourselves."""
    if os.environ.get("LKS_OWN_NETWORK") is None:
        os.environ["LKS_OWN_NETWORK"] = "1"
        command = ["unshare", "--map-root-user", "--net", sys.executable, *sys.argv]
        os.execvp(command[0], command)
    up = struct.pack("16sh14x", b"lo", 1)  # IFF_UP
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, 0x8914, up)  # SIOCSIFFLAGS


if __name__ == "__main__":
    enter_own_network()
    unittest.main()
