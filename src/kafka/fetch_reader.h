// SPDX-License-Identifier: Apache-2.0
// FetchReader: gathers the entries of one fetch within its limits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "kafka/dispatch.h"
#include "kafka/error_map.h"
#include "kafka/fetch_sessions.h"
#include "log/engine.h"
#include "rt/task.h"

namespace lakestream::kafka {

/// What has been read of one partition.
struct PartitionRead {
    LogId log;
    KafkaError error = KafkaError::none;
    Offset from;  // asked for
    Offset next;  // where reading goes on
    std::uint64_t bytes_left = 0;
    log::LogBounds bounds{.start = Offset(-1), .high_watermark = Offset(-1)};
    std::vector<log::ReadEntry> entries;
};

/// Serves one request. Kafka's limits: partitions in the order asked for, each up to its own limit,
/// all together up to the limit; only the first entry of the whole response may be larger than what
/// is left. Reads several partitions at a time, yet asks for no more than the limit together.
class FetchReader {
  public:
    explicit FetchReader(Call call) : call_(call) {}

    /// Find the partitions' logs. One read per partition, in order.
    rt::Task<void> resolve(const FetchSession& session);
    /// Read on, until `bytes_min` are there, no more is to be had or `patience` is over, up to
    /// `bytes_max`. Both sizes count from the first call.
    rt::Task<void> read(std::uint64_t bytes_min, std::uint64_t bytes_max, Deadline patience);
    /// Bounds of the partitions for which there was no room or no time. Cost: nothing for logs
    /// that are loaded.
    rt::Task<void> look();
    /// Wait until a partition that may be read further has more than has been seen; false at the
    /// deadline, or when there is none.
    rt::Task<bool> wait(Deadline deadline);

    std::uint64_t bytes() const noexcept { return bytes_; }
    bool failed() const noexcept { return failed_; }
    std::span<PartitionRead> partitions() noexcept { return partitions_; }

  private:
    rt::Task<void> read_round(Deadline patience);
    rt::Task<Result<catalog::StreamPtr>> stream_of(const FetchTarget& target);
    PartitionRead begin(const FetchTarget& target, const Result<catalog::StreamPtr>& stream);
    void fail(PartitionRead& partition, KafkaError error);
    void take(PartitionRead& partition, Result<log::ReadBatch> result);

    std::uint64_t room() const noexcept { return bytes_max_ - std::min(bytes_, bytes_max_); }

    Call call_;
    std::uint64_t bytes_max_ = 0;
    std::uint64_t bytes_ = 0;
    bool failed_ = false;
    std::vector<PartitionRead> partitions_;
    catalog::StreamPtr last_;  // the stream of the target before: most share it
};

}  // namespace lakestream::kafka
