// SPDX-License-Identifier: Apache-2.0
// The one place where our errors become Kafka's error codes.
#pragma once

#include "codec/kafka/gen/errors.h"
#include "lakestream/result.h"

namespace lakestream::kafka {

using KafkaError = codec::kafka::ErrorCode;

/// For reads, look-ups and changes of the catalog.
KafkaError to_kafka(const Error& error) noexcept;

/// For Engine::append, whose errors have an AppendReason. What a producer does next follows from
/// the code alone: a final verdict lets it renumber its batches; every other code makes the Java
/// client and librdkafka send the same batch under the same sequence again.
KafkaError append_to_kafka(const Error& error) noexcept;

/// For record batches that were refused (reason: codec::BatchFault).
KafkaError records_to_kafka(const Error& error) noexcept;

}  // namespace lakestream::kafka
