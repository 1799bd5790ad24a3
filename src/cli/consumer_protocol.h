// SPDX-License-Identifier: Apache-2.0
// What members of a consumer group tell each other through the broker, which does not look inside.
//
//   subscription: version int16, topics [string], user data (null = -1), later versions: more
//   assignment:   version int16, [topic string, partitions [int32]], user data
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lakestream/bytes.h"
#include "lakestream/result.h"

namespace lakestream::cli {

/// Partitions by topic.
using Assignment = std::map<std::string, std::vector<std::int32_t>>;

Bytes encode_subscription(const std::vector<std::string>& topics);
/// Errors: `corrupt`.
Result<std::vector<std::string>> decode_subscription(const Bytes& bytes);

Bytes encode_assignment(const Assignment& assignment);
/// Nothing assigned may be no bytes at all. Errors: `corrupt`.
Result<Assignment> decode_assignment(const Bytes& bytes);

/// Kafka's `range`: members in the order of their ids get runs of partitions [0, partitions) that
/// differ in length by one at most. Gives partitions by member.
std::map<std::string, std::vector<std::int32_t>> assign_ranges(
    std::vector<std::string> members, std::int32_t partitions
);

}  // namespace lakestream::cli
