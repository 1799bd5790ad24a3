// SPDX-License-Identifier: Apache-2.0
// One directory, which is the storage: everything is in it.
#include "kafka/handlers/describe_log_dirs.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codec/kafka/gen/describe_log_dirs_fields.h"
#include "kafka/broker_configs.h"
#include "kafka/handlers/handler.h"
#include "kafka/topics.h"

namespace lakestream::kafka {

namespace {

using Request = DescribeLogDirsHandler::Request;
using Response = DescribeLogDirsHandler::Response;
using Topic = Response::DescribeLogDirsTopic;
using Partition = Response::DescribeLogDirsPartition;

constexpr std::size_t sizes_at_once = 256;

/// Where the records are, as far as the broker says.
std::string storage_of(const Call& call) {
    const BrokerConfig* const found = find_broker_config(call.shard.backend.settings, "storage");
    return found == nullptr ? "lakestream" : found->value.value_or("lakestream");
}

/// A topic, and which of its partitions were asked for.
struct Asked {
    catalog::StreamPtr stream;
    std::vector<std::int32_t> partitions;
};

Asked all_of(catalog::StreamPtr stream) {
    Asked asked{std::move(stream), {}};
    for (std::size_t i = 0; i < asked.stream->logs.size(); ++i) {
        asked.partitions.push_back(static_cast<std::int32_t>(i));
    }
    return asked;
}

/// Those that exist; others are left out, as in Kafka.
rt::Task<Result<std::vector<Asked>>> asked_for(Call call, const Request& request) {
    catalog::Catalog& catalog = call.shard.backend.catalog;
    std::vector<Asked> found;
    if (!request.topics.has_value()) {
        for (auto& stream : LKS_CO_TRY(co_await catalog.list(std::string(topic_namespace)))) {
            found.push_back(all_of(std::move(stream)));
        }
        co_return found;
    }
    for (const auto& topic : *request.topics) {
        auto stream = co_await load_topic(catalog, topic.topic, {});
        if (!stream.ok()) {
            continue;
        }
        Asked& asked = found.emplace_back(std::move(*stream), std::vector<std::int32_t>());
        const std::set<std::int32_t> wanted(topic.partitions.begin(), topic.partitions.end());
        std::ranges::copy_if(wanted, std::back_inserter(asked.partitions), [&](std::int32_t i) {
            return i >= 0 && static_cast<std::size_t>(i) < asked.stream->logs.size();
        });
    }
    co_return found;
}

/// A few at a time: there may be tens of thousands, and each takes reads of the metadata store.
rt::Task<Topic> measure(Call call, Asked asked) {
    Topic topic{.name = asked.stream->name.name, .partitions = {}};
    for (std::size_t first = 0; first < asked.partitions.size(); first += sizes_at_once) {
        const std::size_t end = std::min(first + sizes_at_once, asked.partitions.size());
        std::vector<LogId> logs;
        for (std::size_t i = first; i < end; ++i) {
            logs.push_back(asked.stream->logs[static_cast<std::size_t>(asked.partitions[i])]);
        }
        const auto sizes = co_await call.shard.backend.engine.sizes(std::move(logs));
        for (std::size_t i = first; i < end; ++i) {
            const auto& size = sizes[i - first];
            if (size.ok()) {
                topic.partitions.push_back(
                    {.partition_index = asked.partitions[i], .partition_size = *size}
                );
            } else {
                log::warn(
                    "kafka", "partition_not_measured topic={} error={}", topic.name, size.error()
                );
            }
        }
    }
    co_return topic;
}

}  // namespace

rt::Task<Response> DescribeLogDirsHandler::handle(
    Call call, Request request, ResponseMemory::Grant& grant
) {
    Response response;
    auto asked = co_await asked_for(call, request);
    if (!asked.ok()) {
        response.error_code = to_kafka(asked.error());
        co_return response;
    }
    auto& storage = response.results.emplace_back();
    storage.log_dir = storage_of(call);
    std::uint64_t bytes = 0;
    for (Asked& topic : *asked) {
        storage.topics.push_back(co_await measure(call, std::move(topic)));
        bytes += sizeof(Topic) + storage.topics.back().partitions.size() * sizeof(Partition);
        grant.settle(bytes);
    }
    co_return response;
}

std::optional<Response> DescribeLogDirsHandler::refused(KafkaError error, std::int16_t version) {
    constexpr std::int16_t first_version_with_error = 3;
    return version >= first_version_with_error ? std::optional(Response{.error_code = error})
                                               : std::nullopt;
}

}  // namespace lakestream::kafka
