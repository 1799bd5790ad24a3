#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Unpacks a pyarrow wheel into an SDK: include/ and lib/, without the symbols that would clash.

The wheel's libparquet exports the OpenSSL linked into it, and simdjson and thrift; libarrow_compute
exports re2. Another library in our process would bind to them, or they to the system's. So each
foreign symbol is made hidden in the copy: the library keeps using it, nobody else can see it.
"""

import argparse
import re
import shutil
import struct
import sys
import zipfile
from pathlib import Path

LIBRARIES = ("arrow", "arrow_compute", "arrow_acero", "arrow_dataset", "parquet", "arrow_s3")

# The exported symbols each library keeps. All C++ symbols that are not named stay: libarrow's
# OpenTelemetry, for one, is used by the others.
KEPT = {
    "parquet": re.compile(rb"^_Z(?!.*(8simdjson|19simdjson_fast_float|6apache6thrift))"),
    "arrow_compute": re.compile(rb"^(?!_Z[A-Z]*N?K?3re2)"),
}

SHT_DYNSYM = 11
STV_HIDDEN = 2


def hide_symbols(elf: bytearray, kept: re.Pattern) -> int:
    """Make every exported symbol of a 64-bit little-endian ELF library hidden that does not match
    `kept`; returns how many."""
    if elf[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    (table,) = struct.unpack_from("<Q", elf, 0x28)
    entry_size, count, _ = struct.unpack_from("<HHH", elf, 0x3A)
    sections = [
        struct.unpack_from("<IIQQQQIIQQ", elf, table + i * entry_size) for i in range(count)
    ]
    hidden = 0
    for _, kind, _, _, offset, size, link, _, _, symbol_size in sections:
        if kind != SHT_DYNSYM:
            continue
        names = sections[link][4]
        for symbol in range(offset + symbol_size, offset + size, symbol_size):
            name, info, other, section = struct.unpack_from("<IBBH", elf, symbol)
            if section == 0 or info >> 4 == 0:  # undefined, or local
                continue
            end = elf.index(0, names + name)
            if not kept.search(elf[names + name : end]):
                elf[symbol + 5] = other & ~3 | STV_HIDDEN
                hidden += 1
    return hidden


def unpack(wheel: Path, prefix: Path) -> None:
    """Write `prefix`/include and `prefix`/lib; the folder appears complete or not at all."""
    partial = prefix.with_name(prefix.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    (partial / "lib").mkdir(parents=True)
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            if re.match(r"pyarrow/include/(?!arrow/python/).*[^/]$", member):
                header = partial / member.removeprefix("pyarrow/")
                header.parent.mkdir(parents=True, exist_ok=True)
                header.write_bytes(archive.read(member))
            elif match := re.fullmatch(r"pyarrow/lib(\w+)\.so\.(\d+)", member):
                if match[1] in LIBRARIES:
                    write_library(partial / "lib", match[1], match[2], archive.read(member))
    shutil.rmtree(prefix, ignore_errors=True)
    partial.rename(prefix)


def write_library(folder: Path, name: str, version: str, content: bytes) -> None:
    elf = bytearray(content)
    hidden = hide_symbols(elf, KEPT[name]) if name in KEPT else 0
    if name in KEPT and hidden == 0:
        raise SystemExit(f"arrow_sdk: nothing to hide in lib{name}: has its symbol table changed?")
    file = folder / f"lib{name}.so.{version}"
    file.write_bytes(elf)
    file.chmod(0o755)
    (folder / f"lib{name}.so").symlink_to(file.name)
    print(f"arrow_sdk: {file.name}" + (f", {hidden} foreign symbols hidden" if hidden else ""))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("prefix", type=Path, help="the folder to make")
    arguments = parser.parse_args()
    unpack(arguments.wheel, arguments.prefix)
    return 0


if __name__ == "__main__":
    sys.exit(main())
