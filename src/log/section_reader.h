// SPDX-License-Identifier: Apache-2.0
// SectionReader: the entries of one log in one WAL object, with caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/metrics.h"
#include "index/record.h"
#include "log/section_data.h"
#include "log/settings.h"
#include "objstore/object_store.h"
#include "rt/shared_semaphore.h"
#include "rt/single_flight.h"
#include "wal/object_format.h"

namespace lakestream::log {

struct SectionMetrics {
    metrics::Counter hits;    // sections that were in the cache
    metrics::Counter misses;  // sections fetched
    metrics::Gauge bytes;     // kept
};

/// Reads sections whole, so that their checksum is verified before anything is answered. An
/// object's index block has none of its own, so what looks damaged is read once more with a fresh
/// block. Belongs to one shard; the bytes on their way are counted for all shards. Cost: nothing
/// when cached, and nothing for who asks while another reads the same; else 1 ranged GET, and 1 or
/// 2 more for an object whose index block is not known yet; twice that for damage.
class SectionReader {
  public:
    /// Of the node: its store, and bytes that may be on their way from it.
    struct Seams {
        objstore::ObjectStore& objects;
        rt::SharedSemaphore& bytes_on_their_way;
    };

    /// Keeps `bytes_max` of sections.
    SectionReader(Seams seams, const EngineSettings& settings, std::uint64_t bytes_max);
    SectionReader(const SectionReader&) = delete;
    SectionReader& operator=(const SectionReader&) = delete;
    ~SectionReader();

    /// Errors: `not_found` (the object is missing), `corrupt` (it does not hold what the index
    /// record says; the message names it), and those of ObjectStore::get.
    rt::Task<Result<SectionDataPtr>> read(LogId log, index::IndexRecord record);
    const SectionMetrics& metrics() const noexcept { return metrics_; }

  private:
    using Key = std::pair<std::string, std::int64_t>;
    using HeaderPtr = std::shared_ptr<const wal::ObjectHeader>;  // shared by cache and readers

    rt::Task<Result<SectionDataPtr>> read_new(LogId log, index::IndexRecord record);
    rt::Task<Result<SectionDataPtr>> load(LogId log, index::IndexRecord record);
    rt::Task<Result<HeaderPtr>> header(std::string location, std::uint64_t payload_bytes);
    rt::Task<Result<HeaderPtr>> load_header(std::string location, std::uint64_t payload_bytes);
    /// A range of an object that the index says is there: that it is not is damage.
    rt::Task<Result<Bytes>> get(std::string location, objstore::ByteRange range);
    void forget_header(const std::string& location);
    void remember(Key key, SectionDataPtr section);

    Seams seams_;
    const EngineSettings& settings_;
    const std::uint64_t bytes_max_;
    std::uint64_t bytes_ = 0;
    std::list<std::pair<Key, SectionDataPtr>> sections_;  // most recent first
    std::map<Key, std::list<std::pair<Key, SectionDataPtr>>::iterator> by_key_;
    std::list<std::pair<std::string, HeaderPtr>> headers_;  // most recent first
    std::map<std::string, std::list<std::pair<std::string, HeaderPtr>>::iterator> by_location_;
    rt::SingleFlight<Key, SectionDataPtr> section_flights_;
    rt::SingleFlight<std::string, HeaderPtr> header_flights_;
    SectionMetrics metrics_;
};

}  // namespace lakestream::log
