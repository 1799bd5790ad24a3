// SPDX-License-Identifier: Apache-2.0
// What Apache Kafka's Java client writes, it reads back: RoundTrip BOOTSTRAP. Prints PASS or dies.
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.OffsetOutOfRangeException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class RoundTrip {
    static final int PARTITIONS = 3;
    static final int RECORDS = 600;
    static final long FIRST_TIME = 1_700_000_000_000L;

    /** What was sent, where it went. */
    record Sent(ProducerRecord<byte[], byte[]> record, RecordMetadata where) {}

    static void check(boolean ok, String what) {
        if (!ok) {
            throw new AssertionError(what);
        }
    }

    static Properties properties(String bootstrap, String... pairs) {
        Properties all = new Properties();
        all.put("bootstrap.servers", bootstrap);
        for (int i = 0; i < pairs.length; i += 2) {
            all.put(pairs[i], pairs[i + 1]);
        }
        return all;
    }

    /** The client's defaults are idempotent, acks=all, five requests in flight. */
    static List<Sent> produce(String bootstrap, String topic, String codec) throws Exception {
        Random random = new Random(codec.hashCode());
        List<ProducerRecord<byte[], byte[]>> records = new ArrayList<>();
        List<Future<RecordMetadata>> acknowledged = new ArrayList<>();
        Properties properties =
            properties(bootstrap, "compression.type", codec, "batch.size", "4000");
        try (var producer = new KafkaProducer<>(
                 properties, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (int i = 0; i < RECORDS; i++) {
                byte[] key = i % 3 == 0 ? null : ("key " + i).getBytes(StandardCharsets.UTF_8);
                byte[] value = new byte[random.nextInt(i % 100 == 0 ? 200_000 : 300)];
                random.nextBytes(value);
                value = i % 50 == 7 ? null : value;
                int partition = i % PARTITIONS;
                var record = new ProducerRecord<>(topic, partition, FIRST_TIME + i, key, value);
                byte[] number = Integer.toString(i).getBytes(StandardCharsets.UTF_8);
                record.headers().add("number", number);
                record.headers().add("empty", null);
                records.add(record);
                acknowledged.add(producer.send(record));
            }
        }
        List<Sent> sent = new ArrayList<>();
        for (int i = 0; i < RECORDS; i++) {
            sent.add(new Sent(records.get(i), acknowledged.get(i).get()));
        }
        return sent;
    }

    static List<TopicPartition> partitions(String topic) {
        return IntStream.range(0, PARTITIONS).mapToObj(i -> new TopicPartition(topic, i)).toList();
    }

    static void same(Sent sent, ConsumerRecord<byte[], byte[]> got) {
        String what = sent.record().topic() + " " + got.partition() + " " + got.offset();
        check(Arrays.equals(sent.record().key(), got.key()), what + ": key");
        check(Arrays.equals(sent.record().value(), got.value()), what + ": value");
        check(sent.record().timestamp() == got.timestamp(), what + ": timestamp");
        check(sent.record().headers().equals(got.headers()), what + ": headers");
    }

    /** Everything from the positions on, in order. */
    static List<ConsumerRecord<byte[], byte[]>> read(
        KafkaConsumer<byte[], byte[]> consumer, int count
    ) {
        List<ConsumerRecord<byte[], byte[]>> all = new ArrayList<>();
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (all.size() < count) {
            check(System.nanoTime() < end, "read " + all.size() + " of " + count);
            consumer.poll(Duration.ofMillis(200)).forEach(all::add);
        }
        check(all.size() == count, "read " + all.size() + " of " + count);
        return all;
    }

    static void consume(String bootstrap, String topic, List<Sent> sent) {
        Map<Integer, Map<Long, Sent>> wanted = sent.stream().collect(Collectors.groupingBy(
            s -> s.where().partition(), Collectors.toMap(s -> s.where().offset(), s -> s)));
        var all = partitions(topic);
        try (var consumer = new KafkaConsumer<>(
                 properties(bootstrap, "enable.auto.commit", "false"),
                 new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(all);
            consumer.seekToBeginning(all);
            for (var got : read(consumer, RECORDS)) {
                same(wanted.get(got.partition()).get(got.offset()), got);
            }
            // By offset, and by time.
            consumer.assign(all.subList(1, 2));
            consumer.seek(all.get(1), 150);
            check(read(consumer, RECORDS / PARTITIONS - 150).get(0).offset() == 150, "seek");
            long time = FIRST_TIME + RECORDS / 2;
            Map<TopicPartition, OffsetAndTimestamp> found = consumer.offsetsForTimes(
                all.stream().collect(Collectors.toMap(p -> p, p -> time)));
            for (Sent s : sent) {
                long later = s.record().timestamp() - time;
                if (later >= 0 && later < PARTITIONS) {
                    var hit = found.get(new TopicPartition(topic, s.where().partition()));
                    check(hit.offset() == s.where().offset(), "offset of a time: " + hit);
                    check(hit.timestamp() == s.record().timestamp(), "time of a time: " + hit);
                }
            }
            check(consumer.beginningOffsets(all).values().stream().allMatch(o -> o == 0), "begin");
            check(consumer.endOffsets(all).values().stream()
                .allMatch(o -> o == RECORDS / PARTITIONS), "end");
        }
    }

    static void topics(String bootstrap, Admin admin, String topic) throws Exception {
        var made = new NewTopic(topic, PARTITIONS, (short) 1);
        admin.createTopics(List.of(made)).all().get();
        check(admin.listTopics().names().get().contains(topic), "listed");
        try {
            admin.createTopics(List.of(made)).all().get();
            check(false, "created twice");
        } catch (ExecutionException e) {
            check(e.getCause() instanceof TopicExistsException, "created twice: " + e);
        }
        var described = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
        check(described.partitions().size() == PARTITIONS, "described");
    }

    /** To an offset inside a batch, then to the end; and not beyond it. */
    static void deleteRecords(String bootstrap, Admin admin, String topic) throws Exception {
        var partition = new TopicPartition(topic, 0);
        var to = Map.of(partition, RecordsToDelete.beforeOffset(7));
        var deleted = admin.deleteRecords(to).lowWatermarks().get(partition).get();
        check(deleted.lowWatermark() == 7, "low watermark");
        try (var consumer = new KafkaConsumer<>(
                properties(bootstrap), new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(List.of(partition));
            check(consumer.beginningOffsets(List.of(partition)).get(partition) == 7, "begin");
            consumer.seek(partition, 7);
            check(read(consumer, RECORDS / PARTITIONS - 7).get(0).offset() == 7, "first");
        }
        var all = Map.of(partition, RecordsToDelete.beforeOffset(-1));
        long end = admin.deleteRecords(all).lowWatermarks().get(partition).get().lowWatermark();
        check(end == RECORDS / PARTITIONS, "deleted to the end");
        try {
            var beyond = Map.of(partition, RecordsToDelete.beforeOffset(end + 1));
            admin.deleteRecords(beyond).all().get();
            check(false, "deleted beyond the end");
        } catch (ExecutionException e) {
            check(e.getCause() instanceof OffsetOutOfRangeException, "beyond the end: " + e);
        }
    }

    public static void main(String[] args) throws Exception {
        String bootstrap = args[0];
        try (Admin admin = Admin.create(properties(bootstrap))) {
            for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
                String topic = "java-" + codec;
                topics(bootstrap, admin, topic);
                List<Sent> sent = produce(bootstrap, topic, codec);
                consume(bootstrap, topic, sent);
                var newest = admin.listOffsets(Map.of(new TopicPartition(topic, 0),
                    OffsetSpec.maxTimestamp())).all().get();
                long last = newest.values().iterator().next().offset();
                check(last == RECORDS / PARTITIONS - 1, "newest");
                deleteRecords(bootstrap, admin, topic);
                admin.deleteTopics(Collections.singleton(topic)).all().get();
                check(!admin.listTopics().names().get().contains(topic), "deleted");
                System.out.println(codec + " done");
            }
        }
        System.out.println("PASS");
    }
}
