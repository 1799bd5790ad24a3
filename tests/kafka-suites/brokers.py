# SPDX-License-Identifier: Apache-2.0
"""What a suite runs against: our broker, a real Apache Kafka, or an address."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CACHE = ROOT / "build/kafka-suites"
KAFKA_VERSION = "4.4.0"
COPY_JARS = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"

# librdkafka's tests assume four partitions in a topic made on first use.
PARTITIONS = 4


# As PROPERTIES below have it for Apache Kafka.
FLAGS = ("--kafka-partitions-default", str(PARTITIONS))
GROUP_FLAGS = ("--group-initial-rebalance-delay", "0s", "--group-session-timeout-min", "1s")


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def jars(pom: Path, folder: Path, **properties: str) -> Path:
    """The jars of `pom` in `folder`; quick when they are there."""
    done = folder / "complete"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run(
            [
                "mvn", "-q", "-B", "-f", pom, COPY_JARS, f"-DoutputDirectory={folder}",
                "-DincludeScope=runtime",
                *(f"-D{name}={value}" for name, value in properties.items()),
            ],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        done.touch()
    return folder


def kafka_jars() -> Path:
    """Apache Kafka's broker and tools."""
    folder = CACHE / f"kafka-{KAFKA_VERSION}"
    return jars(HERE / "kafka.xml", folder, **{"kafka.version": KAFKA_VERSION})


# A tool lives for a second: the optimizing compiler would not pay.
QUICK = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


def java(main: str, *arguments: str, options: tuple[str, ...] = QUICK) -> list[str]:
    """The command line of a class of Apache Kafka."""
    return [
        "java", *options, f"-Dlog4j2.configurationFile={HERE}/log4j2.yaml",
        "-cp", f"{kafka_jars()}/*", main, *arguments,
    ]  # fmt: skip


@contextmanager
def lakestream(binary: Path) -> Iterator[str]:
    """Our broker on free ports; its address."""
    os.environ["LKS_BINARY"] = str(binary)
    os.environ.setdefault("LKS_INTEROP", str(ROOT / "build/interop"))
    sys.path.insert(0, str(ROOT / "tests/interop"))
    from broker import Broker

    with Broker(*FLAGS, *GROUP_FLAGS) as broker:
        yield broker.address
        broker.stop()
        broker.check()


PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
log.dirs={folder}/data
default.replication.factor=1
min.insync.replicas=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
share.coordinator.state.topic.num.partitions=4
num.partitions={partitions}
auto.create.topics.enable=true
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
group.consumer.min.session.timeout.ms=1000
group.consumer.min.heartbeat.interval.ms=500
transaction.max.timeout.ms=900000
log.cleaner.backoff.ms=1000
log.retention.check.interval.ms=5000
log.initial.task.delay.ms=1000
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:admin
allow.everyone.if.no.acl.found=true
"""


@contextmanager
def apache_kafka(heap: str = "1g") -> Iterator[str]:
    """One KRaft node of a real Apache Kafka; its address."""
    folder = Path(tempfile.mkdtemp(prefix="apache-kafka-"))
    port = free_port()
    address = f"127.0.0.1:{port}"
    settings = folder / "server.properties"
    settings.write_text(
        PROPERTIES.format(port=port, controller=free_port(), folder=folder, partitions=PARTITIONS)
    )
    storage = java("kafka.tools.StorageTool", "random-uuid")
    identity = subprocess.run(storage, capture_output=True, text=True, check=True).stdout.split()[
        -1
    ]
    subprocess.run(
        java("kafka.tools.StorageTool", "format", "-t", identity, "-c", str(settings)),
        check=True, capture_output=True,
    )  # fmt: skip
    log = folder / "log"
    with open(log, "wb") as out:
        process = subprocess.Popen(
            java(
                "kafka.Kafka", str(settings),
                options=(f"-Xmx{heap}", f"-Dkafka.logs.dir={folder}", "-Dkafka.log.level=INFO"),
            ),
            stdout=out, stderr=out, stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    try:
        deadline = time.monotonic() + 120
        while "Kafka Server started" not in log.read_text(errors="replace"):
            assert process.poll() is None, f"Apache Kafka ended: {log.read_text()[-2000:]}"
            assert time.monotonic() < deadline, f"Apache Kafka is not ready after 120 s, see {log}"
            time.sleep(0.1)
        yield address
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(folder)


@contextmanager
def running(address: str) -> Iterator[str]:
    """A broker that somebody else has started."""
    yield address


if __name__ == "__main__":  # brokers.py CLASS ARGUMENTS...: runs a tool of Apache Kafka
    tool = java(*sys.argv[1:])
    os.execvp(tool[0], tool)
