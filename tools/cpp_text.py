# SPDX-License-Identifier: Apache-2.0
"""C++ source as text: code without comments and literals, and where its functions begin and end.

Not a parser. Good enough for the house's own style; tidy_test.py shows what it must get right.
"""

import re
from typing import Iterator, NamedTuple

_TOKEN = re.compile(
    r"""
    (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<raw>R"(?P<tag>[^()\s]*)\(.*?\)(?P=tag)")
  | (?P<string>"(?:\\.|[^"\\\n])*")
  | (?P<char>(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+')
    """,
    re.VERBOSE | re.DOTALL,
)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def code_only(source: str) -> str:
    """The source with comments and the insides of literals blanked; lines and columns stay."""

    def replace(match: re.Match) -> str:
        text = match.group()
        if match.lastgroup == "comment" or match.group("comment"):
            return _blank(text)
        return text[0] + _blank(text[1:-1]) + text[-1]

    return _TOKEN.sub(replace, source)


def _without_directives(code: str) -> str:
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: _blank(m.group()), code, flags=re.M)


def _matching_brace(code: str, opening: int) -> int:
    depth = 0
    for match in re.compile(r"[{}]").finditer(code, opening):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return match.start()
    return len(code) - 1


def _without_brackets(text: str, opening: str, closing: str) -> str:
    """Text outside nested brackets; the outermost pair itself stays."""
    out, depth = [], 0
    for char in text:
        if char == closing and depth > 0:
            depth -= 1
        if depth == 0:
            out.append(char)
        if char == opening:
            depth += 1
    return "".join(out)


_SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern|concept)\b")


def _kind(header: str) -> str:
    """What the brace after `header` opens: "function", "member" (an initializer or argument inside
    the header), "value" or "scope"."""
    header = re.sub(r"\[\[.*?\]\]", " ", header, flags=re.S)
    header = re.sub(r"^(\s|\b(public|protected|private)\s*:)+", "", header)
    flat = _without_brackets(header, "(", ")")
    if re.match(r"template\b", flat):
        flat = re.sub(r"^template\s*<>\s*", "", _without_brackets(flat, "<", ">"))
    if header.count("(") > header.count(")"):
        return "member"
    if "(" not in flat:
        return "value" if flat.rstrip().endswith("=") else "scope"
    before_parameters = flat[: flat.index("(")]
    if _SCOPE.search(before_parameters):
        return "scope"
    if "=" in before_parameters and "operator" not in before_parameters:
        return "value"
    after = flat[flat.index(")") + 1 :] if ")" in flat else ""
    if re.search(r"(?<!:):(?!:)", after) and re.search(r"[\w>]\s*$", flat):
        return "member"
    return "function"


class Function(NamedTuple):
    """A function body's place: 1-based line of its brace, and its length in lines."""

    line: int
    length: int
    header: str


def functions(source: str) -> Iterator[Function]:
    """Functions with a body at namespace or class level; a lambda is part of its function."""
    code = _without_directives(code_only(source))
    start, position = 0, 0
    boundary = re.compile(r"[;{}]")
    while match := boundary.search(code, position):
        position = match.end()
        if match.group() != "{":
            start = position
            continue
        header = code[start : match.start()]
        kind = _kind(header)
        if kind == "scope":
            start = position
            continue
        end = _matching_brace(code, match.start())
        position = end + 1
        if kind == "function":
            first = code.count("\n", 0, match.start()) + 1
            last = code.count("\n", 0, end) + 1
            yield Function(first, last - first + 1, " ".join(header.split()))
        if kind != "member":
            start = position
