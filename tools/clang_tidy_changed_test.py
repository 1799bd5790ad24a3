#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang_tidy_changed.py picks what changed, finds a planted bug, and remembers what was clean."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
CLEAN = "int twice(int value);\n"
USER = '#include "a.h"\nint twice(int value) { return value * 2; }\n'
BAD = "int Twice(int value);\n"


class ChangedFiles(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name).resolve()
        self.addCleanup(self.folder.cleanup)
        self.write("tools/clang_tidy_changed.py", (HERE / "clang_tidy_changed.py").read_text())
        shutil.copy(HERE.parent / ".clang-tidy", self.root)
        self.write(".gitignore", "build/\n")
        self.write("src/a.h", CLEAN)
        self.write("src/a.cc", USER)
        self.write("src/other.cc", "int Bad_Name() { return 1; }\n")
        units = [self.root / "src/a.cc", self.root / "src/other.cc"]
        commands = [
            {"file": str(u), "directory": str(self.root), "command": f"clang++-19 -Isrc -c {u}"}
            for u in units
        ]
        self.write("build/dev/compile_commands.json", json.dumps(commands))
        self.git("init", "-q")
        self.commit()

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def git(self, *arguments: str) -> None:
        who = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
        subprocess.run(["git", *who, *arguments], cwd=self.root, check=True, capture_output=True)

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "step")

    def lint(self, *arguments: str, base: str | None = None) -> tuple[int, str]:
        environment = {k: v for k, v in os.environ.items() if k != "LKS_BASE"}
        environment |= {"LKS_BASE": base} if base else {}
        ran = subprocess.run(
            ["python3", self.root / "tools/clang_tidy_changed.py", *arguments],
            env=environment, text=True, capture_output=True,
        )  # fmt: skip
        return ran.returncode, ran.stdout + ran.stderr

    def test_a_changed_header_is_checked_through_its_unit_and_remembered(self):
        self.write("src/a.h", CLEAN + "int thrice(int value);\n")
        self.commit()
        code, said = self.lint()
        self.assertEqual((code, said.count("1 files, 0 known")), (0, 1), said)
        code, said = self.lint()
        self.assertEqual((code, said.count("1 files, 1 known")), (0, 1), said)

        self.write("src/a.h", CLEAN + BAD)  # not committed
        code, said = self.lint()
        self.assertEqual(code, 1, said)
        self.assertIn("Twice", said)
        self.assertNotIn("Bad_Name", said)

    def test_the_base_decides(self):
        self.write("notes.txt", "x")
        self.commit()
        self.assertIn("0 files", self.lint()[1])
        self.write("src/other.cc", "int Bad_Name() { return 2; }\n")
        self.commit()
        self.write("notes.txt", "y")
        self.commit()
        self.assertIn("0 files", self.lint()[1])
        self.assertIn("Bad_Name", self.lint(base="HEAD~2")[1])
        self.assertIn("is no commit", self.lint(base="nowhere")[1])

    def test_running_out_of_time_fails_and_says_so(self):
        code, said = self.lint("--all", "--seconds", "0")
        self.assertEqual(code, 1)
        self.assertIn("2 files unchecked after 0 s", said)


if __name__ == "__main__":
    unittest.main()
