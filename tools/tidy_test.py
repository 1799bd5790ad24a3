#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every rule of tidy.py must find its planted violation, and leave a clean tree alone."""

import subprocess
import tempfile
import unittest
from pathlib import Path

import tidy
from cpp_text import code_only, functions

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
START = SPDX + "// Says what it is.\n"

CLEAN = {
    "tools/layers.toml": """
[modules]
base = []
rt = ["base"]
codec = ["base"]
server = ["*"]
[namespaces]
base = ["lakestream"]
[[library]]
headers = ["zstd.h", "fmt/*"]
in = ["src/codec/*.cc"]
""",
    "ARCHITECTURE.md": "# Architecture\n\n| module | what |\n|---|---|\n"
    "| `base` | a |\n| `codec` | b |\n| `rt` | c |\n| `server` | d |\n",
    "src/base/README.md": "# base\n",
    "src/codec/README.md": "# codec\n\nSee [base](../base/README.md) and `src/base/a.h`.\n",
    "src/rt/README.md": "# rt\n",
    "src/server/README.md": "# server\n",
    "src/base/a.h": START + "#pragma once\nnamespace lakestream {}\n",
    "src/codec/c.cc": START
    + '#include <zstd.h>\n#include <vector>\n#include "base/a.h"\nnamespace lakestream::codec {}\n',
    "src/rt/clock.cc": START + "auto now = std::chrono::steady_clock::now();\n",
}


class Planted(unittest.TestCase):
    def found(self, files: dict[str, str]) -> list[tidy.Problem]:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name, text in {**CLEAN, **files}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            subprocess.run(["git", "init", "-q", folder], check=True)
            return tidy.problems(root)

    def expect(self, files: dict[str, str], rule: str, part: str) -> None:
        problems = [str(p) for p in self.found(files)]
        hits = [p for p in problems if f": {rule}: " in p and part in p]
        self.assertTrue(hits, f"no {rule} problem with '{part}' in {problems}")
        self.assertEqual(len(problems), len(hits), problems)

    def test_a_clean_tree_has_no_problem(self):
        self.assertEqual(self.found({}), [])

    def test_layers(self):
        code = START + '#include "codec/c.h"\n'
        self.expect({"src/base/b.cc": code}, "layers", "base may include base; not codec")
        self.expect({"src/codec/b.cc": START + '#include "c.h"\n'}, "layers", "from src/")
        self.expect({"src/codec/b.cc": START + '#include "../base/a.h"\n'}, "layers", "from src/")
        self.expect({"src/server/b.cc": START + '#include "sim/w.h"\n'}, "layers", "simulator")
        self.expect({"src/server/b.cc": START + '#include "rt/testing.h"\n'}, "layers", "tests")
        public = START + '#pragma once\n#include "base/a.h"\n'
        self.expect({"include/lakestream/x.h": public}, "layers", "public headers")
        self.expect(
            {
                "src/new/a.cc": START + '#include "base/a.h"\n',
                "src/new/README.md": "# new\n",
                "ARCHITECTURE.md": CLEAN["ARCHITECTURE.md"] + "| `new` | e |\n",
            },
            "layers",
            "module new is not in",
        )
        self.assertEqual(self.found({"src/server/b.cc": code}), [])
        test = START + '#include "rt/sim/loop.h"\n'
        self.assertEqual(self.found({"src/rt/b_test.cc": test}), [])

    def test_library(self):
        self.expect({"src/base/b.cc": START + "#include <zstd.h>\n"}, "library", "only in")
        self.expect({"src/base/b.cc": START + "#include <x/y.h>\n"}, "library", "no [[library]]")

    def test_banned(self):
        for code, instead in {
            "auto t = std::chrono::system_clock::now();": "rt::Clock",
            "auto t = std::chrono::steady_clock::now();": "rt::Clock",
            "std::random_device d;": "rt::Rng",
            "std::mt19937 r(1);": "rt::Rng",
            "int x = rand();": "rt::Rng",
            "std::thread t(f);": "rt::TaskScope",
            "std::jthread t(f);": "rt::TaskScope",
            "auto f = std::async(g);": "rt::Offloader",
            "std::this_thread::sleep_for(1s);": "rt::sleep_for",
            'auto* v = getenv("X");': "setting",
            'printf("x");': "log::",
            'std::fprintf(stderr, "x");': "log::",
            'std::cout << "x";': "log::",
            "worker.detach();": "TaskScope",
            "auto* p = const_cast<int*>(q);": "signature",
            "throw 1;": "Result<T>",
            "auto p = std::filesystem::absolute(name);": "error_code",
            "fs::create_directories(folder);": "error_code",
            "for (auto& e : std::filesystem::directory_iterator(path)) {}": "error_code",
        }.items():
            with self.subTest(code):
                self.expect({"src/codec/b.cc": START + code + "\n"}, "banned", instead)
        self.expect({"src/rt/b.cc": START + "throw 1;\n"}, "banned", "Result<T>")
        said = START + '// A throw would rand().\nauto s = "getenv throw";\nint operand(int);\n'
        self.assertEqual(self.found({"src/codec/b.cc": said}), [])

    def test_iterating_an_unordered_map(self):
        member = START + "#pragma once\nstd::unordered_map<int, std::vector<int>> logs_;\n"
        loop = "void f() {\n    for (auto& [id, log] : logs_) {\n    }\n}\n"
        files = {"src/codec/m.h": member, "src/codec/m.cc": START + loop}
        self.expect(files, "banned", "iterating unordered logs_")
        said = loop.replace("    for", "    // any order: a sum.\n    for")
        files["src/codec/m.cc"] = START + said
        self.assertEqual(self.found(files), [])

    def test_sizes(self):
        lines = "int x;\n"
        self.expect({"src/base/b.cc": START + lines * 799}, "size", "801 lines")
        self.expect({"src/base/b_test.cc": START + lines * 999}, "size", "1001 lines")
        header = START + "#pragma once\n" + lines * 298
        self.expect({"src/base/b.h": header}, "size", "301 lines")
        self.expect({"src/base/b.cc": START + "// " + "x" * 98 + "\n"}, "size", "101 characters")
        body = "void f() {\n" + "    g();\n" * 69 + "}\n"
        self.expect({"src/base/b.cc": START + body}, "size", "function of 71 lines")
        shorter = body.replace("    g();\n", "", 1)
        self.assertEqual(self.found({"src/base/b.cc": START + shorter}), [])
        script = '# SPDX-License-Identifier: Apache-2.0\n"""A script."""\n\ndef f():\n'
        self.expect({"tools/x.py": script + "    g()\n" * 70}, "size", "function of 71 lines")

    def test_headers(self):
        self.expect({"src/base/b.cc": "// Says what it is.\n"}, "header", "starts with")
        self.expect({"src/base/b.cc": SPDX + "int x;\n"}, "header", "one sentence")
        self.expect({"src/base/b.cc": SPDX + "// no sentence\nint x;\n"}, "header", "one sentence")
        self.expect({"src/base/b.h": START}, "header", "#pragma once")
        self.expect({"tools/x.py": '#!/usr/bin/env python3\n"""A script."""\n'}, "header", "starts")

    def test_namespace(self):
        code = START + "namespace lakestream::wal {\nnamespace inner {\n}\n}\n"
        self.expect({"src/codec/b.cc": code}, "namespace", "src/codec is lakestream::codec")
        self.assertEqual(self.found({"src/codec/b.cc": code.replace("wal", "codec::kafka")}), [])

    def test_forbidden_strings(self):
        machine = [".libr" + "ary", "/wo" + "rk/", "../sha" + "red"]
        for text in [*machine, "py" + "pi.org", "debi" + "an.org", "<<<<<" + "<< "]:
            with self.subTest(text):
                self.expect({"notes.txt": text + "\n"}, "forbidden", text)

    def test_docs(self):
        self.expect({"a.md": "no title\n"}, "docs", "0 titles")
        self.expect({"a.md": "# one\n\n# two\n"}, "docs", "2 titles")
        self.expect({"a.md": "# a\n\n[x](docs/none.md)\n"}, "docs", "dead link docs/none.md")
        self.expect({"a.md": "# a\n\n`src/base/none.h`\n"}, "docs", "src/base/none.h")
        self.expect({"a.md": "# a\n\n`NONE.md`\n"}, "docs", "no such path")
        fenced = "# a\n\n```sh\n# a comment\n```\n\n`src/base/`, `src/*/x`, `make test`\n"
        self.assertEqual(self.found({"a.md": fenced}), [])

    def test_module_documents(self):
        self.expect({"src/base/README.md": "# base\n" + "x\n" * 30}, "readme", "longer than 30")
        table = CLEAN["ARCHITECTURE.md"]
        gone = table.replace("| `rt` | c |\n", "")
        self.expect({"ARCHITECTURE.md": gone}, "readme", "rt is missing in its table")
        ghost = table + "| `ghost` | e |\n"
        self.expect({"ARCHITECTURE.md": ghost}, "readme", "ghost is missing in src/")
        self.expect({"ARCHITECTURE.md": table + "x\n" * 300}, "readme", "longer than 300")
        without_readme = {
            "src/new/a.cc": START,
            "tools/layers.toml": CLEAN["tools/layers.toml"].replace("[names", "new = []\n[names"),
            "ARCHITECTURE.md": table + "| `new` | e |\n",
        }
        self.expect(without_readme, "readme", "missing: purpose")

    def test_generated_documents(self):
        rules = CLEAN["tools/layers.toml"]
        rules += '[[generated]]\nfile = "docs/g.md"\ncommand = ["echo", "# fresh"]\n'
        stale = {"tools/layers.toml": rules, "docs/g.md": "# stale\n"}
        self.expect(stale, "generated", "stale: echo # fresh")
        self.assertEqual(self.found({**stale, "docs/g.md": "# fresh\n"}), [])
        failing = rules.replace('["echo", "# fresh"]', '["false"]')
        self.expect({**stale, "tools/layers.toml": failing}, "generated", "false failed")

    def test_exceptions_need_a_reason_and_a_use(self):
        entry = '[[allow]]\nrule = "banned"\nfile = "src/base/b.cc"\ntext = "throw"\n'
        rules = CLEAN["tools/layers.toml"] + entry
        reasoned = rules + 'reason = "because"\n'
        throws = {"src/base/b.cc": START + "throw 1;\n"}
        self.assertEqual(self.found({**throws, "tools/layers.toml": reasoned}), [])
        self.expect({**throws, "tools/layers.toml": rules}, "allow", "give a reason")
        self.expect({"tools/layers.toml": reasoned}, "allow", "needs no exception")


class CppText(unittest.TestCase):
    def test_comments_and_literals_are_blanked_in_place(self):
        source = "a; // throw\n/* throw\n */ b(\"throw \\\" {\"); c = '{'; d = 1'000'000;\n"
        code = code_only(source)
        self.assertNotIn("throw", code)
        self.assertNotIn("{", code)
        self.assertEqual(len(code), len(source))
        self.assertEqual(code.count("\n"), source.count("\n"))
        self.assertIn("1'000'000;", code)
        self.assertNotIn("{", code_only('auto s = R"x({" throw)x";'))

    def lengths(self, source: str) -> list[tuple[int, int]]:
        return [(f.line, f.length) for f in functions(source)]

    def test_functions_are_found(self):
        for source, expected in {
            "int f() {\n    if (x) {\n    }\n}\n": [(1, 4)],
            "namespace n {\nclass C final : public B<int> {\n    int f() const {\n    }\n};\n}": [
                (3, 2)
            ],
            "C::C(int a) : a_{a}, b_(f({1})), c_{} {\n    g();\n}\nint h() { return 1; }": [
                (1, 3),
                (4, 1),
            ],
            "template <class T = A<(1 > 0)>>\nstruct S {\n    T t{};\n};\n": [],
            "int table[] = {\n    1,\n};\nconst auto x = f(1);\n": [],
            "auto f = [](int a) {\n    return a;\n};\n": [],
            "TEST(A, B) {\n    auto g = [] {\n    };\n}\n": [(1, 4)],
            "bool operator==(A a, A b) {\n}\nauto operator()(int) -> int {\n}": [(1, 2), (3, 2)],
            "#define M(x) \\\n    { \\\n    }\nvoid f(int a = 1) noexcept {\n}\n": [(4, 2)],
            "class C {\n  public:\n    explicit C(int a) : a_(a) {}\n    int a_{};\n};": [(3, 1)],
            "enum class E : int { a, b };\nvoid f() {\n}": [(2, 2)],
            "struct alignas(64) S {\n    void f() {\n    }\n};": [(2, 2)],
            '[[gnu::target("sse")]] int f() {\n}': [(1, 2)],
            "void f(std::span<const int> s) requires(true) {\n}": [(1, 2)],
        }.items():
            with self.subTest(source):
                self.assertEqual(self.lengths(source), expected)


if __name__ == "__main__":
    unittest.main()
