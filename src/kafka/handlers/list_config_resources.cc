// SPDX-License-Identifier: Apache-2.0
// Topics and brokers have configurations.
#include "kafka/handlers/list_config_resources.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "codec/kafka/gen/list_config_resources_fields.h"
#include "kafka/handlers/config_resources.h"
#include "kafka/handlers/handler.h"
#include "kafka/topics.h"

namespace lakestream::kafka {

namespace {

using Request = ListConfigResourcesHandler::Request;
using Response = ListConfigResourcesHandler::Response;

/// Types that Kafka knows: topics, brokers, their loggers, client metrics, groups.
constexpr std::array<std::int8_t, 5> known_types{2, 4, 8, 16, 32};

bool is_asked(const Request& request, ConfigResource type) {
    return request.resource_types.empty() ||
           std::ranges::find(request.resource_types, static_cast<std::int8_t>(type)) !=
               request.resource_types.end();
}

void add(Response& response, ConfigResource type, std::string name) {
    response.config_resources.push_back(
        {.resource_name = std::move(name), .resource_type = static_cast<std::int8_t>(type)}
    );
}

}  // namespace

rt::Task<Response> ListConfigResourcesHandler::handle(Call call, Request request) {
    Response response;
    if (call.version == 0) {
        co_return response;  // asks for client metrics, of which there are none
    }
    const bool known = std::ranges::all_of(request.resource_types, [](std::int8_t type) {
        return std::ranges::find(known_types, type) != known_types.end();
    });
    if (!known) {
        response.error_code = KafkaError::unsupported_version;
        co_return response;
    }
    if (is_asked(request, ConfigResource::topic)) {
        const auto streams = co_await call.shard.backend.catalog.list(std::string(topic_namespace));
        if (!streams.ok()) {
            response.error_code = to_kafka(streams.error());
            co_return response;
        }
        for (const catalog::StreamPtr& stream : *streams) {
            add(response, ConfigResource::topic, stream->name.name);
        }
    }
    if (is_asked(request, ConfigResource::broker)) {
        for (const BrokerIdentity& broker : call.shard.backend.cluster.brokers) {
            add(response, ConfigResource::broker, std::to_string(broker.id));
        }
    }
    co_return response;
}

std::optional<Response> ListConfigResourcesHandler::refused(KafkaError error, std::int16_t) {
    return Response{.error_code = error};
}

}  // namespace lakestream::kafka
