// SPDX-License-Identifier: Apache-2.0
// Apache Kafka's Java client, 2.0 or newer, behind the commands of README.md.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class Client {
    static final Duration WAIT = Duration.ofMillis(50);

    final String bootstrap;
    final String id;
    final AdminClient admin;
    final BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    final PrintStream out = new PrintStream(System.out, false);

    Client(String bootstrap, String id) {
        this.bootstrap = bootstrap;
        this.id = id;
        this.admin = AdminClient.create(properties());
    }

    Properties properties(String... pairs) {
        Properties all = new Properties();
        all.put("bootstrap.servers", bootstrap);
        all.put("client.id", id);
        for (int i = 0; i < pairs.length; i += 2) {
            all.put(pairs[i], pairs[i + 1]);
        }
        return all;
    }

    static byte[] bytes(String word) {
        return word.equals("-") ? null : Base64.getDecoder().decode(word.substring(1));
    }

    static String word(byte[] bytes) {
        return bytes == null ? "-" : "=" + Base64.getEncoder().encodeToString(bytes);
    }

    static ProducerRecord<byte[], byte[]> record(String topic, String line) {
        String[] w = line.split(" ");
        ProducerRecord<byte[], byte[]> made = new ProducerRecord<>(
            topic, Integer.valueOf(w[0]), Long.valueOf(w[1]), bytes(w[2]), bytes(w[3]));
        for (String header : Arrays.copyOfRange(w, 4, w.length)) {
            int end = header.indexOf('=') >= 0 ? header.indexOf('=') : header.length() - 1;
            made.headers().add(header.substring(0, end), bytes(header.substring(end)));
        }
        return made;
    }

    void print(ConsumerRecord<byte[], byte[]> record) {
        StringBuilder line = new StringBuilder();
        line.append(record.partition()).append(' ').append(record.offset()).append(' ')
            .append(record.timestamp()).append(' ').append(word(record.key())).append(' ')
            .append(word(record.value()));
        for (Header header : record.headers()) {
            line.append(' ').append(header.key()).append(word(header.value()));
        }
        out.println(line);
    }

    void produce(String topic, String codec, String idempotent, int count) throws Exception {
        List<ProducerRecord<byte[], byte[]>> records = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            records.add(record(topic, in.readLine()));
        }
        Properties properties = properties("compression.type", codec, "acks", "all", "linger.ms",
            "20", "enable.idempotence", idempotent);
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(
                 properties, new ByteArraySerializer(), new ByteArraySerializer())) {
            records.forEach(record -> sent.add(producer.send(record)));
        }
        for (Future<RecordMetadata> one : sent) {
            out.println(one.get().partition() + " " + one.get().offset());
        }
    }

    KafkaConsumer<byte[], byte[]> consumer(String... pairs) {
        Properties all = properties(pairs);
        all.put("enable.auto.commit", "false");
        all.put("auto.offset.reset", "earliest");
        all.put("fetch.max.wait.ms", "20");  // closing waits for the fetch under way
        return new KafkaConsumer<>(
            all, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    void consume(String topic) {
        try (KafkaConsumer<byte[], byte[]> consumer = consumer()) {
            List<TopicPartition> all = consumer.partitionsFor(topic).stream()
                .map(p -> new TopicPartition(topic, p.partition())).collect(Collectors.toList());
            consumer.assign(all);
            consumer.seekToBeginning(all);
            Map<TopicPartition, Long> ends = consumer.endOffsets(all);
            while (all.stream().anyMatch(p -> consumer.position(p) < ends.get(p))) {
                consumer.poll(WAIT).forEach(this::print);
            }
        }
    }

    void group(String group, String topic) throws Exception {
        try (KafkaConsumer<byte[], byte[]> consumer = consumer("group.id", group,
                 "partition.assignment.strategy",
                 "org.apache.kafka.clients.consumer.RangeAssignor")) {
            consumer.subscribe(Collections.singleton(topic), new ConsumerRebalanceListener() {
                @Override
                public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                    consumer.commitSync();
                }

                @Override
                public void onPartitionsAssigned(Collection<TopicPartition> partitions) {}
            });
            while (!in.ready()) {
                consumer.poll(WAIT).forEach(this::print);
                out.flush();
            }
            in.readLine();
            consumer.commitSync();
        }
    }

    ConfigResource resource(String topic) {
        return new ConfigResource(ConfigResource.Type.TOPIC, topic);
    }

    /** AlterConfigs left in 4.0, IncrementalAlterConfigs came in 2.3. */
    void set(String topic, String name, String value) throws Exception {
        ConfigEntry entry = new ConfigEntry(name, value);
        Object change;
        String method;
        try {
            Class<?> op = Class.forName("org.apache.kafka.clients.admin.AlterConfigOp");
            Class<?> type = Class.forName("org.apache.kafka.clients.admin.AlterConfigOp$OpType");
            Object set = type.getMethod("valueOf", String.class).invoke(null, "SET");
            change = Collections.singleton(
                op.getConstructor(ConfigEntry.class, type).newInstance(entry, set));
            method = "incrementalAlterConfigs";
        } catch (ClassNotFoundException e) {
            change = new Config(Collections.singleton(entry));
            method = "alterConfigs";
        }
        Method call = AdminClient.class.getMethod(method, Map.class);
        Object result = call.invoke(admin, Collections.singletonMap(resource(topic), change));
        ((KafkaFuture<?>) result.getClass().getMethod("all").invoke(result)).get();
    }

    Map<String, String> pairs(String[] w, int from) {
        Map<String, String> all = new HashMap<>();
        for (String pair : Arrays.copyOfRange(w, from, w.length)) {
            all.put(pair.split("=", 2)[0], pair.split("=", 2)[1]);
        }
        return all;
    }

    void topics(String[] w) throws Exception {
        switch (w[0]) {
            case "create":
                NewTopic made = new NewTopic(w[1], Integer.parseInt(w[2]), (short) 1);
                made.configs(pairs(w, 3));
                admin.createTopics(Collections.singleton(made)).all().get();
                break;
            case "grow":
                admin.createPartitions(Collections.singletonMap(
                    w[1], NewPartitions.increaseTo(Integer.parseInt(w[2])))).all().get();
                break;
            case "topics":
                admin.listTopics().names().get().forEach(out::println);
                break;
            case "delete":
                admin.deleteTopics(Collections.singleton(w[1])).all().get();
                break;
            case "config":
                admin.describeConfigs(Collections.singleton(resource(w[1]))).all().get()
                    .get(resource(w[1])).entries()
                    .forEach(entry -> out.println(entry.name() + "=" + entry.value()));
                break;
            case "set":
                Map.Entry<String, String> pair = pairs(w, 2).entrySet().iterator().next();
                set(w[1], pair.getKey(), pair.getValue());
                break;
            case "cut":
                TopicPartition partition = new TopicPartition(w[1], Integer.parseInt(w[2]));
                out.println(admin.deleteRecords(Collections.singletonMap(partition,
                    RecordsToDelete.beforeOffset(Long.parseLong(w[3]))))
                    .lowWatermarks().get(partition).get().lowWatermark());
                break;
            default:
                throw new IllegalArgumentException("unknown command " + w[0]);
        }
    }

    void groups(String[] w) throws Exception {
        switch (w[0]) {
            case "groups":
                admin.listConsumerGroups().all().get()
                    .forEach(group -> out.println(group.groupId()));
                break;
            case "members":
                admin.describeConsumerGroups(Collections.singleton(w[1])).all().get().get(w[1])
                    .members().forEach(member -> out.println(member.clientId()));
                break;
            case "offsets":
                admin.listConsumerGroupOffsets(w[1]).partitionsToOffsetAndMetadata().get()
                    .forEach((partition, at) -> {
                        if (partition.topic().equals(w[2]) && at != null) {
                            out.println(partition.partition() + " " + at.offset());
                        }
                    });
                break;
            case "forget":
                admin.deleteConsumerGroups(Collections.singleton(w[1])).all().get();
                break;
            default:
                topics(w);
        }
    }

    void answer(String[] w) throws Exception {
        switch (w[0]) {
            case "produce": produce(w[1], w[2], w[3], Integer.parseInt(w[4])); break;
            case "consume": consume(w[1]); break;
            case "group": group(w[1], w[2]); break;
            default: groups(w);
        }
    }

    void serve() throws Exception {
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            try {
                answer(line.split(" "));
                out.println(".");
            } catch (Throwable why) {
                Throwable cause = why.getCause() == null ? why : why.getCause();
                out.println("! " + cause.toString().replace('\n', ' '));
            }
            out.flush();
        }
    }

    public static void main(String[] args) throws Exception {
        new Client(args[0], args[1]).serve();
        System.exit(0);
    }
}
