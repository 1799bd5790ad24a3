# SPDX-License-Identifier: Apache-2.0
"""Clients for Python, and kcat, behind the commands of README.md.

    python_client.py LIBRARY ADDRESS ID
"""

import base64
import queue
import subprocess
import sys
import threading
from dataclasses import dataclass

WAIT = 0.05  # seconds
FIRST_POLL = 60_000  # milliseconds, of kafka-python in a group
FETCH_WAIT = 20  # milliseconds; a consumer learns of a partition's end, or ends, only after it
SEPARATOR, KEY_END = b"\x1e", b"\x1f"


def decode(word: str) -> bytes | None:
    return None if word == "-" else base64.b64decode(word[1:])


def encode(data: bytes | None) -> str:
    return "-" if data is None else "=" + base64.b64encode(data).decode()


@dataclass
class Record:
    partition: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


def parse(line: str) -> Record:
    partition, timestamp, key, value, *rest = line.split(" ")
    headers = []
    for header in rest:
        end = header.index("=") if "=" in header else len(header) - 1
        headers.append((header[:end], decode(header[end:])))
    return Record(int(partition), int(timestamp), decode(key), decode(value), headers)


class Server:
    """The lines; a subclass has the commands as methods that give their answer's lines."""

    def __init__(self, address: str, identity: str):
        self.address = address
        self.id = identity
        self.lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        for line in sys.stdin:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def show(self, offset: int, record: Record) -> None:
        words = [
            record.partition,
            offset,
            record.timestamp,
            encode(record.key),
            encode(record.value),
        ]
        words += [name + encode(value) for name, value in record.headers]
        print(*words)

    def stopped(self) -> bool:
        sys.stdout.flush()
        if self.lines.empty():
            return False
        self.lines.get()
        return True

    def produce(self, topic: str, codec: str, idempotent: str, count: str):
        records = [parse(self.lines.get()) for _ in range(int(count))]
        return self.write(topic, codec, idempotent == "true", records)

    def serve(self) -> None:
        while (line := self.lines.get()) is not None:
            command, *words = line.split(" ")
            try:
                if command not in self.commands:
                    raise ValueError(f"unknown command {command}")
                for answer in getattr(self, command)(*words) or ():
                    print(answer)
                print(".", flush=True)
            except Exception as why:
                print("!", repr(why).replace("\n", " "), flush=True)

    commands = (
        "produce", "consume", "group", "create", "grow", "topics", "delete", "config", "set", "cut",
        "groups", "members", "offsets", "forget",
    )  # fmt: skip


def pairs(words: tuple[str, ...]) -> dict[str, str]:
    return dict(word.split("=", 1) for word in words)


class Confluent(Server):
    def __init__(self, address: str, identity: str):
        super().__init__(address, identity)
        import confluent_kafka
        import confluent_kafka.admin

        self.lib = confluent_kafka
        self.adm = confluent_kafka.admin
        self.base = {"bootstrap.servers": address, "client.id": identity}
        self.admin = self.adm.AdminClient(self.base)

    def write(self, topic, codec, idempotent, records):
        settings = {"compression.type": codec, "enable.idempotence": idempotent, "linger.ms": 20}
        producer = self.lib.Producer({**self.base, **settings})
        reports = [None] * len(records)

        def report_of(at):
            def report(error, message):
                reports[at] = error or message

            return report

        for at, record in enumerate(records):
            producer.produce(
                topic, partition=record.partition, timestamp=record.timestamp, key=record.key,
                value=record.value, headers=record.headers, on_delivery=report_of(at),
            )  # fmt: skip
            producer.poll(0)
        assert producer.flush(60) == 0, "not all delivered"
        for report in reports:
            assert not isinstance(report, self.lib.KafkaError), report
        return [f"{report.partition()} {report.offset()}" for report in reports]

    def print(self, message) -> None:
        self.show(
            message.offset(),
            Record(
                message.partition(), message.timestamp()[1], message.key(), message.value(),
                message.headers() or [],
            ),
        )  # fmt: skip

    def consumer(self, **settings):
        named = {name.replace("_", "."): value for name, value in settings.items()}
        return self.lib.Consumer({
            **self.base, "enable.auto.commit": False, "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": FETCH_WAIT, **named,
        })  # fmt: skip

    def consume(self, topic):
        consumer = self.consumer(group_id="unused", enable_partition_eof=True)
        partitions = consumer.list_topics(topic, 30).topics[topic].partitions
        consumer.assign([self.lib.TopicPartition(topic, p, 0) for p in partitions])
        ended = set()
        while len(ended) < len(partitions):
            message = consumer.poll(30)
            assert message is not None, "nothing for 30 s"
            if message.error() is None:
                self.print(message)
            elif message.error().code() == self.lib.KafkaError._PARTITION_EOF:
                ended.add(message.partition())
            else:
                raise self.lib.KafkaException(message.error())
        consumer.close()

    def group(self, group, topic):
        consumer = self.consumer(group_id=group, partition_assignment_strategy="range")

        def commit(*_):
            try:
                consumer.commit(asynchronous=False)
            except self.lib.KafkaException as why:
                if why.args[0].code() != self.lib.KafkaError._NO_OFFSET:
                    raise

        consumer.subscribe([topic], on_revoke=commit)
        while not self.stopped():
            message = consumer.poll(WAIT)
            if message is not None and message.error() is None:
                self.print(message)
            elif message is not None and not message.error().retriable():
                raise self.lib.KafkaException(message.error())
        commit()
        consumer.close()

    def resource(self, topic):
        return self.adm.ConfigResource(self.adm.ResourceType.TOPIC, topic)

    def create(self, topic, partitions, *configs):
        made = self.adm.NewTopic(topic, int(partitions), 1, config=pairs(configs))
        self.admin.create_topics([made])[topic].result(30)

    def grow(self, topic, partitions):
        grown = self.adm.NewPartitions(topic, int(partitions))
        self.admin.create_partitions([grown])[topic].result(30)

    def topics(self):
        return list(self.admin.list_topics(timeout=30).topics)

    def delete(self, topic):
        self.admin.delete_topics([topic])[topic].result(30)

    def config(self, topic):
        (future,) = self.admin.describe_configs([self.resource(topic)]).values()
        return [f"{name}={entry.value}" for name, entry in future.result(30).items()]

    def set(self, topic, pair):
        name, value = pair.split("=", 1)
        entry = self.adm.ConfigEntry(
            name, value, incremental_operation=self.adm.AlterConfigOpType.SET
        )
        resource = self.adm.ConfigResource(
            self.adm.ResourceType.TOPIC, topic, incremental_configs=[entry]
        )
        (future,) = self.admin.incremental_alter_configs([resource]).values()
        future.result(30)

    def cut(self, topic, partition, offset):
        at = self.lib.TopicPartition(topic, int(partition), int(offset))
        (future,) = self.admin.delete_records([at]).values()
        return [future.result(30).low_watermark]

    def groups(self):
        return [group.group_id for group in self.admin.list_consumer_groups().result(30).valid]

    def members(self, group):
        described = self.admin.describe_consumer_groups([group])[group].result(30)
        return [member.client_id for member in described.members]

    def offsets(self, group, topic):
        asked = self.lib.ConsumerGroupTopicPartitions(group)
        found = self.admin.list_consumer_group_offsets([asked])[group].result(30)
        return [
            f"{at.partition} {at.offset}"
            for at in found.topic_partitions
            if at.topic == topic and at.offset >= 0
        ]

    def forget(self, group):
        self.admin.delete_consumer_groups([group])[group].result(30)


class KafkaPython(Server):
    def __init__(self, address: str, identity: str):
        super().__init__(address, identity)
        import kafka
        import kafka.admin

        self.lib = kafka
        self.base = {"bootstrap_servers": address, "client_id": identity}
        self.admin = kafka.KafkaAdminClient(**self.base)

    def write(self, topic, codec, idempotent, records):
        producer = self.lib.KafkaProducer(
            **self.base, compression_type=None if codec == "none" else codec, linger_ms=20,
            enable_idempotence=idempotent, acks="all",
        )  # fmt: skip
        sent = [
            producer.send(
                topic, partition=record.partition, timestamp_ms=record.timestamp, key=record.key,
                value=record.value, headers=record.headers,
            )
            for record in records
        ]  # fmt: skip
        producer.flush(60)
        where = [future.get(30) for future in sent]
        producer.close()
        return [f"{at.partition} {at.offset}" for at in where]

    def print(self, got) -> None:
        record = Record(got.partition, got.timestamp, got.key, got.value, list(got.headers))
        self.show(got.offset, record)

    def consumer(self, **settings):
        ours = {
            "enable_auto_commit": False, "auto_offset_reset": "earliest",
            "fetch_max_wait_ms": FETCH_WAIT,
        }  # fmt: skip
        return self.lib.KafkaConsumer(**{**self.base, **ours, **settings})

    def consume(self, topic):
        consumer = self.consumer(group_id=None)
        found = consumer.partitions_for_topic(topic)
        partitions = [self.lib.TopicPartition(topic, p) for p in found]
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        ends = consumer.end_offsets(partitions)
        while any(consumer.position(p) < ends[p] for p in partitions):
            for records in consumer.poll(timeout_ms=50).values():
                for record in records:
                    self.print(record)
        consumer.close()

    def group(self, group, topic):
        from kafka.coordinator.assignors.range import RangePartitionAssignor

        # It commits before it gives partitions up; a listener of its own may not wait for that.
        consumer = self.consumer(
            group_id=group,
            enable_auto_commit=True,
            partition_assignment_strategy=[RangePartitionAssignor],
        )
        consumer.subscribe([topic])
        # It joins, learns of the topic, and joins again. A poll that ends during the second
        # SyncGroup loses the assignment, with any broker: the first one waits for records.
        wait = FIRST_POLL
        while not self.stopped():
            for records in consumer.poll(timeout_ms=wait).values():
                wait = 50
                for record in records:
                    self.print(record)
        consumer.commit()
        consumer.close()

    def resource(self, topic, configs=None):
        from kafka.admin import ConfigResource, ConfigResourceType

        return ConfigResource(ConfigResourceType.TOPIC, topic, configs=configs)

    def create(self, topic, partitions, *configs):
        made = {
            "num_partitions": int(partitions), "replication_factor": 1, "configs": pairs(configs),
        }  # fmt: skip
        self.admin.create_topics({topic: made})

    def grow(self, topic, partitions):
        self.admin.create_partitions({topic: int(partitions)})

    def topics(self):
        return self.admin.list_topics()

    def delete(self, topic):
        self.admin.delete_topics([topic])

    def config(self, topic):
        found = self.admin.describe_configs([self.resource(topic)], config_filter="all")
        (topics,) = found.values()
        return [f"{name}={entry['value']}" for name, entry in topics[topic].items()]

    def set(self, topic, pair):
        self.admin.alter_configs([self.resource(topic, pairs((pair,)))])

    def cut(self, topic, partition, offset):
        at = self.lib.TopicPartition(topic, int(partition))
        return [self.admin.delete_records({at: int(offset)})[at]["low_watermark"]]

    def groups(self):
        return [group["group_id"] for group in self.admin.list_groups()]

    def members(self, group):
        described = self.admin.describe_groups([group])[group]
        return [member["client_id"] for member in described["members"]]

    def offsets(self, group, topic):
        found = self.admin.list_group_offsets([group])[group]
        return [
            f"{partition.partition} {at.offset}"
            for partition, at in found.items()
            if partition.topic == topic and at.offset >= 0
        ]

    def forget(self, group):
        self.admin.delete_groups([group])


class Kcat(Server):
    """Its records have the time of their writing and one header for all."""

    commands = ("produce", "consume", "group", "topics")

    def run(self, *arguments: str, input: bytes = b"") -> bytes:
        done = subprocess.run(
            ["kcat", "-b", self.address, "-X", f"client.id={self.id}", *arguments],
            input=input, capture_output=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    def write(self, topic, codec, idempotent, records):
        # -Z makes null of what is empty.
        for partition in sorted({record.partition for record in records}):
            rows = [
                (r.key or b"") + KEY_END + (r.value or b"")
                for r in records
                if r.partition == partition
            ]
            self.run(
                "-P", "-t", topic, "-p", str(partition), "-z", codec, "-Z",
                "-D", SEPARATOR.decode(), "-K", KEY_END.decode(), "-H", "writer=kcat",
                "-X", f"enable.idempotence={str(idempotent).lower()}",
                input=SEPARATOR.join(rows),
            )  # fmt: skip
        return []

    READ = ("-e", "-q", "-X", f"fetch.wait.max.ms={FETCH_WAIT}", "-f", "%p %o %T %K %S %h\n%k%s\n")

    def rows(self, data: bytes) -> None:
        while data:
            line, data = data.split(b"\n", 1)
            partition, offset, timestamp, key_size, size, *header = line.decode().split(" ")
            sizes = [max(int(key_size), 0), max(int(size), 0)]
            key = None if int(key_size) < 0 else data[: sizes[0]]
            value = None if int(size) < 0 else data[sizes[0] : sum(sizes)]
            data = data[sum(sizes) + 1 :]
            headers = []
            for pair in filter(None, " ".join(header).split(",")):
                name, _, text = pair.partition("=")
                headers.append((name, None if text == "NULL" else text.encode()))
            self.show(int(offset), Record(int(partition), int(timestamp), key, value, headers))

    def consume(self, topic):
        self.rows(self.run("-C", "-t", topic, "-o", "beginning", *self.READ))

    def group(self, group, topic):
        """Reads to the end, then waits for the stop: kcat commits when it ends."""
        self.rows(self.run(*self.READ, "-X", "auto.offset.reset=earliest", "-G", group, topic))
        sys.stdout.flush()
        self.lines.get()

    def topics(self):
        listed = self.run("-L").decode()
        return [line.split('"')[1] for line in listed.splitlines() if line.startswith('  topic "')]


if __name__ == "__main__":
    library = {"confluent": Confluent, "kafka-python": KafkaPython, "kcat": Kcat}[sys.argv[1]]
    library(*sys.argv[2:4]).serve()
