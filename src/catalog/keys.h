// SPDX-License-Identifier: Apache-2.0
// Keys of the catalog in the metadata store (docs/formats/catalog.md).
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "catalog/catalog.h"
#include "meta/metadata_store.h"

namespace lakestream::catalog::keys {

inline constexpr std::string_view log_id_generator = "/stream-id-generator";
inline constexpr std::string_view configs_root = "/admin/streams";
inline constexpr std::string_view logs_root = "/streams";
inline constexpr std::string_view namespaces_root = "/admin/streams/_namespaces";
inline constexpr std::string_view graves_root = "/admin/streams/_tombstones";
inline constexpr std::string_view leases_root = "/stream-write-leases";
inline constexpr std::string_view producer_ids = "/lks/producer-ids";
inline constexpr std::string_view dropped_root = "/lks/graves";

/// `/admin/streams/<namespace>/<name>`
inline std::string config(const StreamName& name) {
    return fmt::format("{}/{}/{}", configs_root, name.ns, name.name);
}
/// `/admin/streams/_tombstones/<namespace>/<name>`
inline std::string grave(const StreamName& name) {
    return fmt::format("{}/{}/{}", graves_root, name.ns, name.name);
}
/// `/lks/graves/<namespace>/<name>`: below it the incarnations that were dropped lately.
inline std::string grave_parent(const StreamName& name) {
    return fmt::format("{}/{}/{}", dropped_root, name.ns, name.name);
}
/// `/lks/graves/<namespace>/<name>/<incarnation>`
inline std::string dropped(const StreamName& name, std::string_view incarnation) {
    return fmt::format("{}/{}", grave_parent(name), incarnation);
}
/// `/admin/streams/_namespaces/<namespace>`
inline std::string namespace_record(std::string_view ns) {
    return fmt::format("{}/{}", namespaces_root, ns);
}
/// `/streams/<namespace>/<name>-partition-`
inline std::string log_metadata_prefix(const StreamName& name) {
    return fmt::format("{}/{}/{}-partition-", logs_root, name.ns, name.name);
}
/// `lakestream-native/<namespace>/<name>`: below it the mapping keys of the partitions.
inline std::string mapping_parent(const StreamName& name) {
    return fmt::format("lakestream-native/{}/{}", name.ns, name.name);
}
/// `lakestream-native/<namespace>/<name>/partition-<i>`
inline std::string mapping_key(const StreamName& name, std::size_t partition) {
    return fmt::format("{}/partition-{}", mapping_parent(name), partition);
}
/// `/stream-id-generator/<mapping key>`, on the generator's shard
inline std::string mapping(std::string_view mapping_key) {
    return fmt::format("{}/{}", log_id_generator, mapping_key);
}
/// `/stream-id/<log id>`
inline std::string log_registration(LogId log) {
    return fmt::format("/stream-id/{}", log.v);
}
/// `/stream-write-fences/<log id>`, on the log's shard
inline std::string fence(LogId log) {
    return fmt::format("/stream-write-fences/{}", log.v);
}
/// `/lks/compact/<log id>`, the compactor's, on the log's shard
inline std::string compact_state(LogId log) {
    return fmt::format("/lks/compact/{}", log.v);
}
/// `/first-uncompacted-offset/<log id>`, which other engines read
inline std::string first_uncompacted(LogId log) {
    return fmt::format("/first-uncompacted-offset/{}", log.v);
}
/// The partition key of everything that lives with a log.
inline std::string log_partition_key(LogId log) {
    return std::to_string(log.v);
}

/// All keys `<parent>/<segment>`.
inline meta::Range children(meta::KeyOrder order, std::string_view parent) {
    const char after_slash = '/' + 1;
    return {
        .begin = fmt::format("{}/", parent),
        .end = order == meta::KeyOrder::hierarchical ? fmt::format("{}//", parent)
                                                     : fmt::format("{}{}", parent, after_slash),
    };
}

/// All keys that are `prefix` and a number.
inline meta::Range numbered(std::string_view prefix) {
    const char after_nine = '9' + 1;
    return {.begin = std::string(prefix), .end = fmt::format("{}{}", prefix, after_nine)};
}

/// The index records of a log: `<20 digits>-0-0` up to the last.
inline meta::DeleteRange index_records(LogId log) {
    constexpr std::int64_t last = INT64_MAX;
    return {
        .begin = fmt::format("{:020}-{:020}-{:020}", log.v, 0, 0),
        .end = fmt::format("{:020}-{:020}-{:020}", log.v, last, last),
    };
}

/// The number behind `prefix`; none when something else stands there.
inline std::optional<std::size_t> number_after(std::string_view prefix, std::string_view key) {
    std::size_t number = 0;
    if (!key.starts_with(prefix)) {
        return std::nullopt;
    }
    const char* end = key.data() + key.size();
    const auto [stopped, error] = std::from_chars(key.data() + prefix.size(), end, number);
    return error == std::errc() && stopped == end ? std::optional(number) : std::nullopt;
}

/// `<namespace>/<name>` of a key below `root`; none for other keys and reserved namespaces.
inline std::optional<StreamName> stream_name(std::string_view root, std::string_view key) {
    if (!key.starts_with(root) || !key.substr(root.size()).starts_with('/')) {
        return std::nullopt;
    }
    const std::string_view rest = key.substr(root.size() + 1);
    const std::size_t slash = rest.rfind('/');
    if (slash == std::string_view::npos || slash == 0 || rest.starts_with('_')) {
        return std::nullopt;
    }
    return StreamName{std::string(rest.substr(0, slash)), std::string(rest.substr(slash + 1))};
}

}  // namespace lakestream::catalog::keys
