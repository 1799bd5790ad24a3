// SPDX-License-Identifier: Apache-2.0
// Word count with Kafka Streams, ended and started once: StreamsSmoke BOOTSTRAP GUARANTEE.
// Prints PASS or dies.
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Materialized;

public class StreamsSmoke {
    static final int ROUNDS = 2;
    static final int RECORDS = 1000;
    static final int WORDS = 10;

    final String servers;
    final String guarantee;
    final String id = "streams-" + UUID.randomUUID();
    final String in = id + "-in";
    final String out = id + "-out";
    final Map<String, Integer> last = new HashMap<>();

    StreamsSmoke(String servers, String guarantee) {
        this.servers = servers;
        this.guarantee = guarantee;
    }

    Properties properties(String... pairs) {
        Properties all = new Properties();
        all.put("bootstrap.servers", servers);
        for (int i = 0; i < pairs.length; i += 2) {
            all.put(pairs[i], pairs[i + 1]);
        }
        return all;
    }

    /** With a topic to repartition by, and a compacted change log. */
    KafkaStreams start() {
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(in).selectKey((key, word) -> word).groupByKey()
            .count(Materialized.as("counts")).toStream().mapValues(String::valueOf).to(out);
        Properties all = properties("application.id", id, "processing.guarantee", guarantee,
            "commit.interval.ms", "200", "replication.factor", "1",
            "state.dir", System.getProperty("java.io.tmpdir") + "/" + UUID.randomUUID());
        all.put("default.key.serde", Serdes.String().getClass());
        all.put("default.value.serde", Serdes.String().getClass());
        KafkaStreams streams = new KafkaStreams(builder.build(), all);
        streams.start();
        return streams;
    }

    boolean reached(int count) {
        return last.size() == WORDS && last.values().stream().allMatch(n -> n == count);
    }

    void read(KafkaConsumer<String, String> consumer) {
        for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
            int count = Integer.parseInt(record.value());
            int before = last.getOrDefault(record.key(), 0);
            if (count < before && guarantee.startsWith("exactly")) {
                throw new AssertionError(record.key() + " fell from " + before + " to " + count);
            }
            last.put(record.key(), count);
        }
    }

    void run() throws Exception {
        try (Admin admin = Admin.create(properties())) {
            admin.createTopics(List.of(new NewTopic(in, 3, (short) 1),
                new NewTopic(out, 3, (short) 1))).all().get();
        }
        var producer = new KafkaProducer<>(
            properties(), new StringSerializer(), new StringSerializer());
        var consumer = new KafkaConsumer<>(
            properties("group.id", id + "-check", "auto.offset.reset", "earliest",
                "isolation.level", "read_committed"),
            new StringDeserializer(), new StringDeserializer());
        consumer.subscribe(List.of(out));
        for (int round = 1; round <= ROUNDS; round++) {
            KafkaStreams streams = start();
            for (int i = 0; i < RECORDS; i++) {
                producer.send(new ProducerRecord<>(in, null, "w" + i % WORDS));
            }
            producer.flush();
            int wanted = round * RECORDS / WORDS;
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
            while (!reached(wanted) && System.nanoTime() < end) {
                read(consumer);
            }
            if (!reached(wanted)) {
                throw new AssertionError("round " + round + ": " + last);
            }
            streams.close(Duration.ofSeconds(20));
        }
    }

    public static void main(String[] args) throws Exception {
        new StreamsSmoke(args[0], args[1]).run();
        System.out.println("PASS");
        System.exit(0);
    }
}
