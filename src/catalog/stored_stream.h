// SPDX-License-Identifier: Apache-2.0
// What the metadata store holds of one stream, read and put together.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "catalog/cache.h"
#include "catalog/json_records.h"
#include "meta/metadata_store.h"
#include "rt/task.h"

namespace lakestream::catalog {

/// A record and the version it was read at.
template <class Record>
struct Stored {
    Record record;
    meta::VersionId version;
};

/// What must still be true for the record to be replaced: this version, or that there is none.
template <class Record>
meta::Expect unchanged(const std::optional<Stored<Record>>& stored) {
    return stored.has_value() ? meta::Expect::at(stored->version) : meta::Expect::absent();
}

using StoredConfig = std::optional<Stored<StreamConfig>>;

/// The records of one partition.
struct StoredPartition {
    std::optional<Stored<LogMapping>> mapping;
    std::optional<Stored<LogMetadata>> metadata;
};

/// None when there is no such record. Errors: of the store; `corrupt`, naming the key.
rt::Task<Result<StoredConfig>> read_config(meta::MetadataStore& store, std::string key);

/// Mappings and metadata of partitions 0 to `count`. Cost: two scans.
rt::Task<Result<std::vector<StoredPartition>>> read_partitions(
    meta::MetadataStore& store, StreamName name, std::size_t count
);

/// Log metadata of an active stream's partitions. Cost: one scan.
rt::Task<Result<std::vector<StoredPartition>>> read_log_metadata(
    meta::MetadataStore& store, StreamName name, std::size_t count
);

/// An active stream from its records. Errors: `corrupt`, naming the partition that has no log of
/// this stream.
Result<VersionedStream> assemble(
    const StreamName& name,
    const Stored<StreamConfig>& config,
    const std::vector<StoredPartition>& partitions
);

/// The stream of an active config. Errors: `corrupt`; `conflict` when the config changed meanwhile.
/// Cost: one scan.
rt::Task<Result<VersionedStream>> read_active(
    meta::MetadataStore& store, StreamName name, Stored<StreamConfig> config
);

/// Every active stream of a namespace, and the names that could not be put together from one pass
/// (they changed meanwhile, or are damaged, or are few). A stream that is `known` at the version of
/// its config is taken as it is: parsing ten thousand again would stall a loop. Cost: one scan, and
/// another when much is not known.
using KnownStream = std::function<StreamPtr(const StreamName&, meta::VersionId)>;
struct ListedStreams {
    std::vector<VersionedStream> streams;
    std::vector<StreamName> unclear;
};
rt::Task<Result<ListedStreams>> list_streams(
    meta::MetadataStore& store, std::string ns, KnownStream known
);

/// Names in a namespace whose life cycle step was left unfinished. Cost: one scan.
rt::Task<Result<std::vector<StreamName>>> list_unfinished(
    meta::MetadataStore& store, std::string ns
);

rt::Task<Result<std::vector<std::string>>> list_namespaces(meta::MetadataStore& store);

}  // namespace lakestream::catalog
