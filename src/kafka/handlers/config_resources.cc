// SPDX-License-Identifier: Apache-2.0
// Finds resources that have configurations.
#include "kafka/handlers/config_resources.h"

#include "base/format.h"
#include "kafka/topics.h"

namespace lakestream::kafka {

rt::Task<std::expected<catalog::StreamPtr, ConfigRefusal>> load_config_topic(
    catalog::Catalog& catalog, std::string name
) {
    if (const Status legal = check_topic_name(name); !legal.ok()) {
        co_return std::unexpected(
            ConfigRefusal{KafkaError::invalid_topic_exception, legal.error().message}
        );
    }
    auto stream = co_await load_topic(catalog, name, {});
    if (stream.ok()) {
        co_return std::move(*stream);
    }
    co_return std::unexpected(ConfigRefusal{
        to_kafka(stream.error()),
        stream.is(ErrorCode::not_found) ? fmt::format("The topic '{}' does not exist.", name)
                                        : stream.error().message,
    });
}

std::optional<ConfigRefusal> check_broker(const Call& call, const std::string& name) {
    const std::int32_t self = call.shard.backend.cluster.self;
    if (name == std::to_string(self)) {
        return std::nullopt;
    }
    return ConfigRefusal{
        KafkaError::invalid_request,
        fmt::format("Unexpected broker id, expected {}, but received {}", self, name),
    };
}

ConfigRefusal unknown_resource(std::int8_t type) {
    return {
        KafkaError::invalid_request,
        fmt::format("Unexpected resource type {}: only topics and brokers are known.", type),
    };
}

}  // namespace lakestream::kafka
