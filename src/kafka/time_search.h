// SPDX-License-Identifier: Apache-2.0
// Searches a log by the timestamps of its records: first the index, then the entries it points to.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "kafka/entries.h"
#include "log/engine.h"
#include "rt/semaphore.h"
#include "rt/task.h"

namespace lakestream::kafka {

/// `turns` has one unit and belongs to the loop: of all searches that share it one looks into one
/// entry, which may take a tenth of a second, before everything else that is ready runs.
///
/// The first record within `bounds` whose timestamp is at least `timestamp`; none when there is
/// none. Errors: of Engine::find_timestamp and Engine::read; `corrupt`.
rt::Task<Result<std::optional<RecordTime>>> find_since(
    log::Engine& engine,
    rt::Semaphore& turns,
    LogId log,
    log::LogBounds bounds,
    std::int64_t timestamp
);

/// The first record with the largest timestamp from `start` on; none in an empty log. Errors as
/// above.
rt::Task<Result<std::optional<RecordTime>>> find_latest_record(
    log::Engine& engine, rt::Semaphore& turns, LogId log, Offset start
);

}  // namespace lakestream::kafka
