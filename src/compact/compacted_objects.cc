// SPDX-License-Identifier: Apache-2.0
// Fetching, keeping and reading compacted pairs.
#include "compact/compacted_objects.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/format.h"
#include "catalog/log_owner.h"
#include "table/bytes_file.h"

namespace lakestream::compact {

namespace {

constexpr std::string_view parquet_suffix = ".parquet";
constexpr std::string_view index_suffix = ".index";

}  // namespace

Result<table::TableFiles*> TableFilesLoader::get() {
    const std::scoped_lock lock(mutex_);
    if (files_ == nullptr) {
        files_ = LKS_TRY(table::load_table_files());
    }
    return files_.get();
}

std::string compacted_folder(std::string_view ns, std::string_view name) {
    return fmt::format("{}/{}", ns, name);
}

rt::Task<Result<std::string>> CompactedObjects::folder(LogId log) {
    {
        const std::scoped_lock lock(mutex_);
        if (const auto known = folders_.find(log); known != folders_.end()) {
            co_return known->second;
        }
    }
    const auto owner = LKS_CO_TRY(co_await catalog::find_log_owner(seams_.metadata, log));
    std::string found = compacted_folder(owner.stream.ns, owner.stream.name);
    const std::scoped_lock lock(mutex_);
    folders_.emplace(log, found);
    co_return found;
}

/// Under the mutex.
CompactedObjects::PairPtr CompactedObjects::find(const std::string& name) {
    const auto found = std::ranges::find(pairs_, name, &std::pair<std::string, PairPtr>::first);
    if (found == pairs_.end()) {
        return nullptr;
    }
    pairs_.splice(pairs_.begin(), pairs_, found);
    return found->second;
}

/// Under the mutex.
void CompactedObjects::keep(std::string name, PairPtr pair) {
    bytes_ += pair->parquet.size() + pair->index.size();
    pairs_.emplace_front(std::move(name), std::move(pair));
    while (bytes_ > bytes_max_ && pairs_.size() > 1) {
        const Pair& oldest = *pairs_.back().second;
        bytes_ -= oldest.parquet.size() + oldest.index.size();
        pairs_.pop_back();
    }
}

/// Nothing deletes these files while a record points to them: that one is missing is damage.
rt::Task<Result<Bytes>> CompactedObjects::get_half(std::string name) {
    auto bytes = co_await seams_.objects.get(name, std::nullopt);
    if (bytes.is(ErrorCode::not_found)) {
        co_return corrupt(
            "compacted object {} is missing; restore it from a copy, its offsets are unreadable "
            "until then",
            name
        );
    }
    co_return bytes;
}

rt::Task<Result<CompactedObjects::PairPtr>> CompactedObjects::load(std::string name) {
    std::optional<rt::Future<Result<PairPtr>>> joined;
    {
        const std::scoped_lock lock(mutex_);
        if (PairPtr kept = find(name)) {
            co_return kept;
        }
        const auto [fetch, is_new] = fetches_.try_emplace(name);
        if (!is_new) {
            joined.emplace(fetch->second.emplace_back().future());
        }
    }
    if (joined.has_value()) {
        co_return co_await std::move(*joined);
    }
    Result<PairPtr> fetched = co_await fetch(name);
    std::vector<rt::Promise<Result<PairPtr>>> waiters;
    {
        const std::scoped_lock lock(mutex_);
        waiters = std::move(fetches_.extract(name).mapped());
        if (fetched.ok()) {
            keep(std::move(name), *fetched);
        }
    }
    for (rt::Promise<Result<PairPtr>>& waiter : waiters) {
        waiter.set(fetched);
    }
    co_return fetched;
}

rt::Task<Result<CompactedObjects::PairPtr>> CompactedObjects::fetch(std::string name) {
    if (!name.ends_with(parquet_suffix)) {
        co_return corrupt("compacted object {}: the name does not end in {}", name, parquet_suffix);
    }
    auto pair = std::make_shared<Pair>();
    const std::string stem = name.substr(0, name.size() - parquet_suffix.size());
    pair->parquet = LKS_CO_TRY(co_await get_half(name));
    pair->index = LKS_CO_TRY(co_await get_half(fmt::format("{}{}", stem, index_suffix)));
    const Status opened = co_await rt::offload(seams_.offloader, [this, pair]() -> Status {
        table::TableFiles* files = LKS_TRY(seams_.loader.get());
        pair->reader = LKS_TRY(files->read_compacted(
            std::make_unique<table::BytesFile>(pair->parquet),
            std::make_unique<table::BytesFile>(pair->index)
        ));
        return {};
    });
    if (!opened.ok()) {
        co_return Error(opened.error()).with_context(fmt::format("compacted object {}", name));
    }
    co_return pair;
}

rt::Task<Result<std::vector<log::CompactedPart>>> CompactedObjects::read(
    LogId log, index::IndexRecord record, OffsetRange range, Offset from, std::uint64_t bytes_max
) {
    const std::string name =
        fmt::format("{}/{}", LKS_CO_TRY(co_await folder(log)), record.location);
    const PairPtr pair = LKS_CO_TRY(co_await load(name));
    using Entries = Result<std::vector<table::CompactedEntry>>;
    Entries entries = co_await rt::offload(seams_.offloader, [pair, from, bytes_max]() -> Entries {
        const std::scoped_lock lock(pair->mutex);
        return pair->reader->read(from, bytes_max);
    });
    if (entries.is(ErrorCode::out_of_range)) {
        co_return std::vector<log::CompactedPart>();  // only voids behind it
    }
    if (!entries.ok()) {
        co_return std::move(entries.error()).with_context(fmt::format("compacted object {}", name));
    }
    std::vector<log::CompactedPart> parts;
    for (table::CompactedEntry& entry : *entries) {
        if (entry.range.end > from && entry.range.begin < range.end) {
            parts.push_back(
                {entry.range, wall_from_ms(entry.timestamp_ms), std::move(entry.payload)}
            );
        }
    }
    co_return parts;
}

}  // namespace lakestream::compact
