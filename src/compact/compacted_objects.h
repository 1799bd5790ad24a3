// SPDX-License-Identifier: Apache-2.0
// CompactedObjects: how the log engine reads what compaction wrote.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "log/compacted_source.h"
#include "meta/metadata_store.h"
#include "objstore/object_store.h"
#include "rt/future.h"
#include "rt/offload.h"
#include "table/files.h"

namespace lakestream::compact {

/// The one place that loads the Arrow module, when somebody needs it for the first time.
/// Thread-safe; blocks: call it on an offloaded thread.
class TableFilesLoader {
  public:
    /// Errors: as table::load_table_files; tried again at the next call.
    Result<table::TableFiles*> get();

  private:
    std::mutex mutex_;
    std::unique_ptr<table::TableFiles> files_;
};

/// `<namespace>/<name>`: where a stream's compacted objects are.
std::string compacted_folder(std::string_view ns, std::string_view name);

/// Whole objects are fetched and kept, the latest used within a budget: readers that catch up fetch
/// each once, however many of them ask at the same time. Safe from any executor. Cost: 2 GETs for
/// each object and its index, nothing while it is kept; 1 metadata get for each log.
class CompactedObjects final : public log::CompactedSource {
  public:
    struct Seams {
        objstore::ObjectStore& objects;  // of compacted objects
        meta::MetadataStore& metadata;
        rt::Offloader& offloader;
        TableFilesLoader& loader;
    };

    CompactedObjects(Seams seams, std::uint64_t bytes_max) : seams_(seams), bytes_max_(bytes_max) {}

    rt::Task<Result<std::vector<log::CompactedPart>>> read(
        LogId log,
        index::IndexRecord record,
        OffsetRange range,
        Offset from,
        std::uint64_t bytes_max
    ) override;

  private:
    /// Two files in memory, and a reader over them; one read at a time.
    struct Pair {
        Bytes parquet;
        Bytes index;
        std::mutex mutex;
        std::unique_ptr<table::CompactedReader> reader;
    };
    using PairPtr = std::shared_ptr<Pair>;  // shared by the cache and reads in progress

    rt::Task<Result<std::string>> folder(LogId log);
    rt::Task<Result<Bytes>> get_half(std::string name);
    rt::Task<Result<PairPtr>> load(std::string name);
    rt::Task<Result<PairPtr>> fetch(std::string name);
    PairPtr find(const std::string& name);
    void keep(std::string name, PairPtr pair);

    Seams seams_;
    const std::uint64_t bytes_max_;
    std::mutex mutex_;
    std::uint64_t bytes_ = 0;
    std::list<std::pair<std::string, PairPtr>> pairs_;  // latest used first
    std::map<LogId, std::string> folders_;
    /// Those who wait for a fetch in progress, by name.
    std::map<std::string, std::vector<rt::Promise<Result<PairPtr>>>> fetches_;
};

}  // namespace lakestream::compact
