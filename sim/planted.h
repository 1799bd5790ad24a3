// SPDX-License-Identifier: Apache-2.0
// Planted bugs: stores that break a promise. A simulation that does not find them is decoration.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "meta/memory_store.h"
#include "meta/testing/forwarding_store.h"
#include "objstore/memory_store.h"
#include "objstore/testing/forwarding_store.h"
#include "rt/executor.h"

namespace lakestream::sim {

enum class Planted : std::uint8_t {
    none,
    object_lost_at_crash,  // a put is answered before it is durable
    index_lost_at_crash,   // a metadata write is answered before it is durable
    writer_renumbered,     // a resent index record gets another writer number: V1 cannot see it
    removes_more,          // a deletion takes the next object as well
    position_lags,         // a table's position is written behind its rows, and a crash is between
    zombies_commit,        // a group's coordinator is not told that another has taken over
    commit_lost_at_crash,  // a group's offset is acknowledged before it is durable
};

struct PlantedName {
    Planted bug;
    std::string_view name;
    std::string_view scenario;  // in which it is looked for
    std::uint64_t seeds = 0;    // within which it must be found
};
std::vector<PlantedName> planted_bugs();

/// What was answered so recently that a crash of its writer undoes it.
inline constexpr auto not_yet_durable = std::chrono::milliseconds(20);

/// A node's way to the bucket; `crash` loses what it answered last.
class LossyObjects final : public objstore::ForwardingStore {
  public:
    LossyObjects(objstore::MemoryBucket& bucket, const rt::Clock& clock, Planted planted)
        : ForwardingStore(inner_),
          bucket_(bucket),
          inner_(bucket),
          clock_(clock),
          planted_(planted) {}

    rt::Task<Status> put(std::string name, Slices body, objstore::IfExists if_exists) override;
    rt::Task<std::vector<Status>> remove(std::vector<std::string> names) override;

    void crash();

  private:
    void set_position_back();

    objstore::MemoryBucket& bucket_;
    objstore::MemoryStore inner_;
    const rt::Clock& clock_;
    Planted planted_;
    std::deque<std::pair<MonoTime, std::string>> recent_;
    std::string table_version_;  // the last one that was put
};

/// A node's way to the metadata service.
class LossyMetadata final : public meta::testing::ForwardingStore {
  public:
    LossyMetadata(meta::MemoryMetadata& service, rt::Executor& executor, Planted planted)
        : ForwardingStore(inner_),
          service_(service),
          inner_(service, executor),
          executor_(executor),
          planted_(planted) {}

    rt::Future<Result<meta::ShardBatchDone>> write(meta::ShardId shard, meta::ShardBatch batch)
        override;

    void crash();

  private:
    struct Answered {
        MonoTime when;
        meta::ShardId shard;
        std::vector<std::string> keys;
    };

    bool is_forgotten(std::string_view key) const;
    rt::Future<Result<meta::ShardBatchDone>> write_unfenced(
        meta::ShardId shard, meta::ShardBatch batch
    );
    void renumber(meta::ShardBatch& batch);

    meta::MemoryMetadata& service_;
    meta::MemoryStore inner_;
    rt::Executor& executor_;
    Planted planted_;
    std::deque<Answered> recent_;
    std::map<std::uint64_t, std::uint64_t> numbers_;  // by writer
};

}  // namespace lakestream::sim
