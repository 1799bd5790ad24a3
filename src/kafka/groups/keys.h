// SPDX-License-Identifier: Apache-2.0
// Keys of consumer groups in the metadata store. All of one group live on the shard of its record's
// key, which is their partition key.
//
//   /lks/group/<id>                           the group's record
//   /lks/group/<id>/c:<topic>:<partition>     a committed offset
//   /lks/group/<id>/epoch                     who coordinates the group
//
// The epoch comes behind the offsets in both key orders: a scan that has it has all offsets.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "meta/metadata_store.h"

namespace lakestream::kafka::groups {

/// A partition, by its topic's name.
struct OffsetKey {
    std::string topic;
    std::int32_t partition = 0;

    friend auto operator<=>(const OffsetKey&, const OffsetKey&) = default;
};

namespace keys {

/// Of a group's record. Letters, digits, `.`, `_` and `-` stand for themselves in the id, every
/// other byte as `%` and two hexadecimal digits; the empty id is `%`.
std::string group(std::string_view id);
std::string epoch(std::string_view group_key);
std::string offset(std::string_view group_key, const OffsetKey& offset);

/// What a key names; none for keys of another kind.
std::optional<std::string> group_id(std::string_view key);
std::optional<OffsetKey> offset_of(std::string_view group_key, std::string_view key);
/// Whether the key is of the first format, `/e<20 digits>`, and means nothing any more.
bool is_old_epoch(std::string_view group_key, std::string_view key);

/// The records of all groups; in natural order also everything below them.
meta::Range all_groups(meta::KeyOrder order);
/// Offsets, then the epoch.
meta::Range of_group(meta::KeyOrder order, std::string_view group_key);

}  // namespace keys

}  // namespace lakestream::kafka::groups
