#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GitHub events without end: nested JSON of 1 to 28 KB, real payloads with varied ids and times.

    github_events.py COUNT          prints COUNT events, one a line: always the same ones
"""

import datetime
import itertools
import json
import lzma
import random
import sys
from pathlib import Path
from typing import Iterator

PAYLOADS = Path(__file__).resolve().parents[2] / "third_party/octokit-webhooks-examples"
FIRST_ID = 40_000_000_000
FIRST_TIME = datetime.datetime(2026, 11, 1, tzinfo=datetime.timezone.utc)
SEED = 42


def github_events() -> Iterator[dict]:
    """Oldest first, a fiftieth of a second apart on average."""
    chance = random.Random(SEED)
    groups = json.loads(lzma.decompress((PAYLOADS / "api.github.com.json.xz").read_bytes()))
    payloads = [(group["name"], example) for group in groups for example in group["examples"]]
    time = FIRST_TIME
    for number in itertools.count():
        name, payload = chance.choice(payloads)
        time += datetime.timedelta(milliseconds=chance.randint(0, 40))
        sender, repository = payload.get("sender") or {}, payload.get("repository") or {}
        yield {
            "id": str(FIRST_ID + number),
            "type": name,
            "created_at": time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "public": chance.random() < 0.9,
            "actor": {
                "id": chance.randint(1, 10**7),
                "login": sender.get("login", "x") + str(chance.randint(1, 9999)),
            },
            "repo": {"id": chance.randint(1, 10**8), "name": repository.get("full_name")},
            "payload": payload,
        }


def as_line(event: dict) -> bytes:
    """Compact JSON, without the line's end."""
    return json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode()


def main() -> int:
    for event in itertools.islice(github_events(), int(sys.argv[1])):
        sys.stdout.buffer.write(as_line(event) + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
