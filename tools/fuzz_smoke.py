#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the fuzzers and runs each for a few seconds; the canary must crash, the others must not.

Seeds of a fuzzer are in tests/corpus/<fuzzer>/. What it finds stays in build/fuzz/found/: add the
file to the corpus together with the fix.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/fuzz"
FOUND = BUILD / "found"
CANARY = "canary_fuzz"
CANARY_SECONDS = 60

# A decoder may not allocate by a claimed size, nor take seconds for an input of this size.
LIMITS = ["-max_len=65536", "-malloc_limit_mb=256", "-rss_limit_mb=2048", "-timeout=10"]


def build() -> None:
    commands = [
        ["cmake", "--preset", "fuzz", "--log-level=WARNING"],
        ["cmake", "--build", "--preset", "fuzz", "--target", "fuzzers"],
    ]
    for command in commands:
        ran = subprocess.run(command, cwd=ROOT, text=True, capture_output=True)
        if ran.returncode != 0:
            sys.exit(f"{ran.stdout}{ran.stderr}\nfuzz_smoke: `{' '.join(command)}` failed")


def fuzz(program: Path, seconds: int, seed: int) -> str | None:
    """Run one fuzzer and print a line about it; returns what is wrong, or None."""
    name = program.name
    canary = name == CANARY
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as grown:
        corpora = [grown] + [str(p) for p in [ROOT / "tests/corpus" / name] if p.is_dir()]
        arguments = [
            f"-max_total_time={CANARY_SECONDS if canary else seconds}",
            f"-seed={seed}",
            f"-artifact_prefix={FOUND}/{name}-",
            "-print_final_stats=1",
            *LIMITS,
        ]
        ran = subprocess.run(
            [program, *arguments, *corpora], text=True, errors="replace", capture_output=True
        )
    executed = re.search(r"stat::number_of_executed_units:\s*(\d+)", ran.stderr)
    count = int(executed[1]) if executed else 0
    crashed = ran.returncode != 0
    verdict = "crashed, as it must" if canary and crashed else "CRASHED" if crashed else "fine"
    print(f"{name}: {count} inputs in {time.monotonic() - began:.0f} s: {verdict}", flush=True)
    if canary:
        return None if crashed else f"{name} found nothing: the fuzzers are blind"
    if crashed:
        found = re.search(r"Test unit written to (\S+)", ran.stderr)
        replay = f"replay: {program} {found[1]}" if found else ""
        return f"{ran.stderr[-6000:]}\n{name} failed (seed {seed}). {replay}"
    if count < 10:
        return f"{name} ran only {count} inputs"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=int(os.environ.get("FUZZ_SECONDS", "5")))
    parser.add_argument("--fresh-seed", action="store_true", help="not the fixed seed 1")
    parser.add_argument("names", nargs="*", help="only these fuzzers")
    arguments = parser.parse_args()
    build()
    FOUND.mkdir(exist_ok=True)
    programs = [Path(line) for line in (BUILD / "fuzzers.txt").read_text().split()]
    if CANARY not in {program.name for program in programs}:
        sys.exit(f"fuzz_smoke: no {CANARY} among the fuzzers")
    if arguments.names:
        programs = [program for program in programs if program.name in arguments.names]
    seed = random.randrange(1, 2**31) if arguments.fresh_seed else 1
    print(f"fuzzing {len(programs)} programs, {arguments.seconds} s each, seed {seed}", flush=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = list(pool.map(lambda p: fuzz(p, arguments.seconds, seed), programs))
    wrong = [outcome for outcome in outcomes if outcome]
    for text in wrong:
        print(f"\n{text}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
