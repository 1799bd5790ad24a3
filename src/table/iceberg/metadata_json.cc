// SPDX-License-Identifier: Apache-2.0
// TableMetadata to and from JSON.
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/result.h"
#include "table/iceberg/json_fields.h"
#include "table/iceberg/metadata.h"

namespace lakestream::table::iceberg {

namespace {

/// What is left of an object when the fields we hold ourselves are taken out.
std::string without(Json json, std::initializer_list<const char*> names) {
    for (const char* const name : names) {
        json.erase(name);
    }
    return dump(json);
}

/// Our fields first, then what came from elsewhere.
Json with_other(Json ours, const std::string& other) {
    const Json rest = Json::parse(other.empty() ? "{}" : other, nullptr, false);
    for (const auto& [name, value] : rest.items()) {
        ours[name] = value;
    }
    return ours;
}

/// An array's items; missing and null are empty.
Result<const Json*> array(const Json& json, const char* name) {
    static const Json empty = Json::array();
    const Json& value = field(json, name);
    if (value.is_null()) {
        return &empty;
    }
    if (!value.is_array()) {
        return corrupt("field {} is no list", name);
    }
    return &value;
}

Result<Properties> properties(const Json& json, const char* name) {
    Properties out;
    const Json& value = field(json, name);
    if (value.is_null()) {
        return out;
    }
    if (!value.is_object()) {
        return corrupt("field {} is no object", name);
    }
    for (const auto& [key, item] : value.items()) {
        if (!item.is_string()) {
            return corrupt("'{}' in field {} is no text", key, name);
        }
        out[key] = item.get<std::string>();
    }
    return out;
}

Json to_object(const Properties& properties) {
    Json out = Json::object();
    for (const auto& [key, value] : properties) {
        out[key] = value;
    }
    return out;
}

Result<std::vector<Numbered>> numbered(const Json& json, const char* name, const char* id_name) {
    std::vector<Numbered> out;
    for (const Json& item : *LKS_TRY(array(json, name))) {
        out.push_back({LKS_TRY(int32_field(item, id_name)), dump(item)});
    }
    return out;
}

Json to_array(const std::vector<Numbered>& items) {
    Json out = Json::array();
    for (const Numbered& item : items) {
        out.push_back(Json::parse(item.json, nullptr, false));
    }
    return out;
}

Result<Snapshot> parse_snapshot(const Json& json) {
    Snapshot out;
    out.id = LKS_TRY(integer_field(json, "snapshot-id"));
    out.parent = LKS_TRY(optional_integer_field(json, "parent-snapshot-id"));
    out.sequence_number = LKS_TRY(optional_integer_field(json, "sequence-number")).value_or(0);
    out.timestamp_ms = LKS_TRY(integer_field(json, "timestamp-ms"));
    out.manifest_list = LKS_TRY(text_field(json, "manifest-list"));
    out.summary = LKS_TRY(properties(json, "summary"));
    if (!field(json, "schema-id").is_null()) {
        out.schema_id = LKS_TRY(int32_field(json, "schema-id"));
    }
    out.other = without(
        json,
        {"snapshot-id",
         "parent-snapshot-id",
         "sequence-number",
         "timestamp-ms",
         "manifest-list",
         "summary",
         "schema-id"}
    );
    return out;
}

Json to_object(const Snapshot& snapshot) {
    Json out;
    out["sequence-number"] = snapshot.sequence_number;
    out["snapshot-id"] = snapshot.id;
    if (snapshot.parent) {
        out["parent-snapshot-id"] = *snapshot.parent;
    }
    out["timestamp-ms"] = snapshot.timestamp_ms;
    out["summary"] = to_object(snapshot.summary);
    out["manifest-list"] = snapshot.manifest_list;
    if (snapshot.schema_id) {
        out["schema-id"] = *snapshot.schema_id;
    }
    return with_other(std::move(out), snapshot.other);
}

Result<std::map<std::string, SnapshotRef>> parse_refs(const Json& json) {
    std::map<std::string, SnapshotRef> out;
    const Json& refs = field(json, "refs");
    if (!refs.is_object() && !refs.is_null()) {
        return corrupt("field refs is no object");
    }
    for (const auto& [name, item] : refs.items()) {
        SnapshotRef& ref = out[name];
        ref.snapshot = LKS_TRY(integer_field(item, "snapshot-id"));
        ref.type = LKS_TRY(text_field(item, "type"));
        ref.other = without(item, {"snapshot-id", "type"});
    }
    return out;
}

Json refs_to_object(const std::map<std::string, SnapshotRef>& refs) {
    Json out = Json::object();
    for (const auto& [name, ref] : refs) {
        Json item{{"snapshot-id", ref.snapshot}, {"type", ref.type}};
        out[name] = with_other(std::move(item), ref.other);
    }
    return out;
}

Status parse_logs(const Json& json, TableMetadata& out) {
    for (const Json& item : *LKS_TRY(array(json, "snapshot-log"))) {
        out.snapshot_log.push_back(
            {LKS_TRY(integer_field(item, "timestamp-ms")),
             LKS_TRY(integer_field(item, "snapshot-id"))}
        );
    }
    for (const Json& item : *LKS_TRY(array(json, "metadata-log"))) {
        out.metadata_log.push_back(
            {LKS_TRY(integer_field(item, "timestamp-ms")),
             LKS_TRY(text_field(item, "metadata-file"))}
        );
    }
    return {};
}

/// A number that only grows: neither negative nor so large that the next one could overflow.
Result<std::int64_t> growing(const Json& json, const char* name) {
    const std::int64_t value = LKS_TRY(integer_field(json, name));
    if (value < 0 || value >= std::int64_t{1} << 62) {
        return corrupt("field {} is {}", name, value);
    }
    return value;
}

constexpr auto own_fields = {
    "format-version",
    "table-uuid",
    "location",
    "last-sequence-number",
    "last-updated-ms",
    "last-column-id",
    "current-schema-id",
    "schemas",
    "default-spec-id",
    "partition-specs",
    "last-partition-id",
    "default-sort-order-id",
    "sort-orders",
    "properties",
    "current-snapshot-id",
    "refs",
    "snapshots",
    "snapshot-log",
    "metadata-log",
};

constexpr std::int64_t no_snapshot = -1;  // null from version 3 on

}  // namespace

Result<TableMetadata> parse_metadata(std::string_view text) {
    const Json json = LKS_TRY(parse_object(text, "table metadata"));
    TableMetadata out;
    out.format_version = LKS_TRY(int32_field(json, "format-version"));
    if (out.format_version < 2 || out.format_version > 3) {
        return unsupported("Iceberg format version {}", out.format_version);
    }
    out.uuid = LKS_TRY(text_field(json, "table-uuid"));
    out.location = LKS_TRY(text_field(json, "location"));
    out.last_sequence_number = LKS_TRY(growing(json, "last-sequence-number"));
    out.last_updated_ms = LKS_TRY(growing(json, "last-updated-ms"));
    out.last_column_id = LKS_TRY(int32_field(json, "last-column-id"));
    out.current_schema = LKS_TRY(int32_field(json, "current-schema-id"));
    out.schemas = LKS_TRY(numbered(json, "schemas", "schema-id"));
    out.default_spec = LKS_TRY(int32_field(json, "default-spec-id"));
    out.specs = LKS_TRY(numbered(json, "partition-specs", "spec-id"));
    out.last_partition_id = LKS_TRY(int32_field(json, "last-partition-id"));
    out.default_sort_order = LKS_TRY(int32_field(json, "default-sort-order-id"));
    out.sort_orders = LKS_TRY(numbered(json, "sort-orders", "order-id"));
    out.properties = LKS_TRY(properties(json, "properties"));
    out.current_snapshot = LKS_TRY(optional_integer_field(json, "current-snapshot-id"));
    if (out.current_snapshot == no_snapshot) {
        out.current_snapshot.reset();
    }
    out.refs = LKS_TRY(parse_refs(json));
    for (const Json& item : *LKS_TRY(array(json, "snapshots"))) {
        out.snapshots.push_back(LKS_TRY(parse_snapshot(item)));
    }
    LKS_TRY(parse_logs(json, out));
    out.other = without(json, own_fields);
    return out;
}

std::string to_json(const TableMetadata& metadata) {
    Json out;
    out["format-version"] = metadata.format_version;
    out["table-uuid"] = metadata.uuid;
    out["location"] = metadata.location;
    out["last-sequence-number"] = metadata.last_sequence_number;
    out["last-updated-ms"] = metadata.last_updated_ms;
    out["last-column-id"] = metadata.last_column_id;
    out["current-schema-id"] = metadata.current_schema;
    out["schemas"] = to_array(metadata.schemas);
    out["default-spec-id"] = metadata.default_spec;
    out["partition-specs"] = to_array(metadata.specs);
    out["last-partition-id"] = metadata.last_partition_id;
    out["default-sort-order-id"] = metadata.default_sort_order;
    out["sort-orders"] = to_array(metadata.sort_orders);
    out["properties"] = to_object(metadata.properties);
    out["current-snapshot-id"] = nullptr;
    if (metadata.current_snapshot || metadata.format_version < 3) {
        out["current-snapshot-id"] = metadata.current_snapshot.value_or(no_snapshot);
    }
    out["refs"] = refs_to_object(metadata.refs);
    out["snapshots"] = Json::array();
    for (const Snapshot& snapshot : metadata.snapshots) {
        out["snapshots"].push_back(to_object(snapshot));
    }
    out["snapshot-log"] = Json::array();
    for (const SnapshotLogEntry& entry : metadata.snapshot_log) {
        out["snapshot-log"].push_back(
            Json{{"timestamp-ms", entry.timestamp_ms}, {"snapshot-id", entry.snapshot}}
        );
    }
    out["metadata-log"] = Json::array();
    for (const MetadataLogEntry& entry : metadata.metadata_log) {
        out["metadata-log"].push_back(
            Json{{"timestamp-ms", entry.timestamp_ms}, {"metadata-file", entry.file}}
        );
    }
    return dump(with_other(std::move(out), metadata.other));
}

}  // namespace lakestream::table::iceberg
