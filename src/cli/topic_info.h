// SPDX-License-Identifier: Apache-2.0
// What the commands ask a broker about topics.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/client.h"
#include "cli/commands.h"
#include "codec/kafka/gen/metadata.h"
#include "lakestream/types.h"

namespace lakestream::cli {

using Topic = codec::kafka::MetadataResponse::MetadataResponseTopic;

/// How long a broker may take to change something.
inline constexpr std::int32_t change_timeout_ms = 30'000;

/// A broker's answer about a topic, with what to do next where we know.
Status check_topic(
    codec::kafka::ErrorCode code, const std::optional<std::string>& message, const std::string& name
);

/// A topic, with its partitions in ascending order. Errors: `invalid_argument` (no such topic).
rt::Task<Result<Topic>> load_topic(Broker& broker, std::string name);

/// Numbers of a topic's partitions, or only `one`. Errors: `invalid_argument` (no such partition).
Result<std::vector<std::int32_t>> partitions_of(
    const Topic& topic, std::optional<std::int32_t> one = std::nullopt
);

/// For each partition the first offset whose record has this timestamp or a later one; the end of
/// the partition when there is none.
rt::Task<Result<std::vector<Offset>>> load_offsets(
    Broker& broker, std::string topic, std::vector<std::int32_t> partitions, std::int64_t timestamp
);

/// Where `from` is in each partition, not checked against what the partitions hold.
rt::Task<Result<std::vector<Offset>>> find_offsets(
    Broker& broker, std::string topic, std::vector<std::int32_t> partitions, ConsumeFrom from
);

}  // namespace lakestream::cli
