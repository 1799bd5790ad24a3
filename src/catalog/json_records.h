// SPDX-License-Identifier: Apache-2.0
// The catalog's stored records and their JSON text (docs/formats/catalog.md).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/catalog.h"

namespace lakestream::catalog {

/// Who may change a stream's records: the stream's incarnation and the last life cycle step.
struct Owner {
    std::string incarnation;      // UUID text
    std::string token;            // of the create or drop that owns the stream
    std::int64_t generation = 0;  // grows with each owner

    friend bool operator==(const Owner&, const Owner&) = default;
};

enum class MappingState : std::uint8_t { active, tombstone };

/// Which log a partition has: `/stream-id-generator/<key>`. Never deleted, only buried.
struct LogMapping {
    MappingState state = MappingState::active;
    std::int64_t log_id = -1;  // -1: buried before it had one
    Owner owner;

    friend bool operator==(const LogMapping&, const LogMapping&) = default;
};

/// A mapping that a partition had once.
struct RetiredMapping {
    std::int64_t log_id = -1;
    std::string mapping_key;
    bool purge = false;

    friend auto operator<=>(const RetiredMapping&, const RetiredMapping&) = default;
};

/// One partition: `/streams/<namespace>/<name>-partition-<i>`.
struct LogMetadata {
    std::int64_t log_id = -1;              // -1: none
    std::optional<Properties> properties;  // absent: read as null, and then left out
    std::optional<std::int64_t> terminated_offset;
    std::optional<Owner> registration;
    std::set<std::int64_t> retired_ids;
    std::set<std::int64_t> purgeable_retired_ids;  // some of `retired_ids`
    std::vector<RetiredMapping> retired_mappings;  // sorted, ids in `retired_ids`
    std::set<std::string> retired_mapping_keys;
    bool deleted = false;

    friend bool operator==(const LogMetadata&, const LogMetadata&) = default;
};

enum class StreamState : std::uint8_t { active, provisioning, aborting, dropped };

/// Partitions that are being added.
struct Expansion {
    std::int32_t base = 0;
    std::int32_t target = 0;

    friend bool operator==(const Expansion&, const Expansion&) = default;
};

/// One stream: `/admin/streams/<namespace>/<name>`; its grave is the same under `_tombstones`.
struct StreamConfig {
    std::int32_t partitions = 0;
    Properties properties;
    Properties stream_properties;
    std::string strategy = "INDEXED";
    Properties partitioning;  // `numPartitions` as text
    std::string schema_type = "NONE";
    Properties schema_properties;
    std::optional<Expansion> pending_expansion;
    std::int64_t properties_revision = -1;
    std::optional<std::string> materialization;  // JSON text, kept as it is
    std::optional<Owner> owner;                  // absent in the oldest records
    std::optional<std::string> metadata_source_token;
    std::int64_t metadata_source_generation = -2;  // -1: the oldest form, -2: none
    StreamState state = StreamState::active;
    bool purge_requested = false;

    friend bool operator==(const StreamConfig&, const StreamConfig&) = default;
};

/// `/admin/streams/_namespaces/<namespace>`.
struct NamespaceRecord {
    Properties properties;
    std::optional<std::string> materialization;  // JSON text, kept as it is

    friend bool operator==(const NamespaceRecord&, const NamespaceRecord&) = default;
};

// Text for text as Ursa 1.0 writes it. Reading accepts and refuses what Ursa's readers do; fields
// they do not know are dropped. Errors of all readers: `corrupt`, saying what is wrong.

std::string to_json(const LogMapping& mapping);
Result<LogMapping> parse_log_mapping(std::string_view text);  // also the older decimal form

std::string to_json(const LogMetadata& metadata);
Result<LogMetadata> parse_log_metadata(std::string_view text);  // empty: the default values

std::string to_json(const StreamConfig& config);
Result<StreamConfig> parse_stream_config(std::string_view text);

std::string to_json(const NamespaceRecord& record);
Result<NamespaceRecord> parse_namespace(std::string_view text);  // also the older flat form

/// `/stream-id/<log id>`: which partition a log belongs to.
std::string log_registration_json(std::string_view mapping_key);
Result<std::string> parse_log_registration(std::string_view text);  // empty: a log without a key

/// `/lks/producer-ids`, ours: the next producer id that was never given.
std::string producer_ids_json(std::int64_t next);
Result<std::int64_t> parse_producer_ids(std::string_view text);

}  // namespace lakestream::catalog
