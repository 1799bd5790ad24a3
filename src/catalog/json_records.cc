// SPDX-License-Identifier: Apache-2.0
// The catalog's records to and from JSON, with the reference reader's tolerances.
#include "catalog/json_records.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/assert.h"

namespace lakestream::catalog {

namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Whether lists and objects are nested no deeper than any record of ours: writing recurses.
bool shallow(std::string_view text) {
    constexpr int depth_max = 64;
    int depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size() && depth <= depth_max; ++i) {
        const char c = text[i];
        if (in_string && c == '\\') {
            ++i;
        } else if (c == '"') {
            in_string = !in_string;
        } else if (!in_string && (c == '{' || c == '[')) {
            ++depth;
        } else if (!in_string && (c == '}' || c == ']')) {
            --depth;
        }
    }
    return depth <= depth_max;
}

/// Discarded when the text is no JSON.
Json parse_json(std::string_view text) {
    return shallow(text) ? Json::parse(text, nullptr, false) : Json(Json::value_t::discarded);
}

Result<Json> parse_object(std::string_view text, std::string_view what) {
    Json json = parse_json(text);
    if (!json.is_object()) {
        return corrupt("{} is no JSON object", what);
    }
    return json;
}

/// The field, or null when it is missing.
const Json& field(const Json& json, const char* name) {
    static const Json null;
    const auto found = json.find(name);
    return found == json.end() ? null : *found;
}

Result<std::int64_t> integer(const Json& json, const char* name, std::int64_t if_missing) {
    const Json& value = field(json, name);
    if (value.is_null()) {
        return if_missing;
    }
    if (value.is_number_unsigned()) {
        const auto number = value.get<std::uint64_t>();
        if (number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
            return static_cast<std::int64_t>(number);
        }
    } else if (value.is_number_integer()) {
        return value.get<std::int64_t>();
    } else if (value.is_string()) {
        const auto& text = value.get_ref<const std::string&>();
        std::int64_t number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error == std::errc() && end == text.data() + text.size()) {
            return number;
        }
    }
    return corrupt("field {} is no 64-bit integer", name);
}

Result<std::int32_t> small_integer(const Json& json, const char* name) {
    const std::int64_t number = LKS_TRY(integer(json, name, 0));
    if (number < 0 || number > std::numeric_limits<std::int32_t>::max()) {
        return corrupt("field {} is {}", name, number);
    }
    return static_cast<std::int32_t>(number);
}

Result<bool> boolean(const Json& json, const char* name) {
    const Json& value = field(json, name);
    if (value.is_null()) {
        return false;
    }
    if (!value.is_boolean()) {
        return corrupt("field {} is neither true nor false", name);
    }
    return value.get<bool>();
}

/// Absent when missing or null.
Result<std::optional<std::string>> text(const Json& json, const char* name) {
    const Json& value = field(json, name);
    if (value.is_null()) {
        return std::optional<std::string>();
    }
    if (!value.is_string()) {
        return corrupt("field {} is no text", name);
    }
    return std::optional(value.get<std::string>());
}

Result<Properties> properties(const Json& value, const char* name) {
    Properties out;
    if (value.is_null()) {
        return out;
    }
    if (!value.is_object()) {
        return corrupt("field {} is no object", name);
    }
    for (const auto& [key, item] : value.items()) {
        if (item.is_string()) {
            out[key] = item.get<std::string>();
        } else if (item.is_primitive() && !item.is_null()) {
            out[key] = dump(item);
        } else {
            return corrupt("property {} in {} is no text", key, name);
        }
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

/// A record inside a record; absent when missing or null.
std::optional<std::string> nested(const Json& json, const char* name) {
    const Json& value = field(json, name);
    return value.is_null() ? std::nullopt : std::optional(dump(value));
}

void put_nested(Json& json, const char* name, const std::optional<std::string>& stored) {
    if (stored.has_value()) {
        json[name] = Json::parse(*stored, nullptr, false);
    }
}

struct OwnerFields {
    const char* incarnation;
    const char* token;
    const char* generation;
};

constexpr OwnerFields config_owner{"_incarnationId", "_ownerToken", "_ownerGeneration"};
constexpr OwnerFields registration_owner{
    "registrationIncarnationId", "registrationOwnerToken", "registrationOwnerGeneration"
};

/// All three fields or none.
Result<std::optional<Owner>> owner(const Json& json, const OwnerFields& names) {
    auto incarnation = LKS_TRY(text(json, names.incarnation));
    auto token = LKS_TRY(text(json, names.token));
    const std::int64_t generation = LKS_TRY(integer(json, names.generation, -1));
    if (!incarnation && !token && generation == -1 && field(json, names.generation).is_null()) {
        return std::optional<Owner>();
    }
    if (!incarnation || !token || generation < 0) {
        return corrupt(
            "fields {}, {} and {} belong together", names.incarnation, names.token, names.generation
        );
    }
    return std::optional(Owner{std::move(*incarnation), std::move(*token), generation});
}

void put_owner(Json& json, const OwnerFields& names, const std::optional<Owner>& owner) {
    if (owner.has_value()) {
        json[names.incarnation] = owner->incarnation;
        json[names.token] = owner->token;
        json[names.generation] = owner->generation;
    }
}

/// Ids >= 0, without repetition.
Result<std::set<std::int64_t>> ids(const Json& json, const char* name) {
    std::set<std::int64_t> out;
    const Json& list = field(json, name);
    if (list.is_null()) {
        return out;
    }
    if (!list.is_array()) {
        return corrupt("field {} is no list", name);
    }
    for (const Json& item : list) {
        if (!item.is_number_integer() || item.get<std::int64_t>() < 0) {
            return corrupt("field {} has an item that is no id", name);
        }
        out.insert(item.get<std::int64_t>());
    }
    return out;
}

bool blank(std::string_view text) {
    return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

Result<std::set<std::string>> mapping_keys(const Json& json) {
    std::set<std::string> out;
    const Json& list = field(json, "retiredMappingKeys");
    if (list.is_null()) {
        return out;
    }
    if (!list.is_array()) {
        return corrupt("field retiredMappingKeys is no list");
    }
    for (const Json& item : list) {
        if (!item.is_string() || blank(item.get_ref<const std::string&>())) {
            return corrupt("field retiredMappingKeys has an item that is no key");
        }
        out.insert(item.get<std::string>());
    }
    return out;
}

/// Equal ones become one; one of them asked to purge is enough.
Result<std::vector<RetiredMapping>> retired_mappings(const Json& json, const LogMetadata& others) {
    const Json& list = field(json, "retiredStreamMappings");
    if (list.is_null()) {
        return std::vector<RetiredMapping>();
    }
    if (!list.is_array()) {
        return corrupt("field retiredStreamMappings is no list");
    }
    std::map<std::pair<std::int64_t, std::string>, bool> merged;
    for (const Json& item : list) {
        if (!item.is_object()) {
            return corrupt("field retiredStreamMappings has an item that is no object");
        }
        const std::int64_t id = LKS_TRY(integer(item, "streamId", -1));
        const std::string key = LKS_TRY(text(item, "mappingKey")).value_or("");
        if (id < -1 || (id >= 0 && !others.retired_ids.contains(id))) {
            return corrupt("retired mapping of log {} that is not retired", id);
        }
        if (!others.retired_mapping_keys.contains(key)) {
            return corrupt("retired mapping key '{}' is missing in retiredMappingKeys", key);
        }
        merged[{id, key}] |= LKS_TRY(boolean(item, "purge"));
    }
    std::vector<RetiredMapping> out;
    for (const auto& [mapping, purge] : merged) {
        out.push_back({mapping.first, mapping.second, purge});
    }
    return out;
}

std::string_view to_text(StreamState state) {
    switch (state) {
        case StreamState::active: return "ACTIVE";
        case StreamState::provisioning: return "PROVISIONING";
        case StreamState::aborting: return "ABORTING";
        case StreamState::dropped: return "DROPPED";
    }
    LKS_UNREACHABLE();
}

Result<StreamState> stream_state(const Json& json) {
    if (!LKS_TRY(boolean(json, "_provisioning"))) {
        return StreamState::active;
    }
    const std::string name = LKS_TRY(text(json, "_provisioningState")).value_or("");
    for (const StreamState state :
         {StreamState::provisioning, StreamState::aborting, StreamState::dropped}) {
        if (name == to_text(state)) {
            return state;
        }
    }
    return corrupt("unknown state '{}'", name);
}

Status read_partitioning(const Json& json, StreamConfig& config) {
    const Json& partitioning = field(json, "partitioning");
    if (partitioning.is_object()) {
        config.strategy = LKS_TRY(text(partitioning, "strategy")).value_or("INDEXED");
    }
    if (config.strategy != "INDEXED" && config.strategy != "RANGE") {
        return corrupt("unknown partitioning '{}'", config.strategy);
    }
    if (!partitioning.is_object() || field(partitioning, "config").is_null()) {
        config.partitioning = {{"numPartitions", std::to_string(config.partitions)}};
        return {};
    }
    config.partitioning = LKS_TRY(properties(partitioning["config"], "partitioning.config"));
    const auto count = config.partitioning.find("numPartitions");
    const std::string counted = count == config.partitioning.end() ? "1" : count->second;
    if (counted != std::to_string(config.partitions)) {
        return corrupt("partitions is {}, numPartitions '{}'", config.partitions, counted);
    }
    return {};
}

Status read_expansion(const Json& json, StreamConfig& config) {
    const Json& pending = field(json, "_pendingExpansion");
    if (!pending.is_object()) {
        return {};
    }
    const Expansion expansion{
        LKS_TRY(small_integer(pending, "basePartitions")),
        LKS_TRY(small_integer(pending, "targetPartitions")),
    };
    if (expansion.base != config.partitions) {
        return corrupt("partitions is {}, basePartitions {}", config.partitions, expansion.base);
    }
    config.pending_expansion = expansion;
    return {};
}

}  // namespace

std::string to_json(const LogMapping& mapping) {
    Json json;
    json["version"] = 1;
    json["state"] = mapping.state == MappingState::active ? "ACTIVE" : "TOMBSTONE";
    json["streamId"] = mapping.log_id;
    json["incarnationId"] = mapping.owner.incarnation;
    json["ownerToken"] = mapping.owner.token;
    json["ownerGeneration"] = mapping.owner.generation;
    return dump(json);
}

Result<LogMapping> parse_log_mapping(std::string_view value) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc() && end == value.data() + value.size() && number >= 0) {
        return LogMapping{MappingState::active, number, {"__legacy__", "__legacy__", 0}};
    }
    const Json json = LKS_TRY(parse_object(value, "a stream id mapping"));
    if (const auto version = LKS_TRY(integer(json, "version", 0)); version != 1) {
        return corrupt("a stream id mapping of unknown version {}", version);
    }
    LogMapping mapping;
    const std::string state = LKS_TRY(text(json, "state")).value_or("");
    if (state != "ACTIVE" && state != "TOMBSTONE") {
        return corrupt("a stream id mapping in unknown state '{}'", state);
    }
    mapping.state = state == "ACTIVE" ? MappingState::active : MappingState::tombstone;
    mapping.log_id = LKS_TRY(integer(json, "streamId", -1));
    auto incarnation = LKS_TRY(text(json, "incarnationId"));
    auto token = LKS_TRY(text(json, "ownerToken"));
    if (!incarnation.has_value() || !token.has_value()) {
        return corrupt("a stream id mapping without owner");
    }
    mapping.owner = {
        std::move(*incarnation), std::move(*token), LKS_TRY(integer(json, "ownerGeneration", 0))
    };
    if (mapping.log_id < (mapping.state == MappingState::active ? 0 : -1)) {
        return corrupt("a stream id mapping with id {}", mapping.log_id);
    }
    return mapping;
}

std::string to_json(const LogMetadata& metadata) {
    Json json;
    json["streamId"] = metadata.log_id;
    if (metadata.properties.has_value()) {
        json["properties"] = to_object(*metadata.properties);
    }
    json["terminatedOffset"] =
        metadata.terminated_offset.has_value() ? Json(*metadata.terminated_offset) : Json();
    put_owner(json, registration_owner, metadata.registration);
    if (!metadata.retired_ids.empty()) {
        json["retiredStreamIds"] = metadata.retired_ids;
    }
    if (!metadata.purgeable_retired_ids.empty()) {
        json["purgeableRetiredStreamIds"] = metadata.purgeable_retired_ids;
    }
    for (const RetiredMapping& mapping : metadata.retired_mappings) {
        Json item;
        item["streamId"] = mapping.log_id;
        item["mappingKey"] = mapping.mapping_key;
        item["purge"] = mapping.purge;
        json["retiredStreamMappings"].push_back(std::move(item));
    }
    if (!metadata.retired_mapping_keys.empty()) {
        json["retiredMappingKeys"] = metadata.retired_mapping_keys;
    }
    json["deleted"] = metadata.deleted;
    return dump(json);
}

Result<LogMetadata> parse_log_metadata(std::string_view value) {
    LogMetadata metadata{.properties = Properties()};
    if (value.empty()) {
        return metadata;
    }
    const Json json = LKS_TRY(parse_object(value, "log metadata"));
    metadata.log_id = LKS_TRY(integer(json, "streamId", -1));
    if (const auto found = json.find("properties"); found != json.end() && found->is_null()) {
        metadata.properties.reset();
    } else {
        metadata.properties = LKS_TRY(properties(field(json, "properties"), "properties"));
    }
    if (!field(json, "terminatedOffset").is_null()) {
        metadata.terminated_offset = LKS_TRY(integer(json, "terminatedOffset", 0));
    }
    metadata.registration = LKS_TRY(owner(json, registration_owner));
    metadata.retired_ids = LKS_TRY(ids(json, "retiredStreamIds"));
    metadata.purgeable_retired_ids = LKS_TRY(ids(json, "purgeableRetiredStreamIds"));
    if (!std::ranges::includes(metadata.retired_ids, metadata.purgeable_retired_ids)) {
        return corrupt("purgeableRetiredStreamIds has an id that is not in retiredStreamIds");
    }
    metadata.retired_mapping_keys = LKS_TRY(mapping_keys(json));
    metadata.retired_mappings = LKS_TRY(retired_mappings(json, metadata));
    metadata.deleted = LKS_TRY(boolean(json, "deleted"));
    return metadata;
}

std::string to_json(const StreamConfig& config) {
    Json json;
    json["partitions"] = config.partitions;
    json["properties"] = to_object(config.properties);
    json["streamConfig"]["properties"] = to_object(config.stream_properties);
    json["partitioning"]["strategy"] = config.strategy;
    json["partitioning"]["config"] = to_object(config.partitioning);
    json["schema"]["schemaType"] = config.schema_type;
    json["schema"]["properties"] = to_object(config.schema_properties);
    if (config.pending_expansion.has_value()) {
        json["_pendingExpansion"]["basePartitions"] = config.pending_expansion->base;
        json["_pendingExpansion"]["targetPartitions"] = config.pending_expansion->target;
    }
    if (config.properties_revision != -1) {
        json["_propertiesSourceRevision"] = config.properties_revision;
    }
    put_nested(json, "materialization", config.materialization);
    put_owner(json, config_owner, config.owner);
    if (config.metadata_source_token.has_value()) {
        json["_metadataSourceOwnerToken"] = *config.metadata_source_token;
    }
    if (config.metadata_source_generation != -2) {
        json["_metadataSourceGeneration"] = config.metadata_source_generation;
    }
    json["_creationKind"] = "NATIVE_CREATE";
    if (config.state != StreamState::active) {
        json["_provisioning"] = true;
        json["_provisioningState"] = to_text(config.state);
    }
    if (config.purge_requested) {
        json["_purgeRequested"] = true;
    }
    return dump(json);
}

Result<StreamConfig> parse_stream_config(std::string_view value) {
    const Json json = LKS_TRY(parse_object(value, "a stream config"));
    if (const auto kind = LKS_TRY(text(json, "_creationKind")); kind != "NATIVE_CREATE") {
        return corrupt("a stream config with _creationKind '{}'", kind.value_or(""));
    }
    StreamConfig config;
    config.partitions = LKS_TRY(small_integer(json, "partitions"));
    config.properties = LKS_TRY(properties(field(json, "properties"), "properties"));
    if (const Json& stream = field(json, "streamConfig"); stream.is_object()) {
        config.stream_properties =
            LKS_TRY(properties(field(stream, "properties"), "streamConfig.properties"));
    }
    LKS_TRY(read_partitioning(json, config));
    if (const Json& schema = field(json, "schema"); schema.is_object()) {
        config.schema_type = LKS_TRY(text(schema, "schemaType")).value_or("NONE");
        config.schema_properties =
            LKS_TRY(properties(field(schema, "properties"), "schema.properties"));
    }
    LKS_TRY(read_expansion(json, config));
    config.properties_revision = LKS_TRY(integer(json, "_propertiesSourceRevision", -1));
    config.materialization = nested(json, "materialization");
    config.owner = LKS_TRY(owner(json, config_owner));
    config.metadata_source_token = LKS_TRY(text(json, "_metadataSourceOwnerToken"));
    config.metadata_source_generation = LKS_TRY(integer(json, "_metadataSourceGeneration", -2));
    config.state = LKS_TRY(stream_state(json));
    config.purge_requested = LKS_TRY(boolean(json, "_purgeRequested"));
    return config;
}

std::string to_json(const NamespaceRecord& record) {
    Json json;
    json["properties"] = to_object(record.properties);
    put_nested(json, "materialization", record.materialization);
    return dump(json);
}

Result<NamespaceRecord> parse_namespace(std::string_view value) {
    NamespaceRecord record;
    if (value.empty()) {
        return record;
    }
    const Json json = parse_json(value);
    if (json.is_discarded()) {
        return corrupt("a namespace record is no JSON");
    }
    if (!json.is_object()) {
        return record;
    }
    if (!json.contains("properties") && !json.contains("materialization")) {
        if (std::ranges::all_of(json, [](const Json& item) { return item.is_string(); })) {
            record.properties = LKS_TRY(properties(json, "the record"));
        }
        return record;
    }
    if (json.contains("properties")) {
        if (!json["properties"].is_object()) {
            return corrupt("field properties is no object");
        }
        record.properties = LKS_TRY(properties(json["properties"], "properties"));
    }
    record.materialization = nested(json, "materialization");
    return record;
}

std::string log_registration_json(std::string_view mapping_key) {
    Json json;
    json["key"] = mapping_key;
    return dump(json);
}

Result<std::string> parse_log_registration(std::string_view value) {
    const Json json = LKS_TRY(parse_object(value, "a log's registration"));
    if (!json.contains("key")) {
        return std::string();
    }
    if (!json["key"].is_string()) {
        return corrupt("the key of a log's registration is no text");
    }
    return json["key"].get<std::string>();
}

std::string producer_ids_json(std::int64_t next) {
    Json json;
    json["version"] = 1;
    json["next"] = next;
    return dump(json);
}

Result<std::int64_t> parse_producer_ids(std::string_view value) {
    const Json json = LKS_TRY(parse_object(value, "the record of producer ids"));
    if (const auto version = LKS_TRY(integer(json, "version", 0)); version != 1) {
        return unsupported("the record of producer ids has the unknown version {}", version);
    }
    const std::int64_t next = LKS_TRY(integer(json, "next", -1));
    if (next < 0) {
        return corrupt("the record of producer ids has no next id");
    }
    return next;
}

}  // namespace lakestream::catalog
