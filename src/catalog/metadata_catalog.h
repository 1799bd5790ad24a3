// SPDX-License-Identifier: Apache-2.0
// MetadataCatalog: the catalog on a metadata store, in Ursa 1.0's records.
#pragma once

#include <memory>

#include "catalog/cache.h"
#include "catalog/life_cycle.h"

namespace lakestream::catalog {

/// Owned by the node, which outlives its requests. The cache follows the store's notifications on
/// the executor given to `open`; it may lag behind by their delay, but never behind this node's own
/// changes.
class MetadataCatalog final : public Catalog {
  public:
    /// Subscribes. `home` outlives the catalog, which is destroyed there. Errors: of the store.
    static rt::Task<Result<std::unique_ptr<MetadataCatalog>>> open(
        meta::MetadataStore& store, LogFencer& fencer, rt::Executor& home
    );

    /// Finish what nodes that crashed left half created or half dropped; for a node's start, beside
    /// its requests. Streams that cannot be finished are logged; others go on. Errors: of the
    /// store. Cost: one scan per namespace.
    rt::Task<Status> recover();

    rt::Task<Result<StreamPtr>> create(StreamSpec spec) override;
    rt::Task<Result<StreamPtr>> load(StreamName name) override;
    rt::Task<Result<StreamPtr>> load_by_id(std::array<std::byte, 16> incarnation) override;
    rt::Task<Result<std::vector<StreamPtr>>> list(std::string ns) override;
    rt::Task<Result<StreamPtr>> change_properties(
        StreamName name, Incarnation incarnation, PropertiesChange change
    ) override;
    rt::Task<Result<StreamPtr>> grow(
        StreamName name, Incarnation incarnation, std::uint32_t partitions
    ) override;
    rt::Task<Status> drop(StreamName name, std::optional<Incarnation> incarnation) override;
    rt::Task<Result<std::int64_t>> allocate_producer_ids(std::int64_t count) override;

  private:
    MetadataCatalog(meta::MetadataStore& store, LogFencer& fencer)
        : store_(store), life_cycle_(store, fencer) {}

    void apply(const meta::ChangeBatch& batch);
    rt::Task<Result<StreamPtr>> read(StreamName name);
    /// After a change of ours: what we knew is old, whatever became of it.
    rt::Task<Result<StreamPtr>> read_changed(StreamName name, Status changed);
    rt::Task<Status> read_all(std::string ns);
    /// From a listing made at `since` or later.
    rt::Task<Result<std::vector<StreamPtr>>> list_since(std::string ns, MonoTime since);
    rt::Task<Result<std::int64_t>> take_producer_ids(std::int64_t count);

    meta::MetadataStore& store_;
    LifeCycle life_cycle_;
    StreamCache cache_;
    std::unique_ptr<meta::Subscription> subscription_;  // last: nothing may call us any more
};

}  // namespace lakestream::catalog
