// SPDX-License-Identifier: Apache-2.0
// Consumer groups with Apache Kafka's Java client: Groups BOOTSTRAP. Prints PASS or dies.
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.GroupNotEmptyException;
import org.apache.kafka.common.errors.GroupSubscribedToTopicException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class Groups {
    static final int PARTITIONS = 3;
    static final long PATIENCE_MS = 120_000;
    static final String ASSIGNORS = "org.apache.kafka.clients.consumer.";

    static void check(boolean ok, String what) {
        if (!ok) {
            throw new AssertionError(what);
        }
    }

    static void waitFor(BooleanSupplier condition, String what) {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PATIENCE_MS);
        while (!condition.getAsBoolean()) {
            check(System.nanoTime() < deadline, "not in time: " + what);
        }
    }

    interface Call {
        void run() throws Exception;
    }

    static void checkFails(Class<? extends Exception> expected, Call call) throws Exception {
        try {
            call.run();
        } catch (ExecutionException error) {
            check(expected.isInstance(error.getCause()), "another error: " + error.getCause());
            return;
        }
        throw new AssertionError("no " + expected);
    }

    /** A consumer of one group, and what it has been given and has read. */
    static class Member implements ConsumerRebalanceListener, AutoCloseable {
        final Set<TopicPartition> assigned = new HashSet<>();
        final List<String> read = new ArrayList<>();
        final KafkaConsumer<byte[], byte[]> consumer;
        int revocations = 0;

        Member(String bootstrap, String name, String assignor, boolean isStatic) {
            Properties properties = new Properties();
            properties.put("bootstrap.servers", bootstrap);
            properties.put("group.id", "java");
            properties.put("client.id", name);
            properties.put("auto.offset.reset", "earliest");
            properties.put("enable.auto.commit", "false");
            properties.put("heartbeat.interval.ms", "200");
            properties.put("session.timeout.ms", "10000");
            properties.put("partition.assignment.strategy", ASSIGNORS + assignor);
            if (isStatic) {
                properties.put("group.instance.id", name);
            }
            consumer = new KafkaConsumer<>(
                properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            consumer.subscribe(List.of("groups"), this);
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            assigned.addAll(partitions);
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            revocations += partitions.isEmpty() ? 0 : 1;
            partitions.forEach(assigned::remove);
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            onPartitionsRevoked(partitions);
        }

        void poll() {
            consumer.poll(Duration.ofMillis(50)).forEach(
                record -> read.add(record.partition() + "-" + record.offset()));
        }

        @Override
        public void close() {
            consumer.close();
        }
    }

    static void settle(Member... members) {
        waitFor(() -> {
            List<TopicPartition> owned = new ArrayList<>();
            boolean all = true;
            for (Member member : members) {
                member.poll();
                owned.addAll(member.assigned);
                all &= !member.assigned.isEmpty();
            }
            return all && owned.size() == PARTITIONS && new HashSet<>(owned).size() == PARTITIONS;
        }, "partitions for everybody");
    }

    static void produce(String bootstrap, int count) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        try (var producer = new KafkaProducer<>(
                 properties, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (int i = 0; i < count; i++) {
                producer.send(new ProducerRecord<>("groups", i % PARTITIONS, null, new byte[10]));
            }
        }
    }

    static void readAll(int count, Member... members) {
        waitFor(() -> {
            int read = 0;
            for (Member member : members) {
                member.poll();
                read += member.read.size();
            }
            return read >= count;
        }, count + " records");
    }

    static Map<Integer, Long> committed(Admin admin) throws Exception {
        Map<Integer, Long> offsets = new HashMap<>();
        admin.listConsumerGroupOffsets(Map.of("java", new ListConsumerGroupOffsetsSpec()))
            .partitionsToOffsetAndMetadata("java").get()
            .forEach((partition, offset) -> offsets.put(partition.partition(), offset.offset()));
        return offsets;
    }

    static GroupState state(Admin admin) throws Exception {
        return admin.describeConsumerGroups(List.of("java")).all().get().get("java").groupState();
    }

    /** Two members, one after the other; nothing is lost, nothing is read twice. */
    static void rebalance(String bootstrap, Admin admin, String assignor) throws Exception {
        admin.createTopics(List.of(new NewTopic("groups", PARTITIONS, (short) 1))).all().get();
        produce(bootstrap, 30);
        try (Member first = new Member(bootstrap, "first", assignor, false)) {
            settle(first);
            readAll(30, first);
            first.consumer.commitSync();
            try (Member second = new Member(bootstrap, "second", assignor, false)) {
                settle(first, second);
                produce(bootstrap, 30);
                readAll(60, first, second);
                first.consumer.commitSync();
                second.consumer.commitSync();
                check(state(admin) == GroupState.STABLE, "stable");
                var read = new ArrayList<>(first.read);
                read.addAll(second.read);
                check(read.size() == 60 && new HashSet<>(read).size() == 60, "lost or doubled");
            }
            settle(first);
        }
        check(committed(admin).equals(Map.of(0, 20L, 1, 20L, 2, 20L)), "committed");
        check(state(admin) == GroupState.EMPTY, "empty");
        admin.deleteConsumerGroups(List.of("java")).all().get();
        checkFails(GroupIdNotFoundException.class,
            () -> admin.deleteConsumerGroups(List.of("java")).all().get());
        admin.deleteTopics(List.of("groups")).all().get();
    }

    static void administer(String bootstrap, Admin admin) throws Exception {
        admin.createTopics(List.of(new NewTopic("groups", PARTITIONS, (short) 1))).all().get();
        TopicPartition zero = new TopicPartition("groups", 0);
        TopicPartition one = new TopicPartition("groups", 1);
        try (Member member = new Member(bootstrap, "instance", "RangeAssignor", true)) {
            settle(member);
            OffsetAndMetadata noted = new OffsetAndMetadata(5, Optional.of(0), "note");
            member.consumer.commitSync(Map.of(zero, noted, one, new OffsetAndMetadata(6)));
            OffsetAndMetadata found = member.consumer.committed(Set.of(zero)).get(zero);
            check(found.offset() == 5 && found.metadata().equals("note"), "metadata");
            checkFails(GroupNotEmptyException.class,
                () -> admin.deleteConsumerGroups(List.of("java")).all().get());
            checkFails(GroupSubscribedToTopicException.class,
                () -> admin.deleteConsumerGroupOffsets("java", Set.of(zero)).all().get());
            var listed = admin.listGroups(ListGroupsOptions.forConsumerGroups()).all().get();
            check(listed.size() == 1, "one group");
            check(listed.iterator().next().groupId().equals("java"), "its name");
            admin.removeMembersFromConsumerGroup("java", new RemoveMembersFromConsumerGroupOptions(
                List.of(new MemberToRemove("instance")))).all().get();
            check(state(admin) == GroupState.EMPTY, "removed");
            boolean refused = false;
            try {
                member.consumer.commitSync(Map.of(zero, new OffsetAndMetadata(99)));
            } catch (CommitFailedException error) {
                refused = true;
            }
            check(refused, "a commit of a removed member");
        }
        admin.deleteConsumerGroupOffsets("java", Set.of(zero)).all().get();
        check(committed(admin).equals(Map.of(1, 6L)), "one offset deleted");
        admin.alterConsumerGroupOffsets("java", Map.of(zero, new OffsetAndMetadata(7))).all().get();
        check(committed(admin).equals(Map.of(0, 7L, 1, 6L)), "one offset altered");
        admin.deleteConsumerGroups(List.of("java")).all().get();
        check(committed(admin).isEmpty(), "all offsets deleted");
        admin.deleteTopics(List.of("groups")).all().get();
    }

    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments[0];
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        try (Admin admin = Admin.create(properties)) {
            for (String assignor :
                 List.of("RangeAssignor", "StickyAssignor", "CooperativeStickyAssignor")) {
                rebalance(bootstrap, admin, assignor);
            }
            administer(bootstrap, admin);
        }
        System.out.println("PASS");
    }
}
