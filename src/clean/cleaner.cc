// SPDX-License-Identifier: Apache-2.0
// The order of a pass: barrier, index records, WAL objects, compacted objects.
#include "clean/cleaner.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/log.h"
#include "catalog/keys.h"
#include "clean/hard_trim.h"
#include "index/key.h"
#include "log/start.h"

namespace lakestream::clean {

namespace {

constexpr auto settle_patience = 10s;  // then the pass goes by ages
constexpr auto stretch_pause = 10ms;   // between passes that go on where the last one stopped

}  // namespace

Cleaner::Cleaner(CleanSettings settings, Seams seams)
    : settings_(std::move(settings)),
      seams_(seams),
      registrations_(seams_.metrics),
      wal_(settings_, seams_.wal, metrics_),
      compacted_(settings_, {.metadata = seams_.metadata, .objects = seams_.compacted}, metrics_),
      retainer_(
          settings_,
          {.metadata = seams_.metadata, .engine = seams_.engine, .catalog = seams_.catalog},
          metrics_
      ),
      scope_(seams_.executor) {
    metrics_.pinned_log.set(-1);
    metrics_.register_in(registrations_, seams_.executor);
}

Cleaner::~Cleaner() = default;

void Cleaner::start() {
    scope_.spawn(run_passes());
    scope_.spawn(run_retention());
}

rt::Task<void> Cleaner::close() {
    changes_.reset();
    co_await scope_.close();
}

void Cleaner::abandon() {
    changes_.reset();
    scope_.abandon();
}

/// Until it follows the changes, everything may have changed.
rt::Task<void> Cleaner::follow() {
    auto changes = co_await seams_.metadata.subscribe(
        seams_.executor,
        {.changed =
             [this](const meta::ChangeBatch& batch) {
                 changed_ = changed_ || std::ranges::any_of(batch.changes, [](const auto& change) {
                                return !is_barrier_key(change.key);
                            });
             },
         .gap = [this](meta::ShardId) { changed_ = true; }}
    );
    if (changes.ok() && !scope_.stopping()) {
        changes_ = std::move(*changes);
    }
}

bool Cleaner::due() const {
    return changed_ || in_round() || wal_.waits() || compacted_.waits() ||
           (next_.has_value() && seams_.executor.now() >= *next_);
}

rt::Task<void> Cleaner::run_passes() {
    Duration pause = settings_.interval;
    while (!co_await scope_.stop().sleep_until(seams_.executor.now() + pause)) {
        pause = settings_.interval;
        if (changes_ == nullptr) {
            co_await follow();
        }
        if (!due()) {
            continue;
        }
        if (!in_round()) {
            changed_ = changes_ == nullptr;
        }
        const Status done = co_await pass();
        changed_ = changed_ || !done.ok();
        if (!done.ok() && !done.is(ErrorCode::cancelled)) {
            metrics_.failures.add();
            log::warn("clean", "pass_failed error={}", done.error());
        } else if (in_round()) {
            pause = stretch_pause;
        }
    }
}

rt::Task<void> Cleaner::run_retention() {
    while (!co_await scope_.stop().sleep_until(seams_.executor.now() + settings_.retention_interval)
    ) {
        const Status done = co_await apply_retention();
        if (!done.ok() && !done.is(ErrorCode::cancelled)) {
            metrics_.failures.add();
            log::warn("clean", "retention_failed error={}", done.error());
        }
    }
}

rt::Task<Status> Cleaner::apply_retention() {
    co_return co_await retainer_.apply(scope_.stop());
}

rt::Task<Status> Cleaner::pass() {
    const PassTime time = LKS_CO_TRY(co_await begin_pass());
    LKS_CO_TRY(co_await hard_trims());
    LKS_CO_TRY(co_await clean_stretch(time));
    metrics_.passes.add();
    metrics_.pass.note(seams_.executor.now());
    co_return Status();
}

/// Behind it, what is read was not overtaken.
rt::Task<Result<PassTime>> Cleaner::begin_pass() {
    const bool settled = co_await seams_.view.settle(seams_.executor.now() + settle_patience);
    co_return PassTime{
        .now = seams_.executor.now(),
        .metadata = LKS_CO_TRY(co_await pass_barrier(seams_.metadata)),
        .settled = settled,
    };
}

/// The compacted objects have their turn when the WAL objects have had theirs, or had none because
/// of an error: the stores may be two.
rt::Task<Status> Cleaner::clean_stretch(PassTime time) {
    References references(seams_.metadata);
    Status done;
    if (compacted_.at_begin()) {
        done = co_await wal_.pass(references, time);
        next_.reset();
        if (const auto next = wal_.next()) {
            next_ = time.now + (*next - time.metadata);
        }
    }
    if (wal_.at_begin()) {
        Status pairs = co_await compacted_.pass(references, time);
        done = done.ok() ? std::move(pairs) : done;
    }
    changed_ = changed_ || !references.complete();
    metrics_.waiting.set(static_cast<std::int64_t>(wal_.waiting() + compacted_.waiting()));
    co_return done;
}

rt::Task<Status> Cleaner::hard_trims() {
    const auto starts = LKS_CO_TRY(co_await load_starts());
    for (const auto& [log, start] : starts) {
        if (const auto done = trimmed_.find(log); done != trimmed_.end() && done->second >= start) {
            continue;
        }
        if (scope_.stopping()) {
            co_return cancelled("the node is stopping");
        }
        co_await hard_trim_one(log, start);
    }
    std::erase_if(trimmed_, [&](const auto& each) { return !starts.contains(each.first); });
    co_return Status();
}

/// Other engines trim as well: they know the mark only.
rt::Task<Result<std::map<LogId, Offset>>> Cleaner::load_starts() {
    std::map<LogId, Offset> starts;
    for (const std::string_view parent : {"/lks/start", "/mark-deleted-offsets"}) {
        const auto scan =
            seams_.metadata.scan(catalog::keys::children(seams_.metadata.key_order(), parent));
        while (true) {
            const auto records = LKS_CO_TRY(co_await scan->next());
            if (records.empty()) {
                break;
            }
            for (const meta::Record& record : records) {
                const auto log = log::trimmed_log(record.key);
                const auto start = index::parse_mark(record.value);
                if (log.has_value() && start.ok()) {
                    starts[*log] = std::max(starts[*log], *start);
                }
            }
        }
    }
    co_return starts;
}

rt::Task<void> Cleaner::hard_trim_one(LogId log, Offset start) {
    const auto removed = co_await hard_trim(seams_.metadata, seams_.view, log);
    if (removed.ok()) {
        metrics_.index_records.add(removed->records);
        if (removed->complete) {
            trimmed_[log] = start;
        }
    } else if (!removed.is(ErrorCode::not_found)) {  // deleted
        changed_ = true;
        log::warn("clean", "trim_waits log={} error={}", log, removed.error());
    }
}

}  // namespace lakestream::clean
