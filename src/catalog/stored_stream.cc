// SPDX-License-Identifier: Apache-2.0
// Reading the records of streams.
#include "catalog/stored_stream.h"

#include <map>
#include <utility>

#include "base/log.h"
#include "base/uuid.h"
#include "catalog/keys.h"
#include "catalog/names.h"

namespace lakestream::catalog {

namespace {

constexpr int scans_max = 3;
constexpr std::size_t few = 64;  // streams whose logs are read one by one

template <class Record>
Result<Stored<Record>> parse(
    Result<Record> (*parse_record)(std::string_view), const meta::Record& record
) {
    Result<Record> parsed = parse_record(record.value.view());
    if (!parsed.ok()) {
        return std::move(parsed).error().with_context(fmt::format("metadata key {}", record.key));
    }
    return Stored<Record>{std::move(*parsed), record.version.id};
}

/// Whether a partition's metadata was registered by this stream's incarnation.
bool same_incarnation(const StreamConfig& config, const LogMetadata& metadata) {
    return !config.owner.has_value() || !metadata.registration.has_value() ||
           config.owner->incarnation == metadata.registration->incarnation;
}

Status read_metadata_into(
    const meta::Record& record, std::string_view prefix, std::vector<StoredPartition>& partitions
) {
    const auto number = keys::number_after(prefix, record.key);
    if (number.has_value() && *number < partitions.size()) {
        partitions[*number].metadata = LKS_TRY(parse(parse_log_metadata, record));
    }
    return {};
}

/// A partition's metadata key below `/streams/<ns>/`: the stream's name and the number.
std::optional<std::pair<std::string, std::size_t>> split_partition(
    std::string_view parent, std::string_view key
) {
    constexpr std::string_view mark = "-partition-";
    const std::size_t at = key.rfind(mark);
    if (at == std::string_view::npos || at <= parent.size()) {
        return std::nullopt;
    }
    const auto number = keys::number_after(key.substr(0, at + mark.size()), key);
    if (!number.has_value() || *number >= partitions_max) {
        return std::nullopt;
    }
    return std::pair(std::string(key.substr(parent.size() + 1, at - parent.size() - 1)), *number);
}

struct ConfigsAndPartitions {
    std::vector<VersionedStream> known;
    std::map<std::string, Stored<StreamConfig>> configs;  // by name, active ones
    std::map<std::string, std::vector<StoredPartition>> partitions;
};

void take_config(
    const std::string& ns,
    const meta::Record& record,
    const KnownStream& known,
    ConfigsAndPartitions& out
) {
    const auto name = keys::stream_name(keys::configs_root, record.key);
    if (!name.has_value() || name->ns != ns) {
        return;
    }
    if (StreamPtr stream = known(*name, record.version.id)) {
        out.known.push_back({std::move(stream), record.version.id});
        return;
    }
    auto config = parse(parse_stream_config, record);
    if (!config.ok()) {
        log::error("catalog", "stream_unreadable error={}", config.error().to_string());
    } else if (config->record.state == StreamState::active) {
        out.configs.emplace(name->name, std::move(*config));
    }
}

void take_partition(const std::string& ns, const meta::Record& record, ConfigsAndPartitions& out) {
    const auto split = split_partition(fmt::format("{}/{}", keys::logs_root, ns), record.key);
    if (!split.has_value() || !out.configs.contains(split->first)) {
        return;
    }
    auto metadata = parse(parse_log_metadata, record);
    if (metadata.ok()) {
        std::vector<StoredPartition>& partitions = out.partitions[split->first];
        if (partitions.size() <= split->second) {
            partitions.resize(split->second + 1);
        }
        partitions[split->second].metadata = std::move(*metadata);
    } else {
        log::error("catalog", "partition_unreadable error={}", metadata.error().to_string());
    }
}

}  // namespace

rt::Task<Result<StoredConfig>> read_config(meta::MetadataStore& store, std::string key) {
    const Result<meta::Record> record = co_await store.get({.key = std::move(key)});
    if (record.is(ErrorCode::not_found)) {
        co_return StoredConfig();
    }
    if (!record.ok()) {
        co_return record.error();
    }
    co_return LKS_CO_TRY(parse(parse_stream_config, *record));
}

rt::Task<Result<std::vector<StoredPartition>>> read_log_metadata(
    meta::MetadataStore& store, StreamName name, std::size_t count
) {
    std::vector<StoredPartition> partitions(count);
    const std::string prefix = keys::log_metadata_prefix(name);
    const auto scan = store.scan(keys::numbered(prefix));
    while (true) {
        const auto page = LKS_CO_TRY(co_await scan->next());
        if (page.empty()) {
            co_return partitions;
        }
        for (const meta::Record& record : page) {
            LKS_CO_TRY(read_metadata_into(record, prefix, partitions));
        }
    }
}

rt::Task<Result<std::vector<StoredPartition>>> read_partitions(
    meta::MetadataStore& store, StreamName name, std::size_t count
) {
    auto partitions = LKS_CO_TRY(co_await read_log_metadata(store, name, count));
    const std::string parent = keys::mapping(keys::mapping_parent(name));
    meta::Range range = keys::children(store.key_order(), parent);
    range.partition_key = keys::log_id_generator;
    const auto scan = store.scan(std::move(range));
    while (true) {
        const auto page = LKS_CO_TRY(co_await scan->next());
        if (page.empty()) {
            co_return partitions;
        }
        for (const meta::Record& record : page) {
            const auto number =
                keys::number_after(fmt::format("{}/partition-", parent), record.key);
            if (number.has_value() && *number < count) {
                partitions[*number].mapping = LKS_CO_TRY(parse(parse_log_mapping, record));
            }
        }
    }
}

Result<VersionedStream> assemble(
    const StreamName& name,
    const Stored<StreamConfig>& config,
    const std::vector<StoredPartition>& partitions
) {
    auto stream = std::make_shared<StreamInfo>();
    stream->name = name;
    stream->properties = config.record.properties;
    if (config.record.owner.has_value()) {
        // The oldest streams have none, and some other engine's may be no UUID: not found by id.
        stream->incarnation = parse_uuid(config.record.owner->incarnation).value_or(Uuid{});
    }
    const auto count = static_cast<std::size_t>(config.record.partitions);
    for (std::size_t i = 0; i < count; ++i) {
        const auto* metadata = i < partitions.size() && partitions[i].metadata.has_value()
                                   ? &partitions[i].metadata->record
                                   : nullptr;
        if (metadata == nullptr || metadata->deleted || metadata->log_id < 0 ||
            !same_incarnation(config.record, *metadata)) {
            return corrupt(
                "stream {}/{}: metadata key {}{} has no log of this stream",
                name.ns,
                name.name,
                keys::log_metadata_prefix(name),
                i
            );
        }
        stream->logs.emplace_back(metadata->log_id);
    }
    return VersionedStream{std::move(stream), config.version};
}

rt::Task<Result<VersionedStream>> read_active(
    meta::MetadataStore& store, StreamName name, Stored<StreamConfig> config
) {
    const auto count = static_cast<std::size_t>(config.record.partitions);
    if (count > partitions_max) {
        co_return corrupt("metadata key {} has {} partitions", keys::config(name), count);
    }
    // A scan may be short once, answered by a leader that is none any more.
    Result<VersionedStream> stream = corrupt("never read");
    for (int attempt = 0; attempt < scans_max && !stream.ok(); ++attempt) {
        stream = assemble(name, config, LKS_CO_TRY(co_await read_log_metadata(store, name, count)));
        if (!stream.ok()) {
            const auto now = LKS_CO_TRY(co_await read_config(store, keys::config(name)));
            if (!now.has_value() || now->version != config.version) {
                co_return conflict("stream {}/{} changed while it was read", name.ns, name.name);
            }
        }
    }
    co_return stream;
}

rt::Task<Result<ListedStreams>> list_streams(
    meta::MetadataStore& store, std::string ns, KnownStream known
) {
    ConfigsAndPartitions found;
    const auto configs =
        store.scan(keys::children(store.key_order(), fmt::format("{}/{}", keys::configs_root, ns)));
    for (auto page = LKS_CO_TRY(co_await configs->next()); !page.empty();
         page = LKS_CO_TRY(co_await configs->next())) {
        for (const meta::Record& record : page) {
            take_config(ns, record, known, found);
        }
    }
    ListedStreams out{.streams = std::move(found.known), .unclear = {}};
    if (found.configs.size() <= few) {
        for (const auto& [name, config] : found.configs) {
            out.unclear.push_back({ns, name});
        }
        co_return out;
    }
    const auto logs =
        store.scan(keys::children(store.key_order(), fmt::format("{}/{}", keys::logs_root, ns)));
    for (auto page = LKS_CO_TRY(co_await logs->next()); !page.empty();
         page = LKS_CO_TRY(co_await logs->next())) {
        for (const meta::Record& record : page) {
            take_partition(ns, record, found);
        }
    }
    for (const auto& [name, config] : found.configs) {
        auto stream = assemble({ns, name}, config, found.partitions[name]);
        if (stream.ok()) {
            out.streams.push_back(std::move(*stream));
        } else {
            out.unclear.push_back({ns, name});
        }
    }
    co_return out;
}

rt::Task<Result<std::vector<StreamName>>> list_unfinished(
    meta::MetadataStore& store, std::string ns
) {
    std::vector<StreamName> out;
    const auto scan =
        store.scan(keys::children(store.key_order(), fmt::format("{}/{}", keys::configs_root, ns)));
    while (true) {
        const auto page = LKS_CO_TRY(co_await scan->next());
        if (page.empty()) {
            co_return out;
        }
        for (const meta::Record& record : page) {
            // Parsing all of ten thousand streams at start would take longer than starting.
            const std::string_view text = record.value.view();
            if (text.find("\"_provisioning\"") == std::string_view::npos &&
                text.find("\"_pendingExpansion\"") == std::string_view::npos) {
                continue;
            }
            if (auto name = keys::stream_name(keys::configs_root, record.key)) {
                out.push_back(std::move(*name));
            }
        }
    }
}

rt::Task<Result<std::vector<std::string>>> list_namespaces(meta::MetadataStore& store) {
    const auto found =
        LKS_CO_TRY(co_await store.list(keys::children(store.key_order(), keys::namespaces_root)));
    std::vector<std::string> out;
    for (const std::string& key : found) {
        out.push_back(key.substr(keys::namespaces_root.size() + 1));
    }
    co_return out;
}

}  // namespace lakestream::catalog
