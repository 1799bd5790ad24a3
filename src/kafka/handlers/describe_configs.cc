// SPDX-License-Identifier: Apache-2.0
// Configurations of topics from their streams, of the broker from its settings.
#include "kafka/handlers/describe_configs.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "codec/kafka/gen/describe_configs_fields.h"
#include "kafka/broker_configs.h"
#include "kafka/handlers/config_resources.h"
#include "kafka/handlers/handler.h"
#include "kafka/topic_configs.h"
#include "kafka/topics.h"

namespace lakestream::kafka {

namespace {

using Request = DescribeConfigsHandler::Request;
using Response = DescribeConfigsHandler::Response;
using Asked = Request::DescribeConfigsResource;
using Answer = Response::DescribeConfigsResult;
using Entry = Response::DescribeConfigsResourceResult;
using Synonym = Response::DescribeConfigsSynonym;

constexpr std::size_t resources_between_yields = 32;

bool is_asked(const Asked& asked, std::string_view name) {
    return !asked.configuration_keys.has_value() || asked.configuration_keys->empty() ||
           std::ranges::find(*asked.configuration_keys, name) != asked.configuration_keys->end();
}

std::optional<std::string> owned(std::optional<std::string_view> text) {
    return text.has_value() ? std::optional(std::string(*text)) : std::nullopt;
}

std::uint64_t bytes_of(const Entry& entry) {
    std::uint64_t bytes = sizeof(Entry) + entry.name.size();
    bytes += entry.value.value_or("").size() + entry.documentation.value_or("").size();
    for (const Synonym& synonym : entry.synonyms) {
        bytes += sizeof(Synonym) + synonym.name.size() + synonym.value.value_or("").size();
    }
    return bytes;
}

Entry describe_topic_config(
    const Call& call,
    const Request& request,
    const catalog::Properties& properties,
    const TopicConfig& config
) {
    const TopicDefault by_default = topic_default(call.shard.backend.settings, config);
    const auto fallback = owned(by_default.value);
    const auto own = properties.find(std::string(config.name));
    const bool is_own = own != properties.end();
    Entry entry{
        .name = std::string(config.name),
        .value = is_own ? std::optional(own->second) : fallback,
        .read_only = false,
        .config_source = static_cast<std::int8_t>(is_own ? ConfigSource::topic : by_default.source),
        .is_sensitive = false,
        .synonyms = {},
        .config_type = static_cast<std::int8_t>(config.type),
        .documentation = std::nullopt,
    };
    if (request.include_documentation) {
        entry.documentation = std::string(config.doc);
    }
    if (request.include_synonyms && is_own) {
        entry.synonyms.push_back(
            {entry.name, own->second, static_cast<std::int8_t>(ConfigSource::topic)}
        );
    }
    if (request.include_synonyms && fallback.has_value()) {
        const std::string_view name = config.broker_name.empty() ? config.name : config.broker_name;
        entry.synonyms.push_back(
            {std::string(name), fallback, static_cast<std::int8_t>(by_default.source)}
        );
    }
    return entry;
}

Entry describe_broker_config(const Request& request, const BrokerConfig& config) {
    Entry entry{
        .name = config.name,
        .value = config.value,
        .read_only = true,
        .config_source = static_cast<std::int8_t>(config.source),
        .is_sensitive = false,
        .synonyms = {},
        .config_type = static_cast<std::int8_t>(config.type),
        .documentation = std::nullopt,
    };
    if (request.include_documentation) {
        entry.documentation = config.doc;
    }
    if (request.include_synonyms && config.value.has_value()) {
        entry.synonyms.push_back({config.name, config.value, entry.config_source});
    }
    return entry;
}

rt::Task<Answer> describe_topic(Call call, const Request& request, const Asked& asked, Answer to) {
    const auto stream = co_await load_config_topic(call.shard.backend.catalog, asked.resource_name);
    if (!stream.has_value()) {
        to.error_code = stream.error().code;
        to.error_message = stream.error().message;
        co_return to;
    }
    for (const TopicConfig& config : topic_configs()) {
        if (is_asked(asked, config.name)) {
            to.configs.push_back(describe_topic_config(call, request, (*stream)->properties, config)
            );
        }
    }
    co_return to;
}

Answer describe_broker(const Call& call, const Request& request, const Asked& asked, Answer to) {
    if (asked.resource_name.empty()) {
        return to;  // what all brokers were told while running: nothing
    }
    if (const auto refusal = check_broker(call, asked.resource_name)) {
        to.error_code = refusal->code;
        to.error_message = refusal->message;
        return to;
    }
    for (const BrokerConfig& config :
         broker_configs(call.shard.backend.cluster, call.shard.backend.settings)) {
        if (is_asked(asked, config.name)) {
            to.configs.push_back(describe_broker_config(request, config));
        }
    }
    return to;
}

rt::Task<Answer> describe(Call call, const Request& request, const Asked& asked) {
    Answer answer{
        .error_code = KafkaError::none,
        .error_message = std::nullopt,
        .resource_type = asked.resource_type,
        .resource_name = asked.resource_name,
        .configs = {},
    };
    switch (static_cast<ConfigResource>(asked.resource_type)) {
        case ConfigResource::topic:
            co_return co_await describe_topic(call, request, asked, std::move(answer));
        case ConfigResource::broker:
            co_return describe_broker(call, request, asked, std::move(answer));
    }
    const ConfigRefusal refusal = unknown_resource(asked.resource_type);
    answer.error_code = refusal.code;
    answer.error_message = refusal.message;
    co_return answer;
}

Answer too_much(const Asked& asked) {
    return {
        .error_code = KafkaError::policy_violation,
        .error_message = "Too much for one response: ask for fewer resources.",
        .resource_type = asked.resource_type,
        .resource_name = asked.resource_name,
        .configs = {},
    };
}

}  // namespace

rt::Task<Response> DescribeConfigsHandler::handle(
    Call call, Request request, ResponseMemory::Grant& grant
) {
    const BrokerOptions& options = call.shard.options.broker;
    Response response;
    std::uint64_t bytes = 0;
    for (const Asked& asked : request.resources) {
        if (bytes > options.described_bytes_max ||
            response.results.size() >= options.topics_per_request_max) {
            response.results.push_back(too_much(asked));
            continue;
        }
        Answer& answer = response.results.emplace_back(co_await describe(call, request, asked));
        for (const Entry& entry : answer.configs) {
            bytes += bytes_of(entry);
        }
        grant.settle(bytes);
        if (response.results.size() % resources_between_yields == 0) {
            co_await rt::yield();
        }
    }
    co_return response;
}

}  // namespace lakestream::kafka
