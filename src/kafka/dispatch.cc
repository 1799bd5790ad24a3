// SPDX-License-Identifier: Apache-2.0
// The table of served APIs: one line for each handler.
#include "kafka/dispatch.h"

#include <algorithm>
#include <array>

#include "codec/kafka/gen/alter_configs_fields.h"
#include "codec/kafka/gen/api_versions_fields.h"
#include "codec/kafka/gen/create_partitions_fields.h"
#include "codec/kafka/gen/create_topics_fields.h"
#include "codec/kafka/gen/delete_groups_fields.h"
#include "codec/kafka/gen/delete_records_fields.h"
#include "codec/kafka/gen/delete_topics_fields.h"
#include "codec/kafka/gen/describe_cluster_fields.h"
#include "codec/kafka/gen/describe_configs_fields.h"
#include "codec/kafka/gen/describe_groups_fields.h"
#include "codec/kafka/gen/describe_log_dirs_fields.h"
#include "codec/kafka/gen/describe_producers_fields.h"
#include "codec/kafka/gen/describe_topic_partitions_fields.h"
#include "codec/kafka/gen/elect_leaders_fields.h"
#include "codec/kafka/gen/fetch_fields.h"
#include "codec/kafka/gen/find_coordinator_fields.h"
#include "codec/kafka/gen/heartbeat_fields.h"
#include "codec/kafka/gen/incremental_alter_configs_fields.h"
#include "codec/kafka/gen/init_producer_id_fields.h"
#include "codec/kafka/gen/join_group_fields.h"
#include "codec/kafka/gen/leave_group_fields.h"
#include "codec/kafka/gen/list_config_resources_fields.h"
#include "codec/kafka/gen/list_groups_fields.h"
#include "codec/kafka/gen/list_offsets_fields.h"
#include "codec/kafka/gen/list_partition_reassignments_fields.h"
#include "codec/kafka/gen/metadata_fields.h"
#include "codec/kafka/gen/offset_commit_fields.h"
#include "codec/kafka/gen/offset_delete_fields.h"
#include "codec/kafka/gen/offset_fetch_fields.h"
#include "codec/kafka/gen/offset_for_leader_epoch_fields.h"
#include "codec/kafka/gen/produce_fields.h"
#include "codec/kafka/gen/sync_group_fields.h"
#include "kafka/handlers/alter_configs.h"
#include "kafka/handlers/api_versions.h"
#include "kafka/handlers/create_partitions.h"
#include "kafka/handlers/create_topics.h"
#include "kafka/handlers/delete_groups.h"
#include "kafka/handlers/delete_records.h"
#include "kafka/handlers/delete_topics.h"
#include "kafka/handlers/describe_cluster.h"
#include "kafka/handlers/describe_configs.h"
#include "kafka/handlers/describe_groups.h"
#include "kafka/handlers/describe_log_dirs.h"
#include "kafka/handlers/describe_producers.h"
#include "kafka/handlers/describe_topic_partitions.h"
#include "kafka/handlers/elect_leaders.h"
#include "kafka/handlers/fetch.h"
#include "kafka/handlers/find_coordinator.h"
#include "kafka/handlers/handler.h"
#include "kafka/handlers/heartbeat.h"
#include "kafka/handlers/incremental_alter_configs.h"
#include "kafka/handlers/init_producer_id.h"
#include "kafka/handlers/join_group.h"
#include "kafka/handlers/leave_group.h"
#include "kafka/handlers/list_config_resources.h"
#include "kafka/handlers/list_groups.h"
#include "kafka/handlers/list_offsets.h"
#include "kafka/handlers/list_partition_reassignments.h"
#include "kafka/handlers/metadata.h"
#include "kafka/handlers/offset_commit.h"
#include "kafka/handlers/offset_delete.h"
#include "kafka/handlers/offset_fetch.h"
#include "kafka/handlers/offset_for_leader_epoch.h"
#include "kafka/handlers/produce.h"
#include "kafka/handlers/sync_group.h"

namespace lakestream::kafka {

namespace {

template <class Handler>
constexpr Api api() {
    static_assert(Handler::Request::versions.contains(Handler::versions.first));
    static_assert(Handler::Request::versions.contains(Handler::versions.last));
    return Api{
        .key = Handler::Request::api_key,
        .versions = Handler::versions,
        .advertised_min = Handler::versions.first,
        .memory = &Handler::memory,
        .start = &start<Handler>,
    };
}

/// librdkafka takes a broker without Produce 0 for one that knows no compression.
constexpr Api with_advertised_min(Api api, std::int16_t version) {
    api.advertised_min = version;
    return api;
}

constexpr std::array table{
    with_advertised_min(api<ProduceHandler>(), 0),
    api<FetchHandler>(),
    api<ListOffsetsHandler>(),
    api<MetadataHandler>(),
    api<OffsetCommitHandler>(),
    api<OffsetFetchHandler>(),
    api<FindCoordinatorHandler>(),
    api<JoinGroupHandler>(),
    api<HeartbeatHandler>(),
    api<LeaveGroupHandler>(),
    api<SyncGroupHandler>(),
    api<DescribeGroupsHandler>(),
    api<ListGroupsHandler>(),
    api<ApiVersionsHandler>(),
    api<CreateTopicsHandler>(),
    api<DeleteTopicsHandler>(),
    api<DeleteRecordsHandler>(),
    api<InitProducerIdHandler>(),
    api<OffsetForLeaderEpochHandler>(),
    api<DescribeConfigsHandler>(),
    api<AlterConfigsHandler>(),
    api<DescribeLogDirsHandler>(),
    api<CreatePartitionsHandler>(),
    api<DeleteGroupsHandler>(),
    api<ElectLeadersHandler>(),
    api<IncrementalAlterConfigsHandler>(),
    api<ListPartitionReassignmentsHandler>(),
    api<OffsetDeleteHandler>(),
    api<DescribeClusterHandler>(),
    api<DescribeProducersHandler>(),
    api<ListConfigResourcesHandler>(),
    api<DescribeTopicPartitionsHandler>(),
};

static_assert(std::ranges::is_sorted(table, {}, &Api::key));

}  // namespace

std::span<const Api> served_apis() noexcept {
    return table;
}

const Api* find_served(std::int16_t key) noexcept {
    const auto* const found = std::ranges::lower_bound(table, key, {}, [](const Api& api) {
        return static_cast<std::int16_t>(api.key);
    });
    return found != table.end() && static_cast<std::int16_t>(found->key) == key ? found : nullptr;
}

}  // namespace lakestream::kafka
