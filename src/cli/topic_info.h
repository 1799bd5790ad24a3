// SPDX-License-Identifier: Apache-2.0
// What the commands ask a broker about topics.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/client.h"
#include "codec/kafka/gen/metadata.h"
#include "lakestream/types.h"

namespace lakestream::cli {

/// A topic, with its partitions in ascending order. Errors: `invalid_argument` (no such topic).
rt::Task<Result<codec::kafka::MetadataResponse::MetadataResponseTopic>> load_topic(
    Broker& broker, std::string name
);

/// Special timestamps of `load_offsets`.
inline constexpr std::int64_t end_timestamp = -1;
inline constexpr std::int64_t begin_timestamp = -2;

/// For each partition the first offset whose record has this timestamp or a later one; the end of
/// the partition when there is none.
rt::Task<Result<std::vector<Offset>>> load_offsets(
    Broker& broker, std::string topic, std::vector<std::int32_t> partitions, std::int64_t timestamp
);

}  // namespace lakestream::cli
