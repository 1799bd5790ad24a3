# SPDX-License-Identifier: Apache-2.0
"""Apache Kafka's command line tools: each does its ordinary job."""

import json
import re
import subprocess
import uuid
from dataclasses import dataclass
from pathlib import Path

from brokers import KAFKA_VERSION, java
from suite import FAIL, PASS, Outcomes, Run, Suite

STEP_TIMEOUT = 90  # seconds
PACKAGE = "org.apache.kafka.tools."

TOOLS = {
    "topics": "TopicCommand",
    "configs": "ConfigCommand",
    "groups": "consumer.group.ConsumerGroupCommand",
    "acls": "AclCommand",
    "producer-perf": "ProducerPerformance",
    "consumer-perf": "ConsumerPerformance",
    "verifiable-producer": "VerifiableProducer",
    "verifiable-consumer": "VerifiableConsumer",
    "console-producer": "ConsoleProducer",
    "console-consumer": "consumer.ConsoleConsumer",
    "api-versions": "BrokerApiVersionsCommand",
    "get-offsets": "GetOffsetShell",
    "delete-records": "DeleteRecordsCommand",
    "transactions": "TransactionsCommand",
    "log-dirs": "LogDirsCommand",
    "features": "FeatureCommand",
    "cluster": "ClusterTool",
    "reassign": "reassign.ReassignPartitionsCommand",
    "leader-election": "LeaderElectionCommand",
}


@dataclass(frozen=True)
class Step:
    """Passes when the tool ends with `code` and prints `pattern`."""

    name: str
    pattern: str
    tool: str
    arguments: str  # {topic}, {group}, {address} and {folder} are filled in
    code: int = 0
    input: str = ""


B = "--bootstrap-server {address} "
TOPIC = B + "--entity-type topics --entity-name {topic} "

STEPS = [
    Step("api-versions", r"Produce\(0\)", "api-versions", B),
    Step("cluster-id", r"Cluster ID: \S+", "cluster", "cluster-id " + B),
    Step("cluster-endpoints", r"127\.0\.0\.1", "cluster", "list-endpoints " + B),
    Step("topics-create", "Created topic", "topics",
         B + "--create --topic {topic} --partitions 3 --config retention.ms=600000"),
    Step("topics-create-again", "already exists", "topics", B + "--create --topic {topic}", code=1),
    Step("topics-create-if-not-exists", "", "topics",
         B + "--create --topic {topic} --if-not-exists"),
    Step("topics-create-defaults", "Created topic", "topics", B + "--create --topic {topic}-d"),
    Step("topics-create-bad-config", "(?i)unknown topic config|invalid", "topics",
         B + "--create --topic {topic}-bad --config no.such.config=1", code=1),
    Step("topics-list", r"(?m)^{topic}$", "topics", B + "--list"),
    Step("topics-describe", "PartitionCount: 3.*retention.ms=600000", "topics",
         B + "--describe --topic {topic}"),
    Step("topics-describe-missing", "does not exist", "topics",
         B + "--describe --topic {topic}-missing", code=1),
    Step("topics-alter", "", "topics", B + "--alter --topic {topic} --partitions 4"),
    Step("topics-alter-fewer", "(?i)partitions", "topics",
         B + "--alter --topic {topic} --partitions 2", code=1),
    Step("topics-altered", "PartitionCount: 4", "topics", B + "--describe --topic {topic}"),
    Step("topics-under-replicated", "", "topics", B + "--describe --under-replicated-partitions"),
    Step("configs-alter", "Completed updating", "configs",
         TOPIC + "--alter --add-config max.message.bytes=200000"),
    Step("configs-alter-bad", "(?i)invalid", "configs",
         TOPIC + "--alter --add-config max.message.bytes=x", code=1),
    Step("configs-describe", "max.message.bytes=200000", "configs", TOPIC + "--describe"),
    Step("configs-describe-all", "(?s)cleanup.policy=delete.*segment.bytes=", "configs",
         TOPIC + "--describe --all"),
    Step("configs-delete", "Completed updating", "configs",
         TOPIC + "--alter --delete-config max.message.bytes"),
    Step("configs-append", "Completed updating", "configs",
         TOPIC + "--alter --add-config cleanup.policy=delete"),
    Step("configs-broker", "message.max.bytes", "configs",
         B + "--describe --entity-type brokers --all"),
    Step("verifiable-producer", '"acked":500', "verifiable-producer",
         B + "--topic {topic} --max-messages 500 --acks -1"),
    Step("console-producer", "", "console-producer", B + "--topic {topic}-d", input="a\nb\nc\n"),
    Step("console-consumer-no-group", "Processed a total of 3", "console-consumer",
         B + "--topic {topic}-d --from-beginning --max-messages 3 --timeout-ms 30000"),
    Step("console-consumer", "Processed a total of 500", "console-consumer",
         B + "--topic {topic} --from-beginning --max-messages 500 --group {group}"
             " --timeout-ms 30000"),
    Step("verifiable-consumer", '"count":', "verifiable-consumer",
         B + "--topic {topic} --group-id {group}-v --max-messages 500 --reset-policy earliest"),
    Step("get-offsets", r"{topic}:0:\d+", "get-offsets", B + "--topic {topic} --time -1"),
    Step("get-offsets-max-timestamp", "{topic}:", "get-offsets", B + "--topic {topic} --time -3"),
    Step("groups-list", "{group}", "groups", B + "--list"),
    Step("groups-list-state", "{group} .*Empty", "groups", B + "--list --state"),
    Step("groups-describe", "{topic}", "groups", B + "--describe --group {group}"),
    Step("groups-describe-offsets", r"{topic} +\d+ +(\d+) +\1 +0", "groups",
         B + "--describe --offsets --group {group}"),
    Step("groups-describe-state", "{group}.*Empty", "groups",
         B + "--describe --state --group {group}"),
    Step("groups-describe-members", "no active members", "groups",
         B + "--describe --members --group {group}"),
    Step("groups-describe-missing", "(?i)does not exist|not found", "groups",
         B + "--describe --group {group}-missing"),
    Step("groups-reset", r"{topic} +\d+ +0", "groups",
         B + "--reset-offsets --to-earliest --group {group} --topic {topic} --execute"),
    Step("groups-reset-shift", r"{topic} +\d+ +7", "groups",
         B + "--reset-offsets --shift-by 7 --group {group} --topic {topic} --execute"),
    Step("groups-reset-time", r"{topic} +\d+ +\d+", "groups",
         B + "--reset-offsets --to-datetime 2020-01-01T00:00:00.000 --group {group}"
             " --topic {topic} --execute"),
    Step("groups-reset-latest", r"{topic} +\d+ +\d+", "groups",
         B + "--reset-offsets --to-latest --group {group} --all-topics --execute"),
    Step("groups-delete-offsets", "Successful", "groups",
         B + "--delete-offsets --group {group} --topic {topic}"),
    Step("groups-delete", "successful", "groups", B + "--delete --group {group}"),
    Step("delete-records", r"low_watermark: \d+", "delete-records",
         B + "--offset-json-file {folder}/delete.json"),
    Step("get-offsets-earliest", r"{topic}:\d:[1-9]\d*", "get-offsets",
         B + "--topic {topic} --time -2"),
    Step("transactions-list", "TransactionalId", "transactions", B + "list"),
    Step("transactions-producers", "ProducerId", "transactions",
         B + "describe-producers --topic {topic} --partition 0"),
    Step("log-dirs", '"{topic}-0"', "log-dirs", B + "--describe --topic-list {topic}"),
    Step("features", "transaction.version|group.version|metadata.version", "features",
         B + "describe"),
    Step("acls-add", "Adding ACLs", "acls",
         B + "--add --allow-principal User:alice --operation Read --topic {topic}"),
    Step("acls-list", "User:alice", "acls", B + "--list --topic {topic}"),
    Step("acls-remove", "", "acls",
         B + "--remove --force --allow-principal User:alice --operation Read --topic {topic}"),
    Step("scram-add", "Completed updating", "configs",
         B + "--alter --entity-type users --entity-name alice"
             " --add-config SCRAM-SHA-256=[password=x]"),
    Step("scram-describe", "SCRAM-SHA-256", "configs",
         B + "--describe --entity-type users --entity-name alice"),
    Step("quota-add", "Completed updating", "configs",
         B + "--alter --entity-type clients --entity-name c1"
             " --add-config producer_byte_rate=1048576"),
    Step("quota-describe", "producer_byte_rate", "configs",
         B + "--describe --entity-type clients --entity-name c1"),
    Step("reassign-list", "No partition reassignments", "reassign", B + "--list"),
    Step("leader-election", "", "leader-election",
         B + "--election-type preferred --topic {topic} --partition 0"),
    Step("producer-perf", "records/sec", "producer-perf",
         B + "--topic {topic} --num-records 20000 --record-size 200 --throughput -1"),
    Step("consumer-perf", "MB.sec|data.consumed", "consumer-perf",
         B + "--topic {topic} --num-records 20000"),
    Step("topics-delete", "", "topics", B + "--delete --topic {topic}"),
    Step("topics-delete-pattern", "", "topics", B + "--delete --topic {topic}.*"),
    Step("topics-deleted", r"\A(?!.*{topic})", "topics", B + "--list"),
]  # fmt: skip


def passed(step: Step, words: dict[str, str], log: Path) -> bool:
    command = java(PACKAGE + TOOLS[step.tool], *step.arguments.format(**words).split())
    try:
        done = subprocess.run(
            command, input=step.input, capture_output=True, text=True, timeout=STEP_TIMEOUT
        )
        code, output = done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired as late:
        code, output = -1, f"after {STEP_TIMEOUT} s: {late.stdout} {late.stderr}"
    log.write_text(f"$ {' '.join(command[-8:])}\n{output}\nended with {code}\n")
    pattern = step.pattern
    for name, word in words.items():
        pattern = pattern.replace("{" + name + "}", re.escape(word))
    return code == step.code and re.search(pattern, output, re.S) is not None


def run(run: Run) -> Outcomes:
    topic = f"tools-{uuid.uuid4().hex[:8]}"
    words = {
        "topic": topic, "group": f"{topic}-group", "address": run.address, "folder": str(run.logs),
    }  # fmt: skip
    ends = [{"topic": topic, "partition": partition, "offset": -1} for partition in range(4)]
    cut = {"partitions": ends, "version": 1}
    (run.logs / "delete.json").write_text(json.dumps(cut))
    outcomes = {}
    for step in STEPS:
        if run.wanted(step.name):
            good = passed(step, words, run.logs / f"{step.name}.log")
            outcomes[step.name] = PASS if good else FAIL
    return outcomes


SUITE = Suite("tools", f"Apache Kafka {KAFKA_VERSION}, its command line tools", run)
