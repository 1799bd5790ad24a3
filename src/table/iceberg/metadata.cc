// SPDX-License-Identifier: Apache-2.0
// The table of a topic, and what a commit does to metadata.
#include "table/iceberg/metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/assert.h"
#include "base/result.h"
#include "table/iceberg/json_fields.h"

namespace lakestream::table::iceberg {

namespace {

constexpr std::string_view topic_schema =
    R"({"type":"struct","schema-id":0,"fields":[)"
    R"({"id":1,"name":"kafka_partition","required":true,"type":"int"},)"
    R"({"id":2,"name":"kafka_offset","required":true,"type":"long"},)"
    R"({"id":3,"name":"kafka_timestamp","required":true,"type":"timestamptz"},)"
    R"({"id":4,"name":"kafka_key","required":false,"type":"binary"},)"
    R"({"id":5,"name":"value","required":false,"type":"binary"},)"
    R"({"id":6,"name":"kafka_headers","required":true,"type":)"
    R"({"type":"list","element-id":7,"element-required":true,"element":)"
    R"({"type":"struct","fields":[)"
    R"({"id":8,"name":"key","required":true,"type":"string"},)"
    R"({"id":9,"name":"value","required":false,"type":"binary"}]}}}]})";
constexpr std::int32_t topic_column_max = 9;

constexpr std::string_view unpartitioned = R"({"spec-id":0,"fields":[]})";
constexpr std::int32_t before_first_partition_id = 999;

constexpr std::string_view by_partition_and_offset =
    R"({"order-id":1,"fields":[)"
    R"({"transform":"identity","source-id":1,"direction":"asc","null-order":"nulls-first"},)"
    R"({"transform":"identity","source-id":2,"direction":"asc","null-order":"nulls-first"}]})";

/// The last in the list: ids are unique, and the newest are asked for most.
template <class Items, class Id>
const typename Items::value_type* find_by_id(const Items& items, Id id) {
    const auto found =
        std::find_if(items.rbegin(), items.rend(), [&](const auto& item) { return item.id == id; });
    return found == items.rend() ? nullptr : &*found;
}

/// A property that is a number of 1 or more; the fallback when it is missing or something else.
std::int64_t number(const Properties& properties, const char* name, std::int64_t fallback) {
    const auto found = properties.find(name);
    if (found == properties.end()) {
        return fallback;
    }
    const std::string& text = found->second;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool good = error == std::errc() && end == text.data() + text.size() && value >= 1;
    return good ? value : fallback;
}

/// A column is as we write it, whatever it is called now: readers go by ids.
bool same_column(const Json& wanted, const Json& found) {
    const auto same = [&](const char* name) {
        // Other writers order fields otherwise; this kind of object does not care.
        return nlohmann::json(field(wanted, name)) == nlohmann::json(field(found, name));
    };
    return same("type") && same("required");
}

/// Snapshots that refs need: each ref's own, and as many ancestors as it asks for.
std::set<std::int64_t> needed_by_refs(const TableMetadata& metadata) {
    std::set<std::int64_t> needed;
    for (const auto& [name, ref] : metadata.refs) {
        const Json other = Json::parse(ref.other.empty() ? "{}" : ref.other, nullptr, false);
        const Json& wish = field(other, "min-snapshots-to-keep");
        const auto wished = wish.is_number_integer() ? wish.get<std::int64_t>() : 1;
        const Snapshot* snapshot = metadata.find_snapshot(ref.snapshot);
        for (std::int64_t i = 0; snapshot != nullptr && i < std::max<std::int64_t>(wished, 1);
             ++i) {
            if (!needed.insert(snapshot->id).second) {
                break;
            }
            snapshot = snapshot->parent ? metadata.find_snapshot(*snapshot->parent) : nullptr;
        }
    }
    return needed;
}

}  // namespace

const Snapshot* TableMetadata::find_snapshot(std::int64_t id) const {
    return find_by_id(snapshots, id);
}

const Numbered* TableMetadata::find_schema(std::int32_t id) const {
    return find_by_id(schemas, id);
}

const Numbered* TableMetadata::find_spec(std::int32_t id) const {
    return find_by_id(specs, id);
}

TableMetadata new_topic_table(NewTable table) {
    TableMetadata out;
    out.uuid = std::move(table.uuid);
    out.location = std::move(table.location);
    out.last_updated_ms = table.now_ms;
    out.last_column_id = topic_column_max;
    out.schemas = {{0, std::string(topic_schema)}};
    out.specs = {{0, std::string(unpartitioned)}};
    out.last_partition_id = before_first_partition_id;
    out.default_sort_order = 1;
    out.sort_orders = {{1, std::string(by_partition_and_offset)}};
    out.properties = std::move(table.properties);
    return out;
}

Result<std::string> why_rows_do_not_fit(const TableMetadata& metadata) {
    if (metadata.format_version != 2) {
        return fmt::format("its format version is {}", metadata.format_version);
    }
    const Numbered* const spec = metadata.find_spec(metadata.default_spec);
    const Numbered* const schema = metadata.find_schema(metadata.current_schema);
    if (spec == nullptr || schema == nullptr) {
        return corrupt("table metadata lacks its current schema or partition spec");
    }
    const Json spec_json = LKS_TRY(parse_object(spec->json, "partition spec"));
    if (!field(spec_json, "fields").empty()) {
        return std::string("it is partitioned now");
    }
    const Json found = LKS_TRY(parse_object(schema->json, "schema"));
    const Json wanted = Json::parse(topic_schema, nullptr, false);
    std::map<std::int32_t, const Json*> left;
    for (const Json& column : field(wanted, "fields")) {
        left[LKS_TRY(int32_field(column, "id"))] = &column;
    }
    for (const Json& column : field(found, "fields")) {
        const std::int32_t id = LKS_TRY(int32_field(column, "id"));
        const auto ours = left.find(id);
        if (ours == left.end() && field(column, "required") != Json(false)) {
            return fmt::format("column {} was added as required", id);
        }
        if (ours != left.end() && !same_column(*ours->second, column)) {
            return fmt::format("the type of column {} was changed", id);
        }
        left.erase(id);
    }
    return left.empty() ? std::string() : fmt::format("column {} was dropped", left.begin()->first);
}

void add_snapshot(TableMetadata& metadata, Snapshot snapshot) {
    LKS_ASSERT(snapshot.sequence_number == metadata.last_sequence_number + 1);
    metadata.last_sequence_number = snapshot.sequence_number;
    metadata.last_updated_ms = std::max(metadata.last_updated_ms, snapshot.timestamp_ms);
    metadata.current_snapshot = snapshot.id;
    SnapshotRef& main = metadata.refs["main"];
    main.snapshot = snapshot.id;
    main.type = "branch";
    metadata.snapshot_log.push_back({snapshot.timestamp_ms, snapshot.id});
    metadata.snapshots.push_back(std::move(snapshot));
}

Retention retention_of(const TableMetadata& metadata, Retention if_missing) {
    const auto count = static_cast<std::int64_t>(if_missing.count_max);
    return {
        .age_ms_max = number(
            metadata.properties, "history.expire.max-snapshot-age-ms", if_missing.age_ms_max
        ),
        .count_max =
            static_cast<std::size_t>(number(metadata.properties, "lakestream.snapshots-max", count)
            ),
    };
}

std::size_t expire_snapshots(TableMetadata& metadata, const Retention& retention) {
    const std::set<std::int64_t> needed = needed_by_refs(metadata);
    const std::int64_t oldest_ms = metadata.last_updated_ms - retention.age_ms_max;
    const std::size_t before = metadata.snapshots.size();
    std::size_t too_many =
        before > retention.count_max ? before - retention.count_max : std::size_t{0};
    std::set<std::int64_t> gone;
    std::erase_if(metadata.snapshots, [&](const Snapshot& snapshot) {
        const bool over = too_many > 0;
        too_many -= over ? 1 : 0;
        if (needed.contains(snapshot.id) || (!over && snapshot.timestamp_ms >= oldest_ms)) {
            return false;
        }
        gone.insert(snapshot.id);
        return true;
    });
    // A history with holes would say that main skipped versions: it begins after the last hole.
    auto& history = metadata.snapshot_log;
    const auto last_hole =
        std::find_if(history.rbegin(), history.rend(), [&](const SnapshotLogEntry& entry) {
            return gone.contains(entry.snapshot);
        });
    history.erase(history.begin(), last_hole.base());
    return gone.size();
}

void log_previous_version(TableMetadata& metadata, std::string file) {
    constexpr std::int64_t kept_by_default = 100;
    const std::int64_t kept =
        number(metadata.properties, "write.metadata.previous-versions-max", kept_by_default);
    metadata.metadata_log.push_back({metadata.last_updated_ms, std::move(file)});
    auto& log = metadata.metadata_log;
    if (std::cmp_greater(log.size(), kept)) {
        log.erase(log.begin(), log.end() - kept);
    }
}

}  // namespace lakestream::table::iceberg
