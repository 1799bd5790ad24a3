// SPDX-License-Identifier: Apache-2.0
// TimeSearch: finds records by their timestamps: first the index, then the entries it points to.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "kafka/entries.h"
#include "log/engine.h"
#include "rt/offload.h"
#include "rt/semaphore.h"
#include "rt/task.h"

namespace lakestream::kafka {

/// Belongs to one executor, which never decodes: of all searches at most one has an entry decoded
/// by the offloader at a time. All arguments outlive it, and it outlives its searches.
class TimeSearch {
  public:
    TimeSearch(log::Engine& engine, rt::Offloader& offloader)
        : engine_(engine), offloader_(offloader) {}

    /// The first record within `bounds` whose timestamp is at least `timestamp`; none when there is
    /// none. Errors: of Engine::find_timestamp and Engine::read; `corrupt`.
    rt::Task<Result<std::optional<RecordTime>>> find_since(
        LogId log, log::LogBounds bounds, std::int64_t timestamp
    );

    /// The first record with the largest timestamp from `start` on; none in an empty log. Errors as
    /// above.
    rt::Task<Result<std::optional<RecordTime>>> find_latest(LogId log, Offset start);

    /// All searches end soon, with `cancelled`.
    void stop() { stopped_ = true; }

  private:
    template <class Decode>
    rt::Task<Result<std::optional<RecordTime>>> decode(Decode look);
    rt::Task<Result<std::vector<log::ReadEntry>>> read_piece(LogId log, Offset from);
    rt::Task<Result<Offset>> look_for_later(
        LogId log, OffsetRange range, std::optional<RecordTime>& best
    );

    log::Engine& engine_;
    rt::Offloader& offloader_;
    rt::Semaphore turns_{1};
    bool stopped_ = false;
};

}  // namespace lakestream::kafka
