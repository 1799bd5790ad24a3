// SPDX-License-Identifier: Apache-2.0
// Database: a RocksDB folder with our options, our errors and our rows; nothing here decides.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lakestream/result.h"
#include "meta/embedded/embedded_store.h"
#include "meta/shard_state.h"

namespace lakestream::meta::embedded {

inline constexpr KeyOrder key_order = KeyOrder::hierarchical;

/// What RocksDB stands on, where it is not the machine itself.
struct Environment {
    rocksdb::Env* env;
};

/// Where a read may look: `memory` never waits for a disk, and gives up instead.
enum class ReadFrom : std::uint8_t { memory, disk };

/// Thread-safe. Shared by the store and its open scans; the folder's lock goes with the last.
class Database {
  public:
    /// Errors: `unavailable` (folder in use, cannot be read), `corrupt`, `exhausted`.
    static Result<std::shared_ptr<Database>> open(const EmbeddedOptions& options);
    Database(std::string folder, std::unique_ptr<rocksdb::DB> db)
        : folder_(std::move(folder)), db_(std::move(db)) {}

    /// The state that the rows describe.
    Result<ShardState> load() const;
    /// Make a group durable. After an error the next `open` tells whether it is there, and nothing
    /// more may be written before.
    Status commit(rocksdb::WriteBatch& batch);
    /// Whether the disk has room for opening the folder again. `exhausted`.
    Status check_room() const;

    /// None when it would have to wait for the disk.
    std::optional<Result<Record>> get(const Get& request, ReadFrom from) const;
    /// A record of its row. `corrupt`.
    Result<Record> record(std::string_view row, std::string_view value) const;
    std::unique_ptr<rocksdb::Iterator> iterate(const rocksdb::ReadOptions& options) const;
    rocksdb::DB& db() const noexcept { return *db_; }

    /// Our error for RocksDB's, with the folder, and what to do.
    Error error(const rocksdb::Status& status) const;
    /// A row's error, with the folder.
    Error error(Error error) const;

  private:
    Status load_sessions(std::map<SessionId, Session>& sessions) const;
    Status load_links(std::map<SessionId, Session>& sessions) const;
    std::optional<Result<Record>> get_exact(std::string_view key, ReadFrom from) const;
    std::optional<Result<Record>> get_near(const Get& request, ReadFrom from) const;
    std::string folder_;
    std::unique_ptr<rocksdb::DB> db_;
};

/// A range of records as of the first page. Its calls come one after the other, from any thread.
class RecordCursor {
  public:
    RecordCursor(std::shared_ptr<const Database> database, const Range& range);

    /// The next records, at most `records_max` and about `bytes_max`; empty at the end.
    Result<std::vector<Record>> page(std::size_t records_max, std::size_t bytes_max);
    /// The rest, keys only.
    Result<std::vector<std::string>> keys();

  private:
    void position();

    std::shared_ptr<const Database> database_;  // shared with the store: it may end first
    std::string begin_;
    std::string end_;
    rocksdb::Slice end_slice_;
    std::unique_ptr<rocksdb::Iterator> at_;
};

}  // namespace lakestream::meta::embedded
