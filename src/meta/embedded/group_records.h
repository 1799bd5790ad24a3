// SPDX-License-Identifier: Apache-2.0
// GroupRecords: the records as one group of writes sees them while it is being made.
#pragma once

#include <rocksdb/write_batch.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "meta/embedded/database.h"
#include "meta/shard_state.h"

namespace lakestream::meta::embedded {

/// The database as it is, and over it what the group has done so far, which is collected in one
/// RocksDB batch. Used by one thread.
class GroupRecords final : public ShardRecords {
  public:
    /// Ranges of more records are deleted by one tombstone instead of one by one.
    static constexpr std::size_t single_deletes_max = 10'000;

    explicit GroupRecords(const Database& database) : database_(database) {}

    std::optional<RecordHead> head(std::string_view key) override;
    std::optional<std::string> last_below(std::string_view key) override;
    void put(std::string key, StoredRecord record) override;
    void erase(std::string_view key) override;
    void erase_range(std::string_view begin, std::string_view end) override;
    void put_session(SessionId id, const Session& session) override;
    void erase_session(SessionId id) override;
    void link(SessionId session, std::string_view key) override;
    void unlink(SessionId session, std::string_view key) override;

    /// Whether every read so far succeeded. If not, the group and the state it led to are void.
    const Status& status() const noexcept { return status_; }
    /// After a tombstone reads would see what it deletes: commit before the next write.
    bool sealed() const noexcept { return sealed_; }
    bool empty() const noexcept { return batch_.Count() == 0; }
    std::size_t bytes() const noexcept { return batch_.GetDataSize(); }
    /// The group with the counters it ends with.
    rocksdb::WriteBatch& finish(ShardCounters counters);

  private:
    void fail(Error error);
    rocksdb::Iterator& base();
    void collect(std::string_view begin, std::string_view end, std::vector<std::string>& keys);

    const Database& database_;
    rocksdb::WriteBatch batch_;
    std::map<std::string, std::optional<RecordHead>, std::less<>> changed_;  // none: deleted
    std::unique_ptr<rocksdb::Iterator> base_;
    Status status_;
    bool sealed_ = false;
};

}  // namespace lakestream::meta::embedded
