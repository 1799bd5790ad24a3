// SPDX-License-Identifier: Apache-2.0
// Exhaustive switches: a new code of ours does not compile until somebody decides what it means.
#include "kafka/error_map.h"

#include "codec/record_batch.h"
#include "log/engine.h"

namespace lakestream::kafka {

KafkaError to_kafka(const Error& error) noexcept {
    switch (error.code) {
        case ErrorCode::invalid_argument: return KafkaError::invalid_request;
        case ErrorCode::not_found: return KafkaError::unknown_topic_or_partition;
        case ErrorCode::already_exists: return KafkaError::topic_already_exists;
        case ErrorCode::out_of_range: return KafkaError::offset_out_of_range;
        // The owner of the resource is elsewhere or gone: ask for metadata, try again.
        case ErrorCode::conflict:
        case ErrorCode::lease_lost:
        case ErrorCode::cancelled: return KafkaError::not_leader_or_follower;
        case ErrorCode::fenced: return KafkaError::unknown_topic_or_partition;
        // Nothing to be had now, `unsupported` from a store that may not be read or written: no
        // client's fault. Consumers of every library back off and try again.
        case ErrorCode::throttled:
        case ErrorCode::exhausted:
        case ErrorCode::unsupported:
        case ErrorCode::unavailable: return KafkaError::kafka_storage_error;
        case ErrorCode::deadline_exceeded:
        case ErrorCode::outcome_unknown: return KafkaError::request_timed_out;
        // Not retriable, so that a consumer's owner hears of damage instead of waiting for ever.
        case ErrorCode::corrupt: return KafkaError::corrupt_message;
        case ErrorCode::internal: return KafkaError::unknown_server_error;
    }
    return KafkaError::unknown_server_error;
}

namespace {

KafkaError by_reason(log::AppendReason reason, KafkaError otherwise) noexcept {
    switch (reason) {
        case log::AppendReason::none: return otherwise;
        case log::AppendReason::out_of_order_sequence:
            return KafkaError::out_of_order_sequence_number;
        case log::AppendReason::unknown_producer_id: return KafkaError::unknown_producer_id;
        case log::AppendReason::invalid_producer_epoch: return KafkaError::invalid_producer_epoch;
    }
    return otherwise;
}

}  // namespace

KafkaError append_to_kafka(const Error& error) noexcept {
    const auto reason = static_cast<log::AppendReason>(error.reason);
    switch (error.code) {
        case ErrorCode::invalid_argument: return by_reason(reason, KafkaError::invalid_record);
        case ErrorCode::fenced: return by_reason(reason, KafkaError::unknown_topic_or_partition);
        // Nothing was stored, `unsupported` on a store that takes no writes. NOT_ENOUGH_REPLICAS
        // says just that in every client, and is retried after a back-off;
        // THROTTLING_QUOTA_EXCEEDED fails a batch for good in librdkafka.
        case ErrorCode::throttled:
        case ErrorCode::exhausted:
        case ErrorCode::unsupported:
        case ErrorCode::unavailable:
        case ErrorCode::conflict:
        case ErrorCode::lease_lost: return KafkaError::not_enough_replicas;
        // May or may not be stored; REQUEST_TIMED_OUT promises neither and keeps the sequence.
        // Codes that no append has a meaning for can only be of a store.
        case ErrorCode::already_exists:
        case ErrorCode::out_of_range:
        case ErrorCode::outcome_unknown:
        case ErrorCode::cancelled:
        case ErrorCode::deadline_exceeded: return KafkaError::request_timed_out;
        case ErrorCode::corrupt: return KafkaError::kafka_storage_error;
        case ErrorCode::not_found:
        case ErrorCode::internal: return to_kafka(error);
    }
    return KafkaError::unknown_server_error;
}

KafkaError records_to_kafka(const Error& error) noexcept {
    switch (static_cast<codec::BatchFault>(error.reason)) {
        case codec::BatchFault::cut_short:
        case codec::BatchFault::length:
        case codec::BatchFault::crc: return KafkaError::corrupt_message;
        case codec::BatchFault::magic: return KafkaError::unsupported_for_message_format;
        case codec::BatchFault::codec: return KafkaError::unsupported_compression_type;
        case codec::BatchFault::timestamp: return KafkaError::invalid_timestamp;
        case codec::BatchFault::count:
        case codec::BatchFault::control:
        case codec::BatchFault::batches:
        case codec::BatchFault::record: return KafkaError::invalid_record;
    }
    return KafkaError::invalid_record;
}

}  // namespace lakestream::kafka
