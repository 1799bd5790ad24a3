// SPDX-License-Identifier: Apache-2.0
// One version of Apache Kafka's Java client, 0.11 or newer, at its ordinary work:
// ClientSmoke BOOTSTRAP VERSION.
// Prints "PASS step" or "FAIL step: why" for each step that this version has.
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class ClientSmoke {
    static final int PARTITIONS = 3;
    static final int RECORDS = 500;

    final String servers;
    final String version;
    final String topic = "java-" + UUID.randomUUID();
    final AdminClient admin;
    final Set<String> written = new HashSet<>();

    ClientSmoke(String servers, String version) {
        this.servers = servers;
        this.version = version;
        this.admin = AdminClient.create(properties());
    }

    static void check(boolean ok, String what) {
        if (!ok) {
            throw new AssertionError(what);
        }
    }

    Properties properties(String... pairs) {
        Properties all = new Properties();
        all.put("bootstrap.servers", servers);
        for (int i = 0; i < pairs.length; i += 2) {
            all.put(pairs[i], pairs[i + 1]);
        }
        return all;
    }

    static void step(String name, Callable<?> work) {
        try {
            work.call();
            System.out.println("PASS " + name);
        } catch (Throwable why) {
            System.out.println("FAIL " + name + ": " + why);
        }
    }

    static boolean has(String name) {
        try {
            Class.forName("org.apache.kafka." + name);
            return true;
        } catch (ClassNotFoundException e) {
            return false;
        }
    }

    /** poll(Duration) is missing before 2.0, poll(long) since 4.0. */
    @SuppressWarnings("unchecked")
    static ConsumerRecords<String, String> poll(KafkaConsumer<String, String> consumer)
        throws Exception {
        for (Method method : KafkaConsumer.class.getMethods()) {
            if (!method.getName().equals("poll") || method.getParameterCount() != 1) {
                continue;
            }
            boolean old = method.getParameterTypes()[0] == long.class;
            Object wait = old ? (Object) 200L : java.time.Duration.ofMillis(200);
            return (ConsumerRecords<String, String>) method.invoke(consumer, wait);
        }
        throw new IllegalStateException();
    }

    KafkaProducer<String, String> producer(String... pairs) {
        return new KafkaProducer<>(
            properties(pairs), new StringSerializer(), new StringSerializer());
    }

    KafkaConsumer<String, String> consumer(String... pairs) {
        Properties all = properties("auto.offset.reset", "earliest", "enable.auto.commit", "false",
            "isolation.level", "read_committed");
        for (int i = 0; i < pairs.length; i += 2) {
            all.put(pairs[i], pairs[i + 1]);
        }
        return new KafkaConsumer<>(all, new StringDeserializer(), new StringDeserializer());
    }

    Object create() throws Exception {
        NewTopic made = new NewTopic(topic, PARTITIONS, (short) 1);
        made.configs(Collections.singletonMap("retention.ms", "600000"));
        admin.createTopics(Collections.singleton(made)).all().get(30, TimeUnit.SECONDS);
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (!admin.listTopics().names().get().contains(topic)) {
            check(System.nanoTime() < end, "topic listed");
            Thread.sleep(50);
        }
        return null;
    }

    Object describe() throws Exception {
        check(admin.describeCluster().nodes().get().size() == 1, "nodes");
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        String kept = admin.describeConfigs(Collections.singleton(resource)).all()
            .get(30, TimeUnit.SECONDS).get(resource).get("retention.ms").value();
        check(kept.equals("600000"), "retention.ms is " + kept);
        return null;
    }

    /** A step of AdminSteps, which compiles with 2.0 or newer only. */
    Object admin(String name, String subject, int count) throws Exception {
        return Class.forName("AdminSteps")
            .getMethod(name, AdminClient.class, String.class, int.class)
            .invoke(null, admin, subject, count);
    }

    Object morePartitions() throws Exception {
        String grown = topic + "-grown";
        admin("partitions", grown, PARTITIONS);
        try (KafkaProducer<String, String> asking = producer("metadata.max.age.ms", "100")) {
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
            while (asking.partitionsFor(grown).size() != PARTITIONS) {
                check(System.nanoTime() < end, "more partitions");
                Thread.sleep(100);
            }
        }
        return null;
    }

    Object produce(String codec, boolean idempotent) throws Exception {
        String seed = codec + idempotent;
        try (KafkaProducer<String, String> producer = producer("acks", "all", "linger.ms", "5",
                 "compression.type", codec, "enable.idempotence", "" + idempotent)) {
            for (int i = 0; i < RECORDS; i++) {
                ProducerRecord<String, String> record =
                    new ProducerRecord<>(topic, "k" + i, seed + i);
                record.headers().add("h", new byte[] {1});
                producer.send(record);
                written.add(seed + i);
            }
        }
        return null;
    }

    Object transactions() throws Exception {
        try (KafkaProducer<String, String> producer = producer("transactional.id", topic,
                 "max.block.ms", "20000")) {
            producer.initTransactions();
            Set<String> committed = new HashSet<>();
            for (int n = 0; n < 4; n++) {
                producer.beginTransaction();
                for (int i = 0; i < 20; i++) {
                    String value = "transaction " + n + " " + i;
                    producer.send(new ProducerRecord<>(topic, "t", value));
                    if (n % 2 == 0) {
                        committed.add(value);
                    }
                }
                if (n % 2 == 0) {
                    producer.commitTransaction();
                } else {
                    producer.abortTransaction();
                }
            }
            written.addAll(committed);
        }
        return null;
    }

    /** Reads all in a group, commits; a second consumer of the group begins behind. */
    Object group(String... pairs) throws Exception {
        String group = topic + pairs.length;
        List<String> with = new ArrayList<>(List.of(pairs));
        with.addAll(List.of("group.id", group));
        String[] settings = with.toArray(new String[0]);
        List<String> got = new ArrayList<>();
        Map<TopicPartition, Long> behind = new HashMap<>();
        try (KafkaConsumer<String, String> consumer = consumer(settings)) {
            consumer.subscribe(Collections.singletonList(topic));
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(40);
            while (got.size() < written.size() && System.nanoTime() < end) {
                for (ConsumerRecord<String, String> record : poll(consumer)) {
                    got.add(record.value());
                    check(record.headers().toArray().length <= 1, "headers");
                }
            }
            check(got.size() == written.size(), "read " + got.size() + " of " + written.size());
            check(new HashSet<>(got).equals(written), "other records than written");
            for (TopicPartition partition : consumer.assignment()) {
                behind.put(partition, consumer.position(partition));
            }
            consumer.commitSync();
        }
        check(behind.size() == PARTITIONS, "assigned " + behind.keySet());
        try (KafkaConsumer<String, String> consumer = consumer(settings)) {
            consumer.subscribe(Collections.singletonList(topic));
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(40);
            while (consumer.assignment().size() < PARTITIONS && System.nanoTime() < end) {
                check(poll(consumer).isEmpty(), "read again what was committed");
            }
            for (Map.Entry<TopicPartition, Long> one : behind.entrySet()) {
                check(consumer.position(one.getKey()) == one.getValue(), "position");
            }
        }
        return null;
    }

    Object offsets() throws Exception {
        try (KafkaConsumer<String, String> consumer = consumer("group.id", topic + "-offsets")) {
            TopicPartition first = new TopicPartition(topic, 0);
            List<TopicPartition> one = Collections.singletonList(first);
            long end = consumer.endOffsets(one).get(first);
            check(consumer.beginningOffsets(one).get(first) == 0 && end > 0, "offsets");
            Map<TopicPartition, OffsetAndTimestamp> found =
                consumer.offsetsForTimes(Collections.singletonMap(first, 1L));
            check(found.get(first).offset() == 0, "offset of a time");
            consumer.assign(one);
            consumer.seek(first, end - 1);
            List<Long> read = new ArrayList<>();
            long late = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
            while (read.isEmpty() && System.nanoTime() < late) {
                poll(consumer).forEach(record -> read.add(record.offset()));
            }
            check(read.equals(List.of(end - 1)), "seek read " + read);
        }
        return null;
    }

    Object delete() throws Exception {
        admin.deleteTopics(Collections.singleton(topic)).all().get(30, TimeUnit.SECONDS);
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (admin.listTopics().names().get().contains(topic)) {
            check(System.nanoTime() < end, "topic gone");
            Thread.sleep(50);
        }
        return null;
    }

    void run() {
        step("create", this::create);
        step("describe", this::describe);
        List<String> codecs = new ArrayList<>(List.of("none", "gzip", "snappy", "lz4"));
        if (has("common.compress.ZstdFactory") || has("common.compress.ZstdCompression")) {
            codecs.add("zstd");
        }
        for (String codec : codecs) {
            step("produce " + codec, () -> produce(codec, false));
        }
        step("produce idempotent", () -> produce("lz4", true));
        step("group", () -> group());
        if (has("clients.admin.ListConsumerGroupsResult")) {
            step("groups", () -> admin("groups", topic + 0, PARTITIONS));
            step("partitions", this::morePartitions);
        }
        step("offsets", this::offsets);
        step("transactions", () -> {
            transactions();
            return group("client.id", "read-committed");
        });
        // Only a preview in 3.x.
        if (has("clients.consumer.GroupProtocol") && !version.startsWith("3.")) {
            step("consumer protocol",
                () -> group("group.protocol", "consumer", "client.id", "new"));
        }
        step("delete", this::delete);
    }

    public static void main(String[] args) {
        new ClientSmoke(args[0], args[1]).run();
        System.exit(0);
    }
}
