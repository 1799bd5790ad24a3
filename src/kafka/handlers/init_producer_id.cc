// SPDX-License-Identifier: Apache-2.0
// A new id, or the next epoch of the one the producer has.
#include "kafka/handlers/init_producer_id.h"

#include <limits>

#include "codec/kafka/gen/init_producer_id_fields.h"
#include "kafka/handlers/handler.h"

namespace lakestream::kafka {

namespace {

using Response = InitProducerIdHandler::Response;

Response failed(KafkaError error) {
    return Response{.error_code = error, .producer_id = -1, .producer_epoch = -1};
}

}  // namespace

rt::Task<Response> InitProducerIdHandler::handle(Call call, Request request) {
    if (request.transactional_id.has_value()) {
        log::warn(
            "kafka",
            "transactions_not_served peer={} transactional_id={}",
            call.peer.address.to_string(),
            *request.transactional_id
        );
        co_return failed(KafkaError::invalid_request);
    }
    const bool has_id = request.producer_id >= 0;
    const bool has_epoch = request.producer_epoch >= 0;
    if (has_id != has_epoch || request.producer_id < -1 || request.producer_epoch < -1) {
        co_return failed(KafkaError::invalid_request);
    }
    // The largest epoch is left out, as Kafka does: it fences a producer for good.
    if (has_id && request.producer_epoch < std::numeric_limits<std::int16_t>::max() - 1) {
        co_return Response{
            .producer_id = request.producer_id,
            .producer_epoch = static_cast<std::int16_t>(request.producer_epoch + 1),
        };
    }
    const auto id = co_await call.shard.producer_ids.next();
    if (!id.ok()) {
        // COORDINATOR_NOT_AVAILABLE is the code after which every client asks again.
        log::warn("kafka", "no_producer_ids error={}", id.error());
        co_return failed(KafkaError::coordinator_not_available);
    }
    co_return Response{.producer_id = *id, .producer_epoch = 0};
}

std::optional<Response> InitProducerIdHandler::refused(KafkaError error, std::int16_t) {
    return failed(error);
}

}  // namespace lakestream::kafka
