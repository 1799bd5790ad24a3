// SPDX-License-Identifier: Apache-2.0
// Steps of ClientSmoke with what the admin client has since 2.0.
import java.util.Collections;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;

public class AdminSteps {
    /** An empty group is listed, described, its offsets of all partitions shown; then deleted. */
    public static void groups(AdminClient admin, String group, int partitions) throws Exception {
        ClientSmoke.check(admin.listConsumerGroups().all().get(30, TimeUnit.SECONDS).stream()
            .anyMatch(g -> g.groupId().equals(group)), "group listed");
        ClientSmoke.check(admin.describeConsumerGroups(Collections.singleton(group)).all()
            .get(30, TimeUnit.SECONDS).get(group).members().isEmpty(), "group described");
        ClientSmoke.check(admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata()
            .get(30, TimeUnit.SECONDS).size() == partitions, "offsets of the group");
        admin.deleteConsumerGroups(Collections.singleton(group)).all().get(30, TimeUnit.SECONDS);
        ClientSmoke.check(admin.listConsumerGroups().all().get(30, TimeUnit.SECONDS).stream()
            .noneMatch(g -> g.groupId().equals(group)), "group deleted");
    }

    public static void partitions(AdminClient admin, String topic, int partitions)
        throws Exception {
        admin.createTopics(Collections.singleton(new NewTopic(topic, 1, (short) 1))).all()
            .get(30, TimeUnit.SECONDS);
        admin.createPartitions(Collections.singletonMap(topic,
            NewPartitions.increaseTo(partitions))).all().get(30, TimeUnit.SECONDS);
    }
}
