// SPDX-License-Identifier: Apache-2.0
// Calls for one record, made of batches and scans.
#include "meta/metadata_store.h"

#include <iterator>
#include <utility>

namespace lakestream::meta {

rt::Task<Result<PutDone>> put(MetadataStore& store, Put request) {
    const ShardId shard = store.shard_of(request.partition_key.value_or(request.key));
    ShardBatch batch;
    batch.puts.push_back(std::move(request));
    auto done = LKS_CO_TRY(co_await store.write(shard, std::move(batch)));
    co_return std::move(done.puts.at(0));
}

rt::Task<Status> remove(
    MetadataStore& store, Delete request, std::optional<std::string> partition_key
) {
    const ShardId shard = store.shard_of(partition_key.value_or(request.key));
    ShardBatch batch;
    batch.deletes.push_back(std::move(request));
    auto done = LKS_CO_TRY(co_await store.write(shard, std::move(batch)));
    co_return std::move(done.deletes.at(0));
}

rt::Task<Result<std::vector<Record>>> read_all(
    MetadataStore& store, Range range, std::size_t limit
) {
    const auto scan = store.scan(std::move(range));
    std::vector<Record> all;
    while (true) {
        auto page = LKS_CO_TRY(co_await scan->next());
        if (page.empty()) {
            co_return all;
        }
        if (page.size() > limit - all.size()) {
            co_return exhausted("a range of more than {} records", limit);
        }
        all.insert(
            all.end(), std::make_move_iterator(page.begin()), std::make_move_iterator(page.end())
        );
    }
}

}  // namespace lakestream::meta
