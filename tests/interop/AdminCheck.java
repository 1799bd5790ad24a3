// SPDX-License-Identifier: Apache-2.0
// Apache Kafka's own admin client against a broker: what it changes, it reads back.

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigsOptions;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.CreatePartitionsOptions;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.LogDirDescription;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.ElectionNotNeededException;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.errors.InvalidPartitionsException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public final class AdminCheck {
    private static final String TOPIC = "admin-check";
    private static final ConfigResource RESOURCE =
        new ConfigResource(ConfigResource.Type.TOPIC, TOPIC);

    private static void check(boolean condition, Object what) {
        if (!condition) {
            throw new AssertionError(String.valueOf(what));
        }
    }

    private interface Call {
        void run() throws Exception;
    }

    private static void refused(Class<? extends Exception> kind, Call call) throws Exception {
        try {
            call.run();
        } catch (ExecutionException error) {
            check(kind.isInstance(error.getCause()), error.getCause());
            return;
        }
        throw new AssertionError("was not refused with " + kind.getSimpleName());
    }

    private static Config describe(Admin admin, ConfigResource resource) throws Exception {
        DescribeConfigsOptions options =
            new DescribeConfigsOptions().includeSynonyms(true).includeDocumentation(true);
        return admin.describeConfigs(List.of(resource), options).values().get(resource).get();
    }

    private static void alter(
        Admin admin, boolean validateOnly, AlterConfigOp.OpType type, String name, String value
    ) throws Exception {
        Map<ConfigResource, Collection<AlterConfigOp>> changes =
            Map.of(RESOURCE, List.of(new AlterConfigOp(new ConfigEntry(name, value), type)));
        admin.incrementalAlterConfigs(
            changes, new AlterConfigsOptions().validateOnly(validateOnly)
        ).all().get();
    }

    private static void checkConfigs(Admin admin) throws Exception {
        Config all = describe(admin, RESOURCE);
        check(all.entries().size() >= 38, all.entries().size());
        ConfigEntry retention = all.get("retention.ms");
        check(retention.value().equals("600000"), retention);
        check(retention.source() == ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG, retention);
        check(retention.type() == ConfigEntry.ConfigType.LONG, retention);
        check(retention.synonyms().size() == 2, retention);
        check(!retention.documentation().isEmpty(), retention);
        check(all.get("cleanup.policy").isDefault(), all.get("cleanup.policy"));

        alter(admin, true, AlterConfigOp.OpType.SET, "max.message.bytes", "2000");
        check(describe(admin, RESOURCE).get("max.message.bytes").isDefault(), "validate only");
        alter(admin, false, AlterConfigOp.OpType.SET, "max.message.bytes", "2000");
        alter(admin, false, AlterConfigOp.OpType.DELETE, "retention.ms", null);
        alter(admin, false, AlterConfigOp.OpType.APPEND, "leader.replication.throttled.replicas",
            "0:1,1:1");
        alter(admin, false, AlterConfigOp.OpType.SUBTRACT, "leader.replication.throttled.replicas",
            "0:1");
        all = describe(admin, RESOURCE);
        check(all.get("max.message.bytes").value().equals("2000"), all);
        check(all.get("retention.ms").value().equals("604800000"), all);
        check(all.get("leader.replication.throttled.replicas").value().equals("1:1"), all);
        refused(InvalidConfigurationException.class,
            () -> alter(admin, false, AlterConfigOp.OpType.SET, "cleanup.policy", "compact"));
        refused(InvalidConfigurationException.class,
            () -> alter(admin, false, AlterConfigOp.OpType.SET, "retention.ms", "soon"));
    }

    private static void checkCluster(Admin admin, String address) throws Exception {
        Collection<Node> nodes = admin.describeCluster().nodes().get();
        check(nodes.size() == 1, nodes);
        Node node = nodes.iterator().next();
        check((node.host() + ":" + node.port()).equals(address), node);
        ConfigResource broker = new ConfigResource(ConfigResource.Type.BROKER, node.idString());
        Config settings = describe(admin, broker);
        check(settings.get("message.max.bytes").isReadOnly(), settings);
        check(settings.get("kafka.listen").value().equals(address), settings.get("kafka.listen"));
        check(settings.get("kafka.listen").source()
            == ConfigEntry.ConfigSource.STATIC_BROKER_CONFIG, settings.get("kafka.listen"));
        Collection<ConfigResource> resources = admin.listConfigResources().all().get();
        check(resources.contains(RESOURCE) && resources.contains(broker), resources);
    }

    private static void checkPartitions(Admin admin) throws Exception {
        Map<String, NewPartitions> wanted = Map.of(TOPIC, NewPartitions.increaseTo(5));
        CreatePartitionsOptions validate = new CreatePartitionsOptions().validateOnly(true);
        admin.createPartitions(wanted, validate).all().get();
        check(topic(admin).partitions().size() == 2, "validate only");
        admin.createPartitions(wanted).all().get();
        TopicDescription grown = topic(admin);
        check(grown.partitions().size() == 5, grown);
        check(grown.partitions().get(4).leader() != null, grown);
        refused(InvalidPartitionsException.class,
            () -> admin.createPartitions(Map.of(TOPIC, NewPartitions.increaseTo(4))).all().get());
        check(admin.listPartitionReassignments().reassignments().get().isEmpty(), "reassignments");
        Map<TopicPartition, Optional<Throwable>> elected = admin.electLeaders(
            ElectionType.PREFERRED, Set.of(new TopicPartition(TOPIC, 0))
        ).partitions().get();
        check(elected.get(new TopicPartition(TOPIC, 0)).orElse(null)
            instanceof ElectionNotNeededException, elected);
    }

    private static TopicDescription topic(Admin admin) throws Exception {
        return admin.describeTopics(List.of(TOPIC)).allTopicNames().get().get(TOPIC);
    }

    /** Records of the new partition have the broker's time; those too large are refused. */
    private static void checkRecords(Admin admin, Properties settings) throws Exception {
        alter(admin, false, AlterConfigOp.OpType.SET, "message.timestamp.type", "LogAppendTime");
        long begun = System.currentTimeMillis();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(
            settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            RecordMetadata stored =
                producer.send(new ProducerRecord<>(TOPIC, 4, 5L, null, new byte[100])).get();
            check(stored.offset() == 0 && stored.timestamp() >= begun, stored.timestamp());
            refused(RecordTooLargeException.class,
                () -> producer.send(new ProducerRecord<>(TOPIC, 4, null, new byte[5000])).get());
            TopicPartition partition = new TopicPartition(TOPIC, 4);
            List<ProducerState> producers = admin.describeProducers(List.of(partition))
                .partitionResult(partition).get().activeProducers();
            check(producers.size() == 1 && producers.get(0).lastSequence() == 0, producers);
            Map<Integer, Map<String, LogDirDescription>> folders =
                admin.describeLogDirs(List.of(topic(admin).partitions().get(4).leader().id()))
                    .allDescriptions().get();
            long size = folders.values().iterator().next().values().iterator().next()
                .replicaInfos().get(partition).size();
            check(size > 100 && size < 1000, size);
            Properties reading = new Properties();
            reading.putAll(settings);
            reading.put("auto.offset.reset", "earliest");
            readBack(reading, partition, stored);
        }
    }

    /** A position with an epoch is validated by OffsetForLeaderEpoch before anything is fetched. */
    private static void readBack(
        Properties settings, TopicPartition partition, RecordMetadata stored
    ) {
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
            settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(List.of(partition));
            consumer.seek(partition, new OffsetAndMetadata(0, Optional.of(0), ""));
            long end = System.currentTimeMillis() + 60_000;
            while (System.currentTimeMillis() < end) {
                for (ConsumerRecord<byte[], byte[]> record
                    : consumer.poll(java.time.Duration.ofSeconds(1))) {
                    check(record.timestamp() == stored.timestamp(), record);
                    check(record.timestampType() == TimestampType.LOG_APPEND_TIME, record);
                    return;
                }
            }
        }
        throw new AssertionError("nothing was read");
    }

    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        try (Admin admin = Admin.create(settings)) {
            NewTopic topic = new NewTopic(TOPIC, 2, (short) 3)
                .configs(Map.of("retention.ms", "600000", "segment.bytes", "2000000"));
            admin.createTopics(List.of(topic)).all().get();
            checkConfigs(admin);
            checkCluster(admin, arguments[0]);
            checkPartitions(admin);
            checkRecords(admin, settings);
        }
        System.out.println("PASS");
    }

    private AdminCheck() {}
}
