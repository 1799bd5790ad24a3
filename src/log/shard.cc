// SPDX-License-Identifier: Apache-2.0
// Appending and settling on a log's home shard (docs/protocols/append.md).
#include "log/shard.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/format.h"
#include "base/log.h"
#include "index/key.h"

namespace lakestream::log {

namespace {

constexpr std::int64_t section_records_max = std::numeric_limits<std::int32_t>::max();
/// One publish may carry sections of several writers of a log: one that rested begins anew.
constexpr std::size_t our_writers_max = 8;
constexpr std::size_t waiters_swept_min = 16;

}  // namespace

Shard::Shard(std::size_t number, const EngineSettings& settings, Seams seams)
    : number_(number), settings_(settings), seams_(std::move(seams)), scope_(seams_.executor) {}

Shard::~Shard() = default;

Shard::LogPtr Shard::log(LogId id) {
    if (deleted_.contains(id)) {
        auto gone = std::make_shared<Log>(id);
        gone->fenced = true;
        return gone;
    }
    LogPtr& slot = logs_[id];
    if (slot == nullptr) {
        slot = std::make_shared<Log>(id);
    }
    return slot;
}

void Shard::append(
    std::vector<std::pair<std::size_t, AppendRequest>> requests,
    const std::shared_ptr<AppendCall>& call
) {
    const std::size_t open = segment_.size();
    std::uint64_t joined = 0;
    const MonoTime now = seams_.executor.now();
    const WallTime wall = seams_.executor.clock().wall_now();
    for (auto& [slot, request] : requests) {
        auto memory = seams_.append_memory.try_reserve(request.payload.size());
        if (!memory.has_value()) {
            metrics_.append_rejections.add();
            call->complete(
                slot,
                throttled(
                    "{} bytes of entries wait to be stored already", seams_.append_memory.used()
                )
            );
            continue;
        }
        if (scope_.stopping()) {
            call->complete(slot, cancelled("stopping"));
            continue;
        }
        const LogPtr target = log(request.log);
        const WallTime arrived = request.arrived.value_or(wall);
        PendingEntry entry{
            .request = std::move(request),
            .call = call,
            .slot = slot,
            .received = now,
            .arrived = std::min(arrived, wall),
            .memory = std::move(*memory),
        };
        if (target->state == LoadState::loaded || target->fenced) {
            joined += admit(*target, std::move(entry));
        } else {
            target->waiting.push_back(std::move(entry));
            if (target->state == LoadState::absent) {
                target->state = LoadState::loading;
                scope_.spawn(load_in_background(target));
            }
        }
    }
    tell_flusher(open, joined);
}

std::uint64_t Shard::admit(Log& log, PendingEntry entry) {
    if (log.fenced) {
        entry.answer(fenced("log {} is deleted", log.id));
        return 0;
    }
    const auto& producer = entry.request.producer;
    if (producer.has_value()) {
        if (const auto* original = log.fold.find_duplicate(*producer, entry.request.records)) {
            metrics_.duplicates.add();
            entry.answer(Appended{
                .offset = original->offset, .created = log.fold.max_created, .duplicate = true
            });
            return 0;
        }
    }
    metrics_.entries.add();
    const std::uint64_t bytes = entry.request.payload.size();
    segment_.push_back(std::move(entry));
    return bytes;
}

void Shard::tell_flusher(std::size_t entries, std::uint64_t bytes) {
    const bool enough = seams_.open.add(bytes);
    if (enough || (entries == 0 && !segment_.empty())) {
        seams_.dirty();
    }
}

rt::Task<void> Shard::load_in_background(LogPtr log) {
    const Status loaded = co_await ensure_loaded(*log);
    std::vector<PendingEntry> waiting = std::exchange(log->waiting, {});
    const std::size_t open = segment_.size();
    std::uint64_t joined = 0;
    for (PendingEntry& entry : waiting) {
        if (loaded.ok()) {
            joined += admit(*log, std::move(entry));
        } else {
            entry.answer(loaded.error());
        }
    }
    if (!loaded.ok() && log->state == LoadState::loading) {
        log->state = LoadState::absent;
    }
    tell_flusher(open, joined);
}

rt::Task<Segment> Shard::take_segment(std::uint64_t bytes_max) {
    std::vector<SectionPtr> sections;
    std::unordered_map<LogId, Section*> by_log;
    std::uint64_t bytes = 0;
    while (!segment_.empty()) {
        PendingEntry& entry = segment_.front();
        const std::uint64_t size = entry.request.payload.size();
        if (bytes > 0 && bytes + size > bytes_max) {
            break;
        }
        Section*& section = by_log[entry.request.log];
        if (section != nullptr && section->records + entry.request.records > section_records_max) {
            break;  // its index record counts them in 32 bits
        }
        bytes += size;
        if (section == nullptr) {
            sections.push_back(std::make_unique<Section>());
            section = sections.back().get();
            section->log = entry.request.log;
            section->home = number_;
            section->max_created = log(entry.request.log)->fold.max_created;
        }
        section->records += entry.request.records;
        section->bytes += size;
        section->entries.push_back(std::move(entry));
        segment_.pop_front();
    }
    seams_.open.sub(bytes);
    const bool more = !segment_.empty();
    if (more) {
        seams_.dirty();
    }
    co_return Segment{.sections = std::move(sections), .more = more};
}

rt::Task<WallTime> Shard::adopt_writer(LogId id, std::uint64_t writer) {
    const LogPtr adopting = log(id);
    Log& target = *adopting;
    target.our_writers.push_back(writer);
    if (target.our_writers.size() > our_writers_max) {
        const std::uint64_t oldest = target.our_writers.front();
        target.our_writers.erase(target.our_writers.begin());
        std::erase_if(target.unclaimed, [&](const auto& item) {
            return item.first.first == oldest;
        });
    }
    co_return target.fold.max_created;
}

rt::Task<std::vector<SettleOutcome>> Shard::settle(std::vector<PutAnswer> answers) {
    std::vector<SettleOutcome> outcomes;
    outcomes.reserve(answers.size());
    for (PutAnswer& answer : answers) {
        const LogPtr target = log(answer.section->log);
        const auto turn = co_await target->folding.acquire(1);
        outcomes.push_back(co_await settle_one(*target, std::move(answer)));
    }
    evict_tails();
    co_return outcomes;
}

namespace {

/// Its clients are told. The section goes back without entries: its writer's next number would
/// never count, if this one did not land.
SettleOutcome given_up(SectionPtr section, const Error& error) {
    section->fail(error);
    return {.resend = std::move(section), .redate = {}};
}

}  // namespace

rt::Task<SettleOutcome> Shard::settle_one(Log& log, PutAnswer answer) {
    SectionPtr section = std::move(answer.section);
    if (log.fenced) {
        co_return given_up(std::move(section), fenced("log {} is deleted", log.id));
    }
    const bool put_done = answer.put.has_value();
    if (!put_done) {
        if (Status scanned = co_await scan_for_verdict(log); !scanned.ok()) {
            co_return given_up(std::move(section), scanned.error());
        }
    } else if (!answer.put->ok()) {
        co_return given_up(
            std::move(section), std::move(answer.put->error()).with_context("index put")
        );
    } else {
        const meta::PutDone& done = answer.put->value();
        const auto key = index::parse_key(log.id, done.key);
        LKS_ASSERT(key.ok());
        if (key->end - section->records == log.fold.end) {
            fold_own(log, *section, done);
        } else if (key->end > log.fold.end) {
            metrics_.folds_by_scan.add();
            const Status scanned = co_await scan_to(log, key->end);
            if (!scanned.ok()) {
                // Our put is stored, its verdict is not known yet: ask again with the next round.
                co_return co_await settle_one(log, {std::move(section), std::nullopt});
            }
        }
    }
    auto verdicts = claim(log, *section);
    if (verdicts.has_value()) {
        co_return finish(log, std::move(section), *verdicts);
    }
    SettleOutcome outcome;
    if (const auto start = log.fold.landed(*section->writer)) {
        // It landed and its verdicts are gone: a snapshot of another node took us past it.
        co_return given_up(
            std::move(section),
            outcome_unknown("log {}: the verdict at offset {} was missed", log.id, *start)
        );
    }
    if (put_done && log.is_ours(section->writer->writer)) {
        // It landed where this node has folded something else.
        Error missed =
            corrupt("log {}: the index has lost records before {}", log.id, log.fold.end);
        co_return given_up(std::move(section), co_await find_cause(log, std::move(missed)));
    }
    const auto known = log.fold.writers.find(section->writer->writer);
    outcome.new_writer = known == log.fold.writers.end() &&
                         log.fold.max_created > section->writer->birth + publish_window;
    outcome.resend = std::move(section);
    co_return outcome;
}

void Shard::fold_own(Log& log, Section& section, const meta::PutDone& done) {
    FoldRecord record{
        .range = {log.fold.end, log.fold.end + section.records},
        .created = done.version.created,
        .writer = section.writer,
        .object_date = section.object_date,
        .entries = {},
    };
    record.entries.reserve(section.entries.size());
    for (const PendingEntry& entry : section.entries) {
        record.entries.push_back({entry.request.records, entry.request.producer});
    }
    auto verdicts = log::fold(log.fold, record);
    Offset offset = record.range.begin;
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
        const AppendRequest& request = section.entries[i].request;
        const bool is_void = verdicts[i].verdict != Verdict::valid;
        push_tail(
            log,
            {.range = {offset, offset + request.records},
             .payload = is_void ? Bytes() : request.payload,
             .created = done.version.created,
             .is_void = is_void}
        );
        offset = offset + request.records;
    }
    ++log.folded_since_saved;
    if (verdicts.front().verdict != Verdict::resent) {  // else the verdicts of the first are there
        log.unclaimed[{section.writer->writer, section.writer->number}] = std::move(verdicts);
    }
    grew(log);
}

std::optional<std::vector<EntryVerdict>> Shard::claim(Log& log, const Section& section) {
    const auto found = log.unclaimed.find({section.writer->writer, section.writer->number});
    if (found == log.unclaimed.end() || found->second.size() != section.entries.size()) {
        return std::nullopt;
    }
    auto verdicts = std::move(found->second);
    log.unclaimed.erase(found);
    return verdicts;
}

/// Writer numbers say what happened: fold to the tail and look.
rt::Task<Status> Shard::scan_for_verdict(Log& log) {
    while (true) {
        Status scanned = co_await scan_to(log, std::nullopt);
        if (scanned.ok()) {
            co_return scanned;
        }
        if (scanned.is(ErrorCode::corrupt)) {
            co_return co_await find_cause(log, std::move(scanned).error());
        }
        log::warn("log", "settle_waits log={} error={}", log.id, scanned.error());
        if (co_await scope_.stop().sleep_until(seams_.executor.now() + settings_.backoff_max)) {
            co_return outcome_unknown("stopped before the append of log {} was settled", log.id);
        }
    }
}

SettleOutcome Shard::finish(
    Log& log, SectionPtr section, const std::vector<EntryVerdict>& verdicts
) {
    const Verdict first = verdicts.front().verdict;
    SettleOutcome outcome;
    if (first == Verdict::published_late) {
        outcome.redate = log.fold.max_created;
        outcome.resend = std::move(section);
    } else if (first == Verdict::out_of_order_write) {
        outcome.new_writer = !log.fold.writers.contains(section->writer->writer) &&
                             log.fold.max_created > section->writer->birth + publish_window;
        outcome.resend = std::move(section);
    } else {
        answer_entries(log, *section, verdicts);
    }
    return outcome;
}

void Shard::answer_entries(Log& log, Section& section, const std::vector<EntryVerdict>& verdicts) {
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
        PendingEntry& entry = section.entries[i];
        const auto refuse = [&](Error error, AppendReason reason) {
            error.reason = static_cast<std::uint16_t>(reason);
            metrics_.voids.add();
            entry.answer(std::move(error));
        };
        const auto producer = entry.request.producer.value_or(ProducerStamp());
        switch (verdicts[i].verdict) {
            case Verdict::valid:
            case Verdict::duplicate:
                entry.answer(Appended{
                    .offset = verdicts[i].offset,
                    .created = log.fold.max_created,
                    .duplicate = verdicts[i].verdict == Verdict::duplicate,
                });
                break;
            case Verdict::out_of_order_sequence:
                refuse(
                    invalid_argument(
                        "log {}: sequence {} of producer {} does not follow",
                        log.id,
                        producer.base_sequence,
                        producer.id
                    ),
                    AppendReason::out_of_order_sequence
                );
                break;
            case Verdict::unknown_producer:
                refuse(
                    invalid_argument(
                        "log {}: producer {} is not known here and starts at sequence {}, not at 0",
                        log.id,
                        producer.id,
                        producer.base_sequence
                    ),
                    AppendReason::unknown_producer_id
                );
                break;
            case Verdict::old_epoch:
                refuse(
                    fenced("log {}: producer {} has a newer epoch", log.id, producer.id),
                    AppendReason::invalid_producer_epoch
                );
                break;
            case Verdict::published_late:
            case Verdict::resent:
            case Verdict::out_of_order_write: LKS_UNREACHABLE();
        }
    }
}

void Shard::push_tail(Log& log, TailEntry entry) {
    tail_bytes_ += entry.cost();
    log.tail.push_back(std::move(entry));
    tail_order_.push_back(&log);
}

void Shard::evict_tails() {
    const std::uint64_t budget = seams_.tail_bytes_max;
    while (tail_bytes_ > budget && !tail_order_.empty()) {
        Log& oldest = *tail_order_.front();
        tail_order_.pop_front();
        tail_bytes_ -= oldest.tail.front().cost();
        oldest.tail.pop_front();
    }
    metrics_.tail_bytes.set(static_cast<std::int64_t>(tail_bytes_));
}

void Shard::fire(Log& log) {
    for (const std::weak_ptr<AppendWaiter>& waiting : std::exchange(log.waiters, {})) {
        if (const auto waiter = waiting.lock()) {
            waiter->fire(true);
        }
    }
}

void Shard::grew(Log& log) {
    grown_.insert(log.id);
    fire(log);
    if (log.folded_since_saved >= settings_.snapshot_records && !log.saving && !scope_.stopping()) {
        log.saving = true;
        scope_.spawn(save_in_background(log.shared_from_this()));
    }
}

void Shard::watch(LogPosition position, const std::shared_ptr<AppendWaiter>& waiter) {
    const LogPtr target = log(position.log);
    if (target->fenced ||
        (target->state == LoadState::loaded && target->fold.end > position.seen)) {
        waiter->fire(true);
        return;
    }
    if (target->waiters.size() >= target->waiters_swept) {
        std::erase_if(target->waiters, [](const auto& waiting) { return waiting.expired(); });
        target->waiters_swept = 2 * target->waiters.size() + waiters_swept_min;
    }
    target->waiters.push_back(waiter);
    start_catch_up(target);
}

rt::Task<void> Shard::fence(LogId id) {
    const LogPtr target = log(id);
    target->fenced = true;
    for (PendingEntry& entry : std::exchange(target->waiting, {})) {
        entry.answer(fenced("log {} is deleted", id));
    }
    std::erase_if(segment_, [&](PendingEntry& entry) {
        const bool ours = entry.request.log == id;
        if (ours) {
            seams_.open.sub(entry.request.payload.size());
            entry.answer(fenced("log {} is deleted", id));
        }
        return ours;
    });
    drop_tail(*target);
    grown_.insert(id);
    fire(*target);
    logs_.erase(id);
    deleted_.insert(id);
    co_return;
}

rt::Task<void> Shard::close() {
    co_await scope_.close();
    std::vector<LogPtr> all;
    for (const auto& [id, log] : logs_) {  // any order: logs are saved one by one
        all.push_back(log);
    }
    for (const LogPtr& log : all) {
        if (log->state == LoadState::loaded && !log->fenced && log->fold.end > log->saved) {
            if (const Status saved = co_await save(*log); !saved.ok()) {
                log::warn("log", "snapshot_failed log={} error={}", log->id, saved.error());
            }
        }
    }
}

}  // namespace lakestream::log
