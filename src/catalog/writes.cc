// SPDX-License-Identifier: Apache-2.0
// Sorting writes into batches by shard.
#include "catalog/writes.h"

#include <map>
#include <optional>
#include <utility>

namespace lakestream::catalog {

namespace {

constexpr std::size_t batch_writes_max = 2000;    // far below the store's own limits,
constexpr std::size_t batch_bytes_max = 2 << 20;  // so that a batch is never slow

/// A batch and where the results of its puts belong.
struct Pending {
    meta::ShardBatch batch;
    std::vector<std::size_t> put_places;
    std::size_t bytes = 0;

    bool full() const {
        return batch.puts.size() + batch.deletes.size() + batch.ranges.size() >= batch_writes_max ||
               bytes >= batch_bytes_max;
    }
};

class Sorter {
  public:
    explicit Sorter(const meta::MetadataStore& store) : store_(store) {}

    /// The batch that the next write with this partition key goes to.
    Pending& batch_of(std::string_view partition_key) {
        const meta::ShardId shard = store_.shard_of(partition_key);
        std::optional<std::size_t>& current = current_[shard];
        if (!current.has_value() || batches_[*current].second.full()) {
            current = batches_.size();
            batches_.emplace_back(shard, Pending());
        }
        return batches_[*current].second;
    }

    std::vector<std::pair<meta::ShardId, Pending>>& batches() { return batches_; }

  private:
    const meta::MetadataStore& store_;
    std::map<meta::ShardId, std::optional<std::size_t>> current_;
    std::vector<std::pair<meta::ShardId, Pending>> batches_;
};

}  // namespace

rt::Task<Result<std::vector<Result<meta::PutDone>>>> Writes::send(meta::MetadataStore& store) && {
    Sorter sorter(store);
    const std::size_t count = puts_.size();
    for (std::size_t i = 0; i < count; ++i) {
        Pending& pending = sorter.batch_of(puts_[i].partition_key.value_or(puts_[i].key));
        pending.bytes += puts_[i].key.size() + puts_[i].value.size();
        pending.put_places.push_back(i);
        pending.batch.puts.push_back(std::move(puts_[i]));
    }
    for (auto& [partition_key, each] : deletes_) {
        sorter.batch_of(partition_key).batch.deletes.push_back(std::move(each));
    }
    for (auto& [range, partition_key] : ranges_) {
        sorter.batch_of(partition_key).batch.ranges.push_back(std::move(range));
    }
    std::vector<rt::Future<Result<meta::ShardBatchDone>>> sent;
    for (auto& [shard, pending] : sorter.batches()) {
        sent.push_back(store.write(shard, std::move(pending.batch)));
    }
    std::vector<Result<meta::PutDone>> results(count, Result<meta::PutDone>(meta::PutDone()));
    Status status;
    for (std::size_t b = 0; b < sent.size(); ++b) {
        Result<meta::ShardBatchDone> done = co_await std::move(sent[b]);
        if (!done.ok()) {
            status = std::move(done).error();
            continue;
        }
        const std::vector<std::size_t>& places = sorter.batches()[b].second.put_places;
        for (std::size_t i = 0; i < places.size(); ++i) {
            results[places[i]] = std::move(done->puts[i]);
        }
    }
    LKS_CO_TRY(std::move(status));
    co_return results;
}

}  // namespace lakestream::catalog
