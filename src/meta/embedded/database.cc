// SPDX-License-Identifier: Apache-2.0
// Opening, reading and writing the RocksDB folder.
#include "meta/embedded/database.h"

#include <rocksdb/cache.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "base/result.h"
#include "meta/embedded/rocksdb_log.h"
#include "meta/embedded/rows.h"
#include "meta/key_order.h"

#if defined(__has_feature) && __has_feature(thread_sanitizer)
// The library is not instrumented: its own synchronisation is not seen.
extern "C" const char* __tsan_default_suppressions() {
    return "race:rocksdb::\n";
}
#endif

namespace lakestream::meta::embedded {

namespace {

constexpr double filter_bits_per_key = 10;
// For the tables and logs of a few groups.
constexpr std::uint64_t room_bytes_min = std::uint64_t{32} << 20;

rocksdb::Slice slice(std::string_view text) {
    return {text.data(), text.size()};
}

/// A store that could not write is opened again by the next write; nothing polls in the background.
class NoSelfRepair final : public rocksdb::EventListener {
  public:
    void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status, bool* auto_recovery)
        override {
        *auto_recovery = false;
    }
};

rocksdb::Options rocksdb_options(const EmbeddedOptions& options, rocksdb::Env* env) {
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = rocksdb::NewLRUCache(options.block_cache_bytes, 2);
    table.cache_index_and_filter_blocks = true;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(filter_bits_per_key));

    rocksdb::Options rocks;
    rocks.env = env;
    rocks.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    rocks.write_buffer_size = options.write_buffer_bytes;
    rocks.max_open_files = 256;
    rocks.max_background_jobs = 2;
    rocks.compression = rocksdb::kNoCompression;
    rocks.bottommost_compression = rocksdb::kNoCompression;
    // A torn tail was never acknowledged; damage before it might have been, so it stops the start.
    rocks.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
    rocks.paranoid_checks = true;
    // An idle store writes nothing.
    rocks.stats_dump_period_sec = 0;
    rocks.stats_persist_period_sec = 0;
    rocks.ttl = 0;
    rocks.periodic_compaction_seconds = 0;
    rocks.listeners.push_back(std::make_shared<NoSelfRepair>());
    rocks.info_log = std::make_shared<RocksdbLog>();
    return rocks;
}

bool is_lock_conflict(const rocksdb::Status& status) {
    const std::string text = status.ToString();
    return status.IsIOError() && text.find("LOCK") != std::string::npos;
}

// Until a store's first log is made, CURRENT names its first manifest; some log is there ever
// after.
bool is_without_log(
    const std::string& folder, rocksdb::Env* env, std::span<const std::string> names
) {
    std::string head;
    const auto is_log = [](const std::string& name) { return name.ends_with(".log"); };
    return std::ranges::none_of(names, is_log) &&
           rocksdb::ReadFileToString(env, folder + "/CURRENT", &head).ok() &&
           !head.starts_with("MANIFEST-000001");
}

// Whether the folder holds a store; `corrupt` when it holds the files of one that is not whole, for
// RocksDB would make a new store over them, or open an older state.
Result<bool> holds_store(const std::string& folder, rocksdb::Env* env) {
    std::vector<std::string> names;
    static_cast<void>(env->GetChildren(folder, &names));
    if (std::ranges::find(names, "CURRENT") != names.end()) {
        if (is_without_log(folder, env, names)) {
            return corrupt(
                "metadata folder {}: the store's log (NUMBER.log) is missing; nothing was changed, "
                "restore the folder from a copy",
                folder
            );
        }
        return true;
    }
    for (const std::string& name : names) {
        if (name.ends_with(".sst") || name.ends_with(".log")) {
            return corrupt(
                "metadata folder {}: file CURRENT is missing, but {} is there; nothing was "
                "changed, "
                "restore the folder from a copy",
                folder,
                name
            );
        }
    }
    return false;
}

Status make_folder(const std::string& folder) {
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    if (failure) {
        return unavailable("metadata folder {} cannot be made: {}", folder, failure.message());
    }
    return {};
}

}  // namespace

Result<std::shared_ptr<Database>> Database::open(const EmbeddedOptions& options) {
    rocksdb::Env* const env =
        options.environment != nullptr ? options.environment->env : rocksdb::Env::Default();
    LKS_TRY(make_folder(options.folder));
    rocksdb::Options rocks = rocksdb_options(options, env);
    rocks.create_if_missing = !LKS_TRY(holds_store(options.folder, env));
    rocksdb::DB* opened = nullptr;
    const rocksdb::Status status = rocksdb::DB::Open(rocks, options.folder, &opened);
    auto database =
        std::make_shared<Database>(options.folder, std::unique_ptr<rocksdb::DB>(opened));
    if (is_lock_conflict(status)) {
        return unavailable(
            "metadata folder {} is in use by another lakestream process, or its file LOCK cannot "
            "be "
            "written: stop that process, or choose another folder",
            options.folder
        );
    }
    if (!status.ok()) {
        return database->error(status);
    }
    return database;
}

Error Database::error(const rocksdb::Status& status) const {
    std::string text = status.ToString();
    // RocksDB names a missing table by an ending of the past that it tries last.
    if (const std::size_t at = text.find(".ldb:"); at != std::string::npos) {
        text.replace(at, 5, ".sst:");
    }
    if (status.IsNoSpace()) {
        return exhausted("metadata folder {}: disk full, free some space ({})", folder_, text);
    }
    if (status.IsCorruption() || status.IsInvalidArgument() || status.IsPathNotFound()) {
        return corrupt(
            "metadata folder {}: {}; its files were left as they are, restore the folder from a "
            "copy",
            folder_,
            text
        );
    }
    return unavailable("metadata folder {}: {}", folder_, text);
}

Error Database::error(Error error) const {
    return std::move(error).with_context("metadata folder " + folder_);
}

std::unique_ptr<rocksdb::Iterator> Database::iterate(const rocksdb::ReadOptions& options) const {
    return std::unique_ptr<rocksdb::Iterator>(db_->NewIterator(options));
}

Result<ShardState> Database::load() const {
    std::string row;
    const rocksdb::Status found =
        db_->Get(rocksdb::ReadOptions(), std::string(1, counters_tag), &row);
    std::map<SessionId, Session> sessions;
    if (found.IsNotFound()) {
        return ShardState(ShardId(0), key_order);
    }
    if (!found.ok()) {
        return error(found);
    }
    auto counters = decode_counters(row);
    if (!counters.ok()) {
        return error(counters.error());
    }
    LKS_TRY(load_sessions(sessions));
    LKS_TRY(load_links(sessions));
    return ShardState(ShardId(0), key_order, *counters, std::move(sessions));
}

Status Database::load_sessions(std::map<SessionId, Session>& sessions) const {
    const std::string end = rows_end(session_tag);
    const rocksdb::Slice end_slice = slice(end);
    rocksdb::ReadOptions options;
    options.iterate_upper_bound = &end_slice;
    const auto at = iterate(options);
    for (at->Seek(std::string(1, session_tag)); at->Valid(); at->Next()) {
        const auto id = parse_session_row(at->key().ToStringView());
        auto session = decode_session(at->value().ToStringView());
        if (!id.ok() || !session.ok()) {
            return error(id.ok() ? session.error() : id.error());
        }
        sessions.emplace(id->first, std::move(*session));
    }
    return at->status().ok() ? Status() : error(at->status());
}

Status Database::load_links(std::map<SessionId, Session>& sessions) const {
    const std::string end = rows_end(link_tag);
    const rocksdb::Slice end_slice = slice(end);
    rocksdb::ReadOptions options;
    options.iterate_upper_bound = &end_slice;
    const auto at = iterate(options);
    for (at->Seek(std::string(1, link_tag)); at->Valid(); at->Next()) {
        const auto link = parse_session_row(at->key().ToStringView());
        if (!link.ok()) {
            return error(link.error());
        }
        const auto session = sessions.find(link->first);
        if (session == sessions.end() || !decode_key(key_order, link->second).ok()) {
            return error(corrupt("an ephemeral record of no session, or without a key"));
        }
        session->second.keys.emplace(link->second);
    }
    return at->status().ok() ? Status() : error(at->status());
}

Status Database::commit(rocksdb::WriteBatch& batch) {
    rocksdb::WriteOptions options;
    options.sync = true;
    const rocksdb::Status status = db_->Write(options, &batch);
    return status.ok() ? Status() : error(status);
}

Status Database::check_room() const {
    std::uint64_t free = 0;
    const rocksdb::Status status = db_->GetEnv()->GetFreeSpace(folder_, &free);
    if (status.ok() && free < room_bytes_min) {
        return error(rocksdb::Status::NoSpace());
    }
    return {};
}

Result<Record> Database::record(std::string_view row, std::string_view value) const {
    auto key = decode_key(key_order, row.substr(1));
    auto stored = decode_record(value);
    if (!key.ok() || !stored.ok()) {
        return error(key.ok() ? stored.error() : key.error());
    }
    return Record{
        .key = std::move(*key),
        .value = std::move(stored->value),
        .version = std::move(stored->version),
    };
}

std::optional<Result<Record>> Database::get(const Get& request, ReadFrom from) const {
    return request.comparison == Comparison::equal ? get_exact(request.key, from)
                                                   : get_near(request, from);
}

std::optional<Result<Record>> Database::get_exact(std::string_view key, ReadFrom from) const {
    rocksdb::ReadOptions options;
    options.read_tier = from == ReadFrom::memory ? rocksdb::kBlockCacheTier : rocksdb::kReadAllTier;
    const std::string row = record_row(encode_key(key_order, key));
    rocksdb::PinnableSlice value;
    const rocksdb::Status status = db_->Get(options, db_->DefaultColumnFamily(), row, &value);
    if (status.IsIncomplete()) {
        return std::nullopt;
    }
    if (status.IsNotFound()) {
        return not_found("no record for '{}'", key);
    }
    return status.ok() ? record(row, value.ToStringView()) : Result<Record>(error(status));
}

std::optional<Result<Record>> Database::get_near(const Get& request, ReadFrom from) const {
    const std::string begin(1, record_tag);
    const std::string end = rows_end(record_tag);
    const rocksdb::Slice begin_slice = slice(begin);
    const rocksdb::Slice end_slice = slice(end);
    rocksdb::ReadOptions options;
    options.read_tier = from == ReadFrom::memory ? rocksdb::kBlockCacheTier : rocksdb::kReadAllTier;
    options.iterate_lower_bound = &begin_slice;
    options.iterate_upper_bound = &end_slice;
    const std::string row = record_row(encode_key(key_order, request.key));
    const auto at = iterate(options);
    const bool downwards =
        request.comparison == Comparison::floor || request.comparison == Comparison::lower;
    downwards ? at->SeekForPrev(row) : at->Seek(row);
    const bool strict =
        request.comparison == Comparison::lower || request.comparison == Comparison::higher;
    if (strict && at->Valid() && at->key() == slice(row)) {
        downwards ? at->Prev() : at->Next();
    }
    if (at->status().IsIncomplete()) {
        return std::nullopt;
    }
    if (!at->status().ok()) {
        return error(at->status());
    }
    if (!at->Valid()) {
        return not_found("no record for '{}'", request.key);
    }
    return record(at->key().ToStringView(), at->value().ToStringView());
}

RecordCursor::RecordCursor(std::shared_ptr<const Database> database, const Range& range)
    : database_(std::move(database)),
      begin_(record_row(range.begin.empty() ? "" : encode_key(key_order, range.begin))),
      end_(range.end.empty() ? rows_end(record_tag) : record_row(encode_key(key_order, range.end))),
      end_slice_(slice(end_)) {}

void RecordCursor::position() {
    if (at_ == nullptr) {
        rocksdb::ReadOptions options;
        options.iterate_upper_bound = &end_slice_;
        at_ = database_->iterate(options);
        at_->Seek(begin_);
    }
}

Result<std::vector<Record>> RecordCursor::page(std::size_t records_max, std::size_t bytes_max) {
    position();
    std::vector<Record> records;
    std::size_t bytes = 0;
    for (; at_->Valid() && records.size() < records_max && bytes < bytes_max; at_->Next()) {
        records.push_back(
            LKS_TRY(database_->record(at_->key().ToStringView(), at_->value().ToStringView()))
        );
        bytes += at_->key().size() + at_->value().size();
    }
    if (!at_->status().ok()) {
        return database_->error(at_->status());
    }
    return records;
}

Result<std::vector<std::string>> RecordCursor::keys() {
    position();
    std::vector<std::string> keys;
    for (; at_->Valid(); at_->Next()) {
        auto key = decode_key(key_order, at_->key().ToStringView().substr(1));
        if (!key.ok()) {
            return database_->error(key.error());
        }
        keys.push_back(std::move(*key));
    }
    if (!at_->status().ok()) {
        return database_->error(at_->status());
    }
    return keys;
}

}  // namespace lakestream::meta::embedded
