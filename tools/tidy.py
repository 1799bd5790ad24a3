#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The house rules that a program can check. Run without arguments; prints `file:line: rule: text`.

Rules: layers, library, banned, size, header, docs, namespace, forbidden, readme, generated, allow.
Data (layers, libraries, exceptions) is in tools/layers.toml; the reasons are in STYLE.md.
"""

import argparse
import ast
import fnmatch
import re
import subprocess
import sys
import tomllib
from pathlib import Path, PurePosixPath
from typing import Iterator, NamedTuple

from cpp_text import code_only, functions

LINE_MAX = 100
FUNCTION_MAX = 70
FILE_MAX = 800
TEST_FILE_MAX = 1000
HEADER_MAX = 300
README_MAX = 30
ARCHITECTURE_MAX = 300
LAYERS = "tools/layers.toml"


class Problem(NamedTuple):
    file: str
    line: int
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.rule}: {self.text}"


class Banned(NamedTuple):
    pattern: str
    instead: str
    rt_may: bool = False  # the seams' own implementation
    test_may: bool = False


BANNED = [
    Banned(r"\b(system_clock|steady_clock|high_resolution_clock)\b", "rt::Clock", rt_may=True),
    Banned(r"\b(clock_gettime|gettimeofday|std::time)\b", "rt::Clock", rt_may=True),
    Banned(r"\b(random_device|mt19937(_64)?|default_random_engine)\b", "rt::Rng", rt_may=True),
    Banned(r"\buniform_(int|real)_distribution\b", "rt::Rng (distributions differ by library)"),
    Banned(r"\bs?rand\s*\(", "rt::Rng", rt_may=True),
    Banned(r"\bstd::j?thread\b", "rt::TaskScope or rt::Offloader", rt_may=True, test_may=True),
    Banned(r"\bstd::async\b", "rt::Offloader"),
    Banned(r"\bthis_thread::sleep_\w+|\b(usleep|nanosleep)\b", "rt::sleep_for", rt_may=True),
    Banned(r"\bgetenv\b", "a setting (server/settings.h)", test_may=True),
    Banned(r"\bv?f?printf\b", "log:: for events, fmt::format for text", test_may=True),
    Banned(r"\bstd::(cout|cerr|clog)\b", "log:: for events, fmt::print in cli", test_may=True),
    Banned(r"\.detach\s*\(", "a TaskScope that owns the work"),
    Banned(r"\bconst_cast\b", "an honest signature"),
    Banned(r"\bthrow\b", "Result<T>"),
    Banned(
        r"\b(std::filesystem|fs)::(absolute|(weakly_)?canonical|copy\w*|create_\w+|current_path"
        r"|equivalent|exists|file_size|hard_link_count|is_\w+|last_write_time|permissions"
        r"|proximate|read_symlink|relative|remove(_all)?|rename|resize_file|space|(symlink_)?status"
        r"|temp_directory_path|(recursive_)?directory_iterator)"
        r"\s*\((?![^;{]*\b(failed|failure|ignored|error)\s*\))",
        "the overload with a std::error_code (failed, failure, ignored or error): the other throws",
        test_may=True,
    ),
]

# Written so that no pattern matches itself.
FORBIDDEN = {
    r"\.librar[y]\b": "a path of one machine",
    r"(?<![\w.])/wor[k]/": "a path of one machine",
    r"\.\./share[d]\b": "a path outside the repository",
    r"\bpypi[.]org\b|pythonhosted[.]org|npmjs[.]org|yarnpkg[.]com|repo1?[.]maven|maven[.]org"
    r"|debian[.]org|crates[.]io|proxy[.]golang": "a registry's host name",
    r"^(<<<<<<<|>>>>>>>) ": "a merge conflict",
}

CODE = {".cc", ".h"}
SPDX = {".cc": "//", ".h": "//", ".java": "//", ".js": "//", ".py": "#", ".sh": "#"}
LINED = {".cc", ".h", ".py", ".sh", ".java", ".js", ".cmake"}


class Tree:
    """The files of a repository (tracked, and new ones not ignored), and its layers.toml."""

    def __init__(self, root: Path):
        self.root = root
        listed = subprocess.run(
            ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        self.files = sorted(name for name in set(listed.split("\0")) if (root / name).is_file())
        self.rules = tomllib.loads((root / LAYERS).read_text())
        self._texts: dict[str, str | None] = {}

    def text(self, file: str) -> str | None:
        """The file's text; None for a binary file."""
        if file not in self._texts:
            data = (self.root / file).read_bytes()
            self._texts[file] = None if b"\0" in data else data.decode("utf-8", "replace")
        return self._texts[file]

    def with_suffix(self, suffixes) -> Iterator[tuple[str, str]]:
        for file in self.files:
            text = self.text(file) if PurePosixPath(file).suffix in suffixes else None
            if text is not None and not file.startswith("tests/golden/"):
                yield file, text

    def modules(self) -> list[str]:
        """The folders of src/."""
        return sorted({f.split("/")[1] for f in self.files if re.match(r"src/[^/]+/", f)})


def line_of(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def module_of(file: str) -> str | None:
    parts = file.split("/")
    return parts[1] if parts[0] == "src" and len(parts) > 2 else None


def is_test(file: str) -> bool:
    return bool(re.search(r"_(test|fuzz|bench)\.cc$|/testing\.h$|/testing/", file)) or (
        file.startswith(("tests/", "sim/"))
    )


# Each check takes the tree and yields problems.


def check_includes(tree: Tree) -> Iterator[Problem]:
    for file, text in tree.with_suffix(CODE):
        for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', text, re.M):
            line, header = line_of(text, match.start()), match.group(2)
            if match.group(1) == '"':
                problem = own_include(tree, file, header)
                rule = "layers"
            else:
                problem = library_include(tree, file, header)
                rule = "library"
            if problem:
                yield Problem(file, line, rule, problem)


def own_include(tree: Tree, file: str, header: str) -> str | None:
    target, _, rest = header.partition("/")
    if not rest or target.startswith("."):
        return f'write "{header}" from src/ or include/ on'
    if target == "lakestream" or file.startswith(("tests/", "sim/")):
        return None
    if file.startswith("include/"):
        return f'the public headers may not include "{header}"'
    if target == "sim":
        return f'src/ may not include "{header}": the simulator builds on it'
    if re.search(r"/(testing/|testing\.h|sim/)", header) and not (is_test(file) or "/sim/" in file):
        if PurePosixPath(file).parent != PurePosixPath("src", header).parent:
            return f'"{header}" is for tests'
    module = module_of(file)
    layers = tree.rules["modules"]
    if module not in layers:
        return f"module {module} is not in tools/layers.toml"
    may = [module, *layers[module]]
    if "*" in may or target in may:
        return None
    return f"{module} may include {', '.join(may)}; not {target}"


def library_include(tree: Tree, file: str, header: str) -> str | None:
    if header.startswith("lakestream/"):
        return f'write "{header}"'
    if not re.search(r"[./]", header):
        return None  # the C++ standard library
    allowed = [
        pattern
        for library in tree.rules["library"]
        if any(fnmatch.fnmatchcase(header, named) for named in library["headers"])
        for pattern in library["in"]
    ]
    if any(fnmatch.fnmatchcase(file, pattern) for pattern in allowed):
        return None
    if allowed:
        return f"<{header}> only in {', '.join(allowed)}"
    return f"<{header}> is in no [[library]] of tools/layers.toml"


def check_banned(tree: Tree) -> Iterator[Problem]:
    for file, text in tree.with_suffix(CODE):
        if not file.startswith("src/"):
            continue
        code = code_only(text)
        for banned in BANNED:
            if banned.rt_may and file.startswith("src/rt/") or banned.test_may and is_test(file):
                continue
            for match in re.finditer(banned.pattern, code):
                text_of_it = f"{match.group().strip(' .(')}: use {banned.instead}"
                yield Problem(file, line_of(code, match.start()), "banned", text_of_it)
        yield from unordered_iteration(tree, file, text, code)


def unordered_iteration(tree: Tree, file: str, text: str, code: str) -> Iterator[Problem]:
    header = re.sub(r"\.cc$", ".h", file)
    declared = code + (code_only(tree.text(header) or "") if header in tree.files else "")
    names = set(re.findall(r"\bunordered_(?:map|set)<[^;(){}]*>\s+(\w+)\s*[;={(]", declared))
    lines = text.splitlines()
    for name in sorted(names):
        walk = rf"for\s*\([^;()]*:\s*(?:this->)?{name}\s*\)|\b{name}\.begin\("
        for match in re.finditer(walk, code):
            line = line_of(code, match.start())
            if not any("// any order:" in lines[i] for i in (line - 2, line - 1) if i >= 0):
                advice = "use std::map, sort first, or say `// any order: why`"
                yield Problem(file, line, "banned", f"iterating unordered {name}: {advice}")


def check_sizes(tree: Tree) -> Iterator[Problem]:
    for file, text in tree.with_suffix(LINED):
        lines = text.splitlines()
        limit = HEADER_MAX if file.endswith(".h") else TEST_FILE_MAX if is_test(file) else FILE_MAX
        if len(lines) > limit:
            yield Problem(file, limit, "size", f"{len(lines)} lines, at most {limit}: split")
        for number, line in enumerate(lines, 1):
            if len(line) > LINE_MAX and "://" not in line:
                advice = f"line of {len(line)} characters, at most {LINE_MAX}"
                yield Problem(file, number, "size", advice)
        for number, length in function_lengths(file, text):
            if length > FUNCTION_MAX:
                advice = f"function of {length} lines, at most {FUNCTION_MAX}: split"
                yield Problem(file, number, "size", advice)


def function_lengths(file: str, text: str) -> Iterator[tuple[int, int]]:
    if PurePosixPath(file).suffix in CODE:
        yield from ((function.line, function.length) for function in functions(text))
    elif file.endswith(".py"):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1


def check_headers(tree: Tree) -> Iterator[Problem]:
    for file, text in tree.with_suffix(SPDX):
        comment = SPDX[PurePosixPath(file).suffix]
        first = f"{comment} SPDX-License-Identifier: Apache-2.0"
        lines = text.splitlines()
        if lines and lines[0].startswith("#!"):
            lines.pop(0)
        if not lines or lines[0] != first:
            yield Problem(file, 1, "header", f"starts with `{first}`")
            continue
        said = ""
        for line in lines[1:6]:
            if file.endswith(".py"):
                said += " " + line
            elif line.startswith(comment):
                said += line.removeprefix(comment)
            else:
                break
        if not re.search(r"\S[^.]*\.(\s|\"|$)", said):
            yield Problem(file, 2, "header", "the second line says in one sentence what this is")
        if file.endswith(".h") and "#pragma once" not in text:
            yield Problem(file, 1, "header", "#pragma once is missing")


def check_namespaces(tree: Tree) -> Iterator[Problem]:
    for file, text in tree.with_suffix(CODE):
        module = module_of(file)
        if module is None:
            continue
        extra = tree.rules.get("namespaces", {}).get(module, [])
        code = code_only(text)
        own = f"lakestream::{module}"
        for match in re.finditer(r"\bnamespace\s+([\w:]+)\s*\{", code):
            name, before = match.group(1), code[: match.start()]
            if before.count("{") > before.count("}"):  # nested in one that was checked
                continue
            if name != own and not name.startswith(own + "::") and name not in extra:
                line = line_of(code, match.start())
                yield Problem(file, line, "namespace", f"{name}: src/{module} is {own}")


def check_forbidden(tree: Tree) -> Iterator[Problem]:
    for file in tree.files:
        text = tree.text(file)
        for pattern, what in FORBIDDEN.items() if text else ():
            for match in re.finditer(pattern, text, re.M):
                line = line_of(text, match.start())
                yield Problem(file, line, "forbidden", f"{match.group()}: {what}")


_FENCED = re.compile(r"^```.*?^```", re.S | re.M)


def check_docs(tree: Tree) -> Iterator[Problem]:
    folders = {str(p) for f in tree.files for p in PurePosixPath(f).parents}
    known = folders | set(tree.files)
    for file, text in tree.with_suffix({".md"}):
        prose = _FENCED.sub(lambda m: "\n" * m.group().count("\n"), text)
        titles = re.findall(r"^# .+", prose, re.M)
        if len(titles) != 1:
            yield Problem(file, 1, "docs", f"{len(titles)} titles (`# `), exactly one wanted")
        here = PurePosixPath(file).parent
        for match in re.finditer(r"\]\(([^)#\s]+)(#[^)]*)?\)", prose):
            target = match.group(1)
            if "://" not in target and normal(here / target) not in known:
                yield Problem(file, line_of(prose, match.start()), "docs", f"dead link {target}")
        for match in re.finditer(r"`([^`\s]+)`", prose):
            if is_dead_path(match.group(1), here, known):
                line = line_of(prose, match.start())
                yield Problem(file, line, "docs", f"no such path: {match.group(1)}")


_TOP = r"(src|include|tests|tools|docs|sim|cmake|examples)"


def is_dead_path(quoted: str, here: PurePosixPath, known: set[str]) -> bool:
    if not re.fullmatch(rf"{_TOP}/[\w./-]+", quoted) and not re.fullmatch(r"[\w-]+\.md", quoted):
        return False
    path = quoted.rstrip("/")
    return path not in known and normal(here / path) not in known


def normal(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts:
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts) or "."


def check_module_docs(tree: Tree) -> Iterator[Problem]:
    for module in tree.modules():
        file = f"src/{module}/README.md"
        text = tree.text(file) if file in tree.files else None
        if text is None:
            advice = "missing: purpose, nouns, entry file, what it must never do"
            yield Problem(file, 1, "readme", advice)
        elif len(text.splitlines()) > README_MAX:
            yield Problem(file, README_MAX, "readme", f"longer than {README_MAX} lines")
    file = "ARCHITECTURE.md"
    text = tree.text(file) if file in tree.files else ""
    if len(text.splitlines()) > ARCHITECTURE_MAX:
        yield Problem(file, ARCHITECTURE_MAX, "readme", f"longer than {ARCHITECTURE_MAX} lines")
    table = re.search(r"^\| module \|.*\n\|[-|]+\n((?:\|.*\n)*)", text, re.M)
    listed = re.findall(r"^\| [\[`](\w+)", table[1] if table else "", re.M)
    for name in sorted(set(listed) ^ set(tree.modules())):
        where = "its table of modules" if name in tree.modules() else "src/"
        yield Problem(file, 1, "readme", f"{name} is missing in {where}")


def check_generated(tree: Tree) -> Iterator[Problem]:
    for made in tree.rules.get("generated", []):
        ran = subprocess.run(made["command"], cwd=tree.root, capture_output=True, text=True)
        command = " ".join(made["command"])
        if ran.returncode != 0:
            yield Problem(made["file"], 1, "generated", f"{command} failed: {ran.stderr.strip()}")
        elif made["file"] not in tree.files or ran.stdout != tree.text(made["file"]):
            yield Problem(made["file"], 1, "generated", f"stale: {command} > {made['file']}")


CHECKS = [
    check_includes, check_banned, check_sizes, check_headers, check_namespaces, check_forbidden,
    check_docs, check_module_docs, check_generated,
]  # fmt: skip


def problems(root: Path) -> list[Problem]:
    """All problems of the tree at `root`, without the allowed ones."""
    tree = Tree(root)
    found = [problem for check in CHECKS for problem in check(tree)]
    for allow in tree.rules.get("allow", []):
        covered = {p for p in found if allows(allow, p)}
        found = [p for p in found if p not in covered]
        if not allow.get("reason"):
            found.append(Problem(LAYERS, 1, "allow", f"{allow['file']}: give a reason"))
        if not covered:
            advice = f"{allow['file']} needs no exception from {allow['rule']} any more"
            found.append(Problem(LAYERS, 1, "allow", advice))
    return sorted(set(found))


def allows(allow: dict, problem: Problem) -> bool:
    same_place = problem.rule == allow["rule"] and problem.file == allow["file"]
    return same_place and allow["text"] in problem.text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", help="show only problems below these paths")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    arguments = parser.parse_args()
    found = [
        p
        for p in problems(arguments.root)
        if not arguments.paths or p.file.startswith(tuple(arguments.paths))
    ]
    for problem in found:
        print(problem)
    print(f"tidy: {len(found)} problems" if found else "tidy: clean")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
