#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes messages.json: random Kafka messages, encoded by Apache Kafka's own classes. See README.md.

    make_messages.py JARS      a folder with kafka-clients 4.4.0, jackson-databind and what they need
"""
import base64
import json
import pathlib
import random
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PROTOCOL = HERE.parents[2] / "third_party" / "kafka-protocol"
APIS = ["Produce", "Fetch", "ListOffsets", "Metadata", "ApiVersions", "CreateTopics", "DeleteTopics", "InitProducerId"]
APIS += [
    "AlterConfigs", "CreatePartitions", "DescribeCluster", "DescribeConfigs", "DescribeLogDirs", "DescribeProducers",
    "DescribeTopicPartitions", "ElectLeaders", "IncrementalAlterConfigs", "ListConfigResources",
    "ListPartitionReassignments", "OffsetForLeaderEpoch",
]
APIS += [
    "DeleteGroups", "DeleteRecords", "DescribeGroups", "FindCoordinator", "Heartbeat", "JoinGroup", "LeaveGroup",
    "ListGroups", "OffsetCommit", "OffsetDelete", "OffsetFetch", "SyncGroup",
]
BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
ALPHABET = "abcdefghijklmnopqrstuvwxyz-._0123456789é水"


def within(version, versions):
    return bool(versions) and versions[0] <= version <= versions[1]


class Maker:
    """Builds one message twice: as Kafka's JSON reader takes it, and with bytes as hex for our test."""

    def __init__(self, message, version, chance, plain):
        self.shared = {struct["name"]: struct["fields"] for struct in message.get("structs", [])}
        self.version, self.chance, self.plain = version, chance, plain

    def struct(self, fields):
        java, ours = {}, {}
        for field in fields:
            if "versions" in field and not within(self.version, field["versions"]):
                continue
            if field.get("tagged") and (self.plain or self.chance.random() < 0.4):
                continue
            name = field["name"][0].lower() + field["name"][1:]
            value = self.value(field)
            if field.get("tagged") and "default" in field and value[1] == field["default"]:
                continue
            java[name], ours[name] = value
        return java, ours

    def value(self, field):
        kind = field["type"].removeprefix("[]")
        nullable = within(self.version, field.get("nullable"))
        if nullable and (self.plain or self.chance.random() < 0.25) and not field.get("tagged"):
            return None, None
        if not field["type"].startswith("[]"):
            return self.single(kind, field)
        elements = [self.single(kind, field) for _ in range(0 if self.plain else self.chance.randint(1, 3))]
        return [java for java, _ in elements], [ours for _, ours in elements]

    def single(self, kind, field):
        if kind[0].isupper():
            return self.struct(field.get("fields") or self.shared[kind])
        if kind in ("bytes", "records"):
            data = self.chance.randbytes(0 if self.plain else self.chance.choice([1, 20, 127, 300]))
            return base64.b64encode(data).decode(), data.hex()
        value = self.scalar(kind)
        return value, value

    def scalar(self, kind):
        if kind == "bool":
            return True
        if kind == "uuid":
            data = bytes(16) if self.plain else self.chance.randbytes(16)
            return base64.urlsafe_b64encode(data).decode().rstrip("=")
        if kind == "string":
            length = 0 if self.plain else self.chance.choice([1, 5, 12, 40, 126, 127, 128])
            return "".join(self.chance.choice(ALPHABET) for _ in range(length))
        if kind == "float64":
            return 0.0 if self.plain else self.chance.choice([1.5, -1e300, 2.0**-30])
        if kind == "uint16":
            return 0 if self.plain else self.chance.choice([0xFFFF, self.chance.randrange(1, 0x10000)])
        half = 1 << (BITS[kind] - 1)
        return 0 if self.plain else self.chance.choice([half - 1, -half + 1, self.chance.randrange(1, half)])


def main():
    jars = sys.argv[1]
    raw = json.loads((PROTOCOL / "schemas.json").read_text())["messages"]
    by_name = {message["name"]: message for message in raw}
    names = ["RequestHeader", "ResponseHeader"] + [api + kind for api in APIS for kind in ("Request", "Response")]
    vectors, lines = [], []
    for name in names:
        message = by_name[name]
        for version in range(message["versions"][0], message["versions"][1] + 1):
            for plain in (True, False):
                maker = Maker(message, version, random.Random(f"{name} {version} {plain}"), plain)
                java, ours = maker.struct(message["fields"])
                vectors.append({"message": name, "version": version, "value": ours})
                lines.append(f"{name} {version} {json.dumps(java)}")
    run = subprocess.run(
        ["java", "-cp", f"{jars}/*", str(HERE / "EncodeMessages.java")],
        input="\n".join(lines) + "\n", text=True, encoding="utf-8", stdout=subprocess.PIPE, check=True)
    answers = run.stdout.split("\n")[:-1]
    assert len(answers) == len(vectors)
    for vector, answer in zip(vectors, answers):
        vector["hex"] = answer
    text = ",\n".join(json.dumps(vector, ensure_ascii=False) for vector in vectors)
    (HERE / "messages.json").write_text(f'{{"kafka": "4.4.0", "vectors": [\n{text}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
