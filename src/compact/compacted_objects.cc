// SPDX-License-Identifier: Apache-2.0
// Fetching the parts of compacted pairs that are read.
#include "compact/compacted_objects.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/format.h"
#include "catalog/log_owner.h"
#include "table/parquet_footer.h"

namespace lakestream::compact {

namespace {

constexpr std::string_view parquet_suffix = ".parquet";
constexpr std::string_view index_suffix = ".index";
/// Enough for the footers of 1.5 GiB of our row groups; longer ones need a second request.
constexpr std::uint64_t tail_bytes_guess = 64 << 10;
/// While an index is decoded; what it is then is known.
constexpr std::uint64_t index_growth = 12;
/// So much from where a read begins is fetched at once: what was asked for and as much again.
constexpr std::uint64_t ahead_bytes_max = 8 << 20;
/// The part of an object that is its index and footer: row groups have their numbers.
constexpr int whole = -1;

Error missing(const std::string& name) {
    return not_found(
        "compacted object {} is missing; restore it from a copy, its offsets are unreadable "
        "until then",
        name
    );
}

Error broken(Error error, const std::string& name) {
    if (error.code == ErrorCode::corrupt) {
        error.message +=
            "; restore it and its index from a copy, their offsets are unreadable until then";
    }
    return std::move(error).with_context(fmt::format("compacted object {}", name));
}

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

/// Nothing deletes these files while a record points to them: whoever misses one looks whether it
/// still does.
rt::Task<Result<std::uint64_t>> CompactedObjects::load_size(std::string name) {
    const auto info = co_await seams_.objects.head(name);
    if (info.is(ErrorCode::not_found)) {
        co_return missing(name);
    }
    co_return LKS_CO_TRY(info).size;
}

rt::Task<Result<Bytes>> CompactedObjects::load_bytes(std::string name, objstore::ByteRange range) {
    auto bytes = co_await seams_.objects.get(name, range);
    if (bytes.is(ErrorCode::not_found)) {
        co_return missing(name);
    }
    if (bytes.is(ErrorCode::out_of_range) || (bytes.ok() && bytes->size() != range.size())) {
        co_return broken(
            corrupt("it has no bytes {} to {}, which it had", range.begin, range.end), name
        );
    }
    co_return bytes;
}

rt::Task<Result<Bytes>> CompactedObjects::load_tail(
    std::string name, std::uint64_t file_bytes, Room& room
) {
    const std::uint64_t guess = std::min(file_bytes, tail_bytes_guess);
    Bytes tail = LKS_CO_TRY(co_await load_bytes(name, {file_bytes - guess, file_bytes}));
    const auto needed = table::parquet_footer_bytes(tail, file_bytes);
    if (!needed.ok()) {
        co_return broken(needed.error(), name);
    }
    if (*needed > guess) {
        room.resize(room.bytes() + *needed);
        tail = LKS_CO_TRY(co_await load_bytes(name, {file_bytes - *needed, file_bytes}));
    }
    co_return tail;
}

rt::Task<Result<CompactedObjects::Readers::Ptr>> CompactedObjects::open_reader(std::string name) {
    if (!name.ends_with(parquet_suffix)) {
        co_return corrupt("compacted object {}: the name does not end in {}", name, parquet_suffix);
    }
    const std::string index_name = fmt::format(
        "{}{}", std::string_view(name).substr(0, name.size() - parquet_suffix.size()), index_suffix
    );
    const std::uint64_t size = LKS_CO_TRY(co_await load_size(name));
    const std::uint64_t index_size = LKS_CO_TRY(co_await load_size(index_name));
    const auto out = std::make_shared<Reader>();
    out->room =
        co_await readers_.reserve(std::min(size, tail_bytes_guess) + index_size * index_growth);
    const Bytes tail = LKS_CO_TRY(co_await load_tail(name, size, out->room));
    // Whole, so that a store which knows its checksum compares it.
    auto index = co_await seams_.objects.get(index_name, std::nullopt);
    if (index.is(ErrorCode::not_found)) {
        co_return missing(index_name);
    }
    if (!index.ok()) {
        co_return index.error();
    }
    const Status opened = co_await rt::offload(
        seams_.offloader,
        [&loader = seams_.loader, out, size, tail, stored = *std::move(index)]() -> Status {
            table::TableFiles* files = LKS_TRY(loader.get());
            out->reader = LKS_TRY(files->read_compacted(size, tail, stored));
            return {};
        }
    );
    if (!opened.ok()) {
        co_return broken(opened.error(), fmt::format("{} or {}", name, index_name));
    }
    out->room.resize(out->reader->bytes());
    co_return out;
}

rt::Task<Result<CompactedObjects::RowGroups::Ptr>> CompactedObjects::open_rows(
    std::string name, Readers::Ptr reader, table::RowGroup group
) {
    Room room = co_await rows_.reserve(group.end - group.begin);
    co_return co_await open_rows_into(std::move(room), std::move(name), std::move(reader), group);
}

rt::Task<Result<CompactedObjects::RowGroups::Ptr>> CompactedObjects::open_rows_into(
    Room room, std::string name, Readers::Ptr reader, table::RowGroup group
) {
    const auto out = std::make_shared<Rows>();
    out->room = std::move(room);
    Bytes stored = LKS_CO_TRY(co_await load_bytes(name, {group.begin, group.end}));
    const Status opened = co_await rt::offload(
        seams_.offloader,
        [out, reader, group, stored = std::move(stored)]() -> Status {
            out->rows = LKS_TRY(reader->reader->open(group, stored));
            return {};
        }
    );
    if (!opened.ok()) {
        co_return broken(opened.error(), name);
    }
    out->room.resize(out->rows->bytes());
    co_return out;
}

rt::Task<void> CompactedObjects::fetch_ahead(
    std::string name, Readers::Ptr reader, table::RowGroup group
) {
    RowGroups::Key key(name, group.number);
    const std::uint64_t bytes = group.end - group.begin;
    if (auto room = rows_.reserve_ahead(key, bytes)) {
        co_await rows_.get_ahead(
            std::move(key),
            bytes,
            open_rows_into(*std::move(room), std::move(name), std::move(reader), group)
        );
    }
}

rt::Task<Result<CompactedObjects::Entries>> CompactedObjects::read_rows(
    RowGroups::Key key, rt::Task<Result<RowGroups::Ptr>> open, Offset from, std::uint64_t bytes_max
) {
    const auto rows = LKS_CO_TRY(co_await rows_.get(key, std::move(open)));
    Result<Entries> entries = Entries();
    if (rows->rows->ready()) {
        entries = rows->rows->read(from, bytes_max);
    } else {
        entries =
            co_await rt::offload(seams_.offloader, [rows, from, bytes_max]() -> Result<Entries> {
                const std::scoped_lock lock(rows->mutex);
                return rows->rows->read(from, bytes_max);
            });
    }
    if (!entries.ok()) {
        co_return broken(std::move(entries.error()), key.first);
    }
    co_return entries;
}

rt::Task<Result<CompactedObjects::Entries>> CompactedObjects::read_object(
    std::string name, Offset from, std::uint64_t bytes_max, rt::TaskScope& ahead
) {
    const Readers::Key key(name, whole);
    auto reader = LKS_CO_TRY(co_await readers_.get(key, open_reader(name)));
    const std::uint64_t ahead_bytes = 2 * std::min(bytes_max, ahead_bytes_max / 2);
    const auto groups = LKS_CO_TRY(reader->reader->find(from, ahead_bytes));
    for (const table::RowGroup& next : std::span(groups).subspan(1)) {
        if (!ahead.stopping()) {
            ahead.spawn(fetch_ahead(name, reader, next));
        }
    }
    const table::RowGroup group = groups.front();
    const RowGroups::Key rows_key(name, group.number);
    Result<Entries> entries = co_await read_rows(
        rows_key, open_rows(std::move(name), std::move(reader), group), from, bytes_max
    );
    if (entries.is(ErrorCode::corrupt)) {  // perhaps only what came was: it is fetched again
        rows_.forget(rows_key);
        readers_.forget(key);
    }
    co_return entries;
}

rt::Task<Result<std::vector<log::CompactedPart>>> CompactedObjects::read(
    LogId log,
    index::IndexRecord record,
    OffsetRange range,
    Offset from,
    std::uint64_t bytes_max,
    rt::TaskScope& ahead
) {
    std::string name = fmt::format("{}/{}", LKS_CO_TRY(co_await folder(log)), record.location);
    auto entries = co_await read_object(std::move(name), from, bytes_max, ahead);
    if (entries.is(ErrorCode::out_of_range)) {
        co_return std::vector<log::CompactedPart>();  // only voids behind it
    }
    std::vector<log::CompactedPart> parts;
    for (table::CompactedEntry& entry : LKS_CO_TRY(std::move(entries))) {
        if (entry.range.end > from && entry.range.begin < range.end) {
            parts.push_back(
                {entry.range, wall_from_ms(entry.timestamp_ms), std::move(entry.payload)}
            );
        }
    }
    co_return parts;
}

void CompactedObjects::register_metrics(metrics::Registrations& out) const {
    const auto add =
        [&](std::string piece, const metrics::Counter& hits, const metrics::Counter& misses) {
            out.add(
                "lakestream_compact_cache_hits_total",
                "Pieces of compacted objects that were in memory: index and footer, or row group.",
                hits,
                {{"piece", piece}}
            );
            out.add(
                "lakestream_compact_cache_misses_total",
                "Pieces of compacted objects that were fetched.",
                misses,
                {{"piece", piece}}
            );
        };
    add("footer", readers_.hits(), readers_.misses());
    add("rows", rows_.hits(), rows_.misses());
    out.collect_gauge(
        "lakestream_compact_cache_bytes",
        "Pieces of compacted objects in memory, kept, in use or being fetched.",
        [this] { return metrics::sample(static_cast<double>(bytes())); }
    );
    out.collect_gauge(
        "lakestream_compact_cache_limit_bytes",
        "The limit of the pieces of compacted objects in memory.",
        [this] { return metrics::sample(static_cast<double>(bytes_max_)); }
    );
}

}  // namespace lakestream::compact
