// SPDX-License-Identifier: Apache-2.0
// Reading references, and making sure that the whole of them was seen.
#include "clean/references.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/format.h"
#include "base/log.h"
#include "catalog/keys.h"
#include "index/key.h"
#include "index/record.h"
#include "log/index_scan.h"
#include "log/index_value.h"
#include "log/start.h"
#include "table/compacted_file_index.h"

namespace lakestream::clean {

namespace {

constexpr std::string_view barrier_key = "/lks/clean/barrier";
constexpr int barrier_keys_max = 100'000;

/// Texts that are partition keys of all shards, one for each.
std::map<meta::ShardId, std::string> keys_of_shards(const meta::MetadataStore& store) {
    const std::size_t count = store.shards().size();
    std::map<meta::ShardId, std::string> keys;
    for (int i = 0; i < barrier_keys_max && keys.size() < count; ++i) {
        std::string text = std::to_string(i);
        const meta::ShardId shard = store.shard_of(text);
        keys.try_emplace(shard, std::move(text));
    }
    return keys;
}

/// All files that an index record of a compacted range names.
void add_files(const index::IndexRecord& value, std::set<std::string>& files) {
    files.insert(value.location);
    for (const auto& [key, text] : value.extra) {
        if (key != table::file_index_key && key != table::file_index_key_old) {
            continue;
        }
        const auto listed = table::CompactedFileIndex::decode(text);
        if (listed.ok()) {
            for (const auto& [last, name] : listed->files()) {
                files.insert(name);
            }
        }
    }
}

void add(const log::WalkRecord& record, LogReferences& references, bool& met_raw) {
    if (record.value.file_type == index::FileType::raw) {
        if (!std::exchange(met_raw, true)) {
            references.reached = record.created;
        }
        references.raw.insert(std::hash<std::string>{}(record.value.location));
    } else {
        add_files(record.value, references.compacted);
        if (!met_raw) {
            references.reached = record.created;
        }
    }
}

}  // namespace

bool is_barrier_key(std::string_view key) {
    return key.starts_with(barrier_key);
}

rt::Task<Result<WallTime>> pass_barrier(meta::MetadataStore& store) {
    const auto keys = keys_of_shards(store);
    if (keys.size() < store.shards().size()) {
        co_return unavailable("no key of every metadata shard was found");
    }
    auto earliest = WallTime::max();
    for (const auto& [shard, text] : keys) {
        const meta::PutDone done = LKS_CO_TRY(co_await meta::put(
            store,
            {.key = fmt::format("{}/{}", barrier_key, text), .value = {}, .partition_key = text}
        ));
        earliest = std::min(earliest, done.version.modified);
    }
    co_return earliest;
}

rt::Task<Result<LogReferences>> load_references(meta::MetadataStore& store, LogId log) {
    LogReferences references;
    const std::string partition = index::partition_key(log);
    const auto fence =
        LKS_CO_TRY(co_await log::find_record(store, index::fence_key(log), partition));
    if (fence.has_value()) {
        references.deleted = true;
        co_return references;
    }
    const Offset start = LKS_CO_TRY(co_await log::load_start(store, log));
    const auto last = co_await store.get({
        .key = index::bound_last(log),
        .comparison = meta::Comparison::floor,
        .partition_key = partition,
    });
    if (!last.ok() && !last.is(ErrorCode::not_found)) {
        co_return last.error();
    }
    const auto last_key =
        last.ok() ? index::parse_key(log, last->key) : Result<index::IndexKey>(last.error());
    if (!last_key.ok()) {
        co_return references;  // no record at all
    }
    references.reached = last->version.created;
    bool met_raw = false;
    Offset joined = start;
    log::IndexScan scan(store, log, start, std::nullopt);
    while (true) {
        const auto records = LKS_CO_TRY(co_await scan.next());
        if (records.empty()) {
            break;
        }
        for (const meta::Record& record : records) {
            const log::WalkRecord one = LKS_CO_TRY(log::to_walk_record(log, record));
            if (one.range.begin > joined) {
                co_return unavailable("log {}: no index record holds offset {}", log, joined);
            }
            joined = std::max(joined, one.range.end);
            add(one, references, met_raw);
        }
    }
    if (joined < last_key->end) {
        co_return unavailable("log {}: a scan ends at {} before {}", log, joined, last_key->end);
    }
    co_return references;
}

rt::Task<std::shared_ptr<const LogReferences>> References::load(LogId log) {
    auto loaded = co_await load_references(store_, log);
    if (!loaded.ok()) {
        complete_ = false;
        log::warn("clean", "references_unknown log={} error={}", log, loaded.error());
        co_return nullptr;
    }
    co_return std::make_shared<const LogReferences>(std::move(*loaded));
}

rt::Task<const LogReferences*> References::of(LogId log) {
    auto known = known_.find(log);
    if (known == known_.end()) {
        known = known_.emplace(log, co_await load(log)).first;
    }
    co_return known->second.get();
}

rt::Task<std::shared_ptr<const LogReferences>> References::once(LogId log) {
    const auto known = known_.find(log);
    co_return known != known_.end() ? known->second : co_await load(log);
}

rt::Task<Status> References::keep_unreferenced(std::vector<objstore::ObjectInfo>& objects) {
    constexpr std::string_view registrations = "/stream-id";
    const auto hash_of = [](const objstore::ObjectInfo& object) {
        return std::hash<std::string>{}(object.name);
    };
    std::unordered_set<std::size_t> asked;
    for (const objstore::ObjectInfo& object : objects) {
        asked.insert(hash_of(object));
    }
    std::unordered_set<std::size_t> referred;
    const auto scan = store_.scan(catalog::keys::children(store_.key_order(), registrations));
    while (true) {
        const auto records = LKS_CO_TRY(co_await scan->next());
        if (records.empty()) {
            break;
        }
        for (const meta::Record& record : records) {
            const auto number = catalog::keys::number_after("/stream-id/", record.key);
            if (!number.has_value()) {
                continue;
            }
            const auto references = co_await once(LogId(static_cast<std::int64_t>(*number)));
            if (references == nullptr) {
                continue;
            }
            for (const std::size_t hash : references->raw) {
                if (asked.contains(hash)) {
                    referred.insert(hash);
                }
            }
            co_await rt::yield();
        }
    }
    std::erase_if(objects, [&](const objstore::ObjectInfo& object) {
        return referred.contains(hash_of(object));
    });
    co_return Status();
}

}  // namespace lakestream::clean
