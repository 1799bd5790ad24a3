// SPDX-License-Identifier: Apache-2.0
// MetricsStore: counts requests, bytes and time.
#pragma once

#include <array>
#include <string>

#include "base/metrics.h"
#include "objstore/object_store.h"
#include "objstore/operation.h"

namespace lakestream::objstore {

/// What a request came to, for its metric: `answer` is not_found, already_exists or out_of_range.
enum class Outcome : std::uint8_t { ok, answer, throttled, unknown, failed };

inline constexpr std::size_t outcome_count = 5;

/// `lakestream_objstore_requests_total{store, operation, outcome}`, `…_request_seconds{store,
/// operation}`, `…_written_bytes_total`, `…_read_bytes_total` and `…_requests_running{store}`. A
/// remove counts as one request, by the first name that failed. Thread-safe.
class MetricsStore final : public ObjectStore {
  public:
    /// `store` tells several stores of one node apart. The registry outlives this.
    MetricsStore(ObjectStore& inner, metrics::Registry& registry, const std::string& store);
    ~MetricsStore() override;

    rt::Task<Status> put(std::string name, Slices body, IfExists if_exists) override;
    rt::Task<Status> put_file(std::string name, std::string path, IfExists if_exists) override;
    rt::Task<Result<Bytes>> get(std::string name, std::optional<ByteRange> range) override;
    rt::Task<Result<ObjectInfo>> head(std::string name) override;
    rt::Task<Result<ListPage>> list(std::string prefix, std::string after, std::uint32_t limit)
        override;
    rt::Task<std::vector<Status>> remove(std::vector<std::string> names) override;

    std::uint64_t requests(Operation operation, Outcome outcome) const;
    std::uint64_t written_bytes() const noexcept { return written_bytes_.value(); }
    std::uint64_t read_bytes() const noexcept { return read_bytes_.value(); }

  private:
    struct Requests {
        std::array<metrics::Counter, outcome_count> by_outcome;
        metrics::Histogram seconds{metrics::latency_bounds};
    };
    class Running;

    ObjectStore& inner_;
    metrics::Registry& registry_;
    PerOperation<Requests> requests_;
    metrics::Counter written_bytes_;
    metrics::Counter read_bytes_;
    metrics::Gauge running_;
};

}  // namespace lakestream::objstore
