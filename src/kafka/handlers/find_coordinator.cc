// SPDX-License-Identifier: Apache-2.0
// Answers from the cluster's members; nothing is asked or stored.
#include "kafka/handlers/find_coordinator.h"

#include "codec/kafka/gen/find_coordinator_fields.h"
#include "kafka/handlers/group_calls.h"
#include "kafka/handlers/handler.h"

namespace lakestream::kafka {

namespace {

using Request = FindCoordinatorHandler::Request;
using Response = FindCoordinatorHandler::Response;

constexpr std::int8_t key_of_group = 0;
constexpr std::int8_t key_of_transaction = 1;
constexpr std::int16_t first_version_of_many = 4;

Response::Coordinator find(const Call& call, std::int8_t key_type, const std::string& key) {
    Response::Coordinator found{.key = key, .node_id = -1, .port = -1, .error_message = {}};
    if (key_type == key_of_transaction) {
        found.error_code = KafkaError::invalid_request;
        found.error_message = "Transactions are not served by this broker.";
    } else if (key_type != key_of_group) {
        found.error_code = KafkaError::invalid_request;
        found.error_message = fmt::format("Coordinators of key type {} do not exist.", key_type);
    } else if (key.size() > groups::group_id_bytes_max) {
        found.error_code = KafkaError::invalid_group_id;
        found.error_message =
            fmt::format("A group id has at most {} bytes.", groups::group_id_bytes_max);
    } else {
        const BrokerIdentity& broker = groups::coordinator_of(call.shard.backend.cluster, key);
        found.node_id = broker.id;
        found.host = broker.address.host;
        found.port = broker.address.port;
    }
    return found;
}

}  // namespace

rt::Task<Response> FindCoordinatorHandler::handle(Call call, Request request) {
    Response response;
    if (call.version >= first_version_of_many) {
        for (const std::string& key : request.coordinator_keys) {
            response.coordinators.push_back(find(call, request.key_type, key));
        }
        co_return response;
    }
    const auto found = find(call, request.key_type, request.key);
    response.error_code = found.error_code;
    response.error_message = found.error_message;
    response.node_id = found.node_id;
    response.host = found.host;
    response.port = found.port;
    co_return response;
}

}  // namespace lakestream::kafka
