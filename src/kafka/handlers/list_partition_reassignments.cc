// SPDX-License-Identifier: Apache-2.0
// Nothing is ever on its way from one broker to another.
#include "kafka/handlers/list_partition_reassignments.h"

#include "codec/kafka/gen/list_partition_reassignments_fields.h"
#include "kafka/handlers/handler.h"

namespace lakestream::kafka {

namespace {

using Request = ListPartitionReassignmentsHandler::Request;
using Response = ListPartitionReassignmentsHandler::Response;

}  // namespace

rt::Task<Response> ListPartitionReassignmentsHandler::handle(Call, Request) {
    Response none;
    none.error_message = std::nullopt;
    co_return none;
}

std::optional<Response> ListPartitionReassignmentsHandler::refused(KafkaError error, std::int16_t) {
    Response response;
    response.error_code = error;
    return response;
}

}  // namespace lakestream::kafka
