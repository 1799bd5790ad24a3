// SPDX-License-Identifier: Apache-2.0
// Sealing, storing and publishing (docs/protocols/append.md).
#include "log/flusher.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/format.h"
#include "base/log.h"
#include "index/key.h"
#include "log/index_value.h"
#include "wal/object_format.h"
#include "wal/object_name.h"

namespace lakestream::log {

namespace {

/// A writer that rests this long begins anew, well before others forget it.
constexpr auto writer_rest_max = publish_window / 4;
constexpr auto entry_age_max = publish_window / 2;
constexpr auto health_age_max = 30s;

/// Whether nothing of a batch was applied, nor ever will be.
bool was_refused(const Error& error) {
    switch (error.code) {
        case ErrorCode::unavailable:
        case ErrorCode::deadline_exceeded:
        case ErrorCode::throttled:
        case ErrorCode::exhausted: return true;
        default: return false;
    }
}

}  // namespace

Flusher::Flusher(const EngineSettings& settings, Seams seams)
    : settings_(settings),
      seams_(std::move(seams)),
      scope_(seams_.executor),
      dirty_(seams_.shards.size()),
      slots_(settings.uploads_max) {}

Flusher::~Flusher() = default;

void Flusher::start() {
    scope_.spawn(seal_loop());
    scope_.spawn(publish_loop());
}

void Flusher::dirty(std::size_t shard) {
    seams_.executor.post([this, shard] {
        dirty_[shard] = true;
        work_.notify_all();
    });
}

rt::Task<void> Flusher::seal_loop() {
    while (true) {
        while (std::ranges::find(dirty_, true) == dirty_.end() && !scope_.stopping()) {
            co_await work_.wait();
        }
        if (scope_.stopping()) {
            break;
        }
        FlushCause cause = FlushCause::idle;
        if (settings_.linger > Duration(0)) {
            cause = FlushCause::linger;
            co_await scope_.stop().sleep_until(seams_.executor.now() + settings_.linger);
        }
        while (queue_.size() >= settings_.objects_waiting_max && !scope_.stopping()) {
            cause = FlushCause::slot;
            co_await progress_.wait();
        }
        co_await seal_once(cause);
    }
}

rt::Task<void> Flusher::seal_once(FlushCause cause) {
    cause = slots_.used() == settings_.uploads_max ? FlushCause::slot : cause;
    auto slot = co_await slots_.acquire(1);
    if (co_await wait_for_more()) {
        cause = FlushCause::slot;
    }
    auto [sections, more] = co_await gather();
    drop_aged(sections);
    if (scope_.stopping()) {
        for (const SectionPtr& section : sections) {
            section->fail(
                cancelled("stopped before the entries of log {} were stored", section->log)
            );
        }
        co_return;
    }
    if (sections.empty()) {
        co_return;
    }
    const ObjectPtr object = build(std::move(sections), WallTime());
    note_cut(*object, more ? FlushCause::full : cause);
    queue_.push_back(object);
    scope_.spawn(upload_with_slot(object, std::move(slot)));
}

/// A small object cut while others are on their way would be answered little earlier than one of
/// all that comes until then, and cost as much as that. Those who were just answered come back.
rt::Task<bool> Flusher::wait_for_more() {
    const MonoTime latest = seams_.executor.now() + settings_.gather_wait_max;
    bool waited = false;
    while (!scope_.stopping()) {
        const bool busy = !queue_.empty() || publishing_ > 0;
        const std::uint64_t wanted = busy ? settings_.gather_bytes : answered_.outstanding;
        const MonoTime until = busy ? latest : std::min(latest, answered_.at + answered_.took / 2);
        if (seams_.open.reaches(std::min(wanted, settings_.gather_bytes)) ||
            seams_.executor.now() >= until) {
            break;
        }
        waited = true;
        co_await work_.wait(until);
    }
    co_return waited;
}

void Flusher::note_cut(const Object& object, FlushCause cause) {
    metrics_.cuts[static_cast<std::size_t>(cause)].add();
    metrics_.size.observe(static_cast<double>(object.body.size()));
    const std::chrono::duration<double> age = object.sealed - object.received;
    metrics_.age.observe(age.count());
}

std::optional<MonoTime> Flusher::oldest() const noexcept {
    if (publishing_oldest_.has_value()) {
        return publishing_oldest_;
    }
    return queue_.empty() ? std::nullopt : std::optional(queue_.front()->received);
}

Status Flusher::store_health() const {
    if (store_failed_.has_value() &&
        seams_.executor.now() - store_failed_->first < health_age_max) {
        return store_failed_->second;
    }
    return {};
}

rt::Task<Segment> Flusher::gather() {
    std::vector<rt::Future<Segment>> parts;
    const std::uint64_t share = settings_.object_bytes_max / seams_.shards.size();
    for (std::size_t i = 0; i < seams_.shards.size(); ++i) {
        if (dirty_[i]) {
            dirty_[i] = false;
            Shard& shard = *seams_.shards[i];
            parts.push_back(rt::submit(shard.executor(), shard.take_segment(share)));
        }
    }
    Segment all;
    for (auto& part : parts) {
        Segment segment = co_await part;
        std::ranges::move(segment.sections, std::back_inserter(all.sections));
        all.more = all.more || segment.more;
    }
    co_return all;
}

void Flusher::drop_aged(std::vector<SectionPtr>& sections) {
    // The machine slept, or the store failed for long: too late to publish under an honest date.
    const MonoTime oldest = seams_.executor.now() - entry_age_max;
    std::erase_if(sections, [&](const SectionPtr& section) {
        const bool aged = section->entries.front().received < oldest;
        if (aged) {
            metrics_.abandoned.add();
            section->fail(deadline_exceeded("log {}: entries grew too old to publish", section->log)
            );
        }
        return aged;
    });
}

Flusher::ObjectPtr Flusher::build(std::vector<SectionPtr> sections, WallTime date_min) {
    auto object = std::make_shared<Object>();
    object->sealed = seams_.executor.now();
    object->received = MonoTime::max();
    WallTime date = WallTime::max();
    WallTime newest_record = date_min;
    wal::ObjectBuilder builder;
    for (const SectionPtr& section : sections) {
        for (const PendingEntry& entry : section->entries) {
            builder.add(section->log, entry.request.payload, entry.request.records);
            date = std::min(date, entry.arrived);
            object->received = std::min(object->received, entry.received);
        }
        newest_record = std::max(newest_record, section->max_created);
    }
    // A hybrid clock: never behind what the metadata store has shown us of these logs.
    date = std::max(date, newest_record);
    object->name = wal::make_object_name(date, seams_.executor.rng().bytes16());
    wal::BuiltObject built = builder.finish();
    object->body = std::move(built.body);
    for (const SectionPtr& section : sections) {
        section->location = object->name;
        section->object_date = *wal::object_date(object->name);
        section->index_value = to_index_record(*section, built).encode();
    }
    object->sections = std::move(sections);
    return object;
}

rt::Task<void> Flusher::upload_with_slot(ObjectPtr object, rt::Semaphore::Units slot) {
    co_await upload(std::move(object));
    slot.release();
    progress_.notify_all();
    work_.notify_all();
}

rt::Task<void> Flusher::upload(ObjectPtr object) {
    Duration backoff = settings_.backoff_min;
    const MonoTime begin = seams_.executor.now();
    while (!object->dropped.has_value()) {
        // The same bytes under the same name: an attempt whose outcome is unknown is repeated.
        const Status stored =
            co_await seams_.objects.put(object->name, object->body, objstore::IfExists::overwrite);
        if (stored.ok()) {
            metrics_.objects.add();
            metrics_.object_bytes.add(object->body.size());
            metrics_.stored.note(seams_.executor.now());
            store_failed_.reset();
            object->stored = true;
            co_return;
        }
        metrics_.put_failures.add();
        const MonoTime now = seams_.executor.now();
        store_failed_.emplace(now, stored.error());
        const bool refused = stored.is(ErrorCode::exhausted) || stored.is(ErrorCode::unsupported);
        log::warn("log", "put_failed object={} error={}", object->name, stored.error());
        if (refused && now - begin > settings_.store_failure_patience) {
            fail_from(object, stored.error());
            co_return;
        }
        if (now - object->received > entry_age_max) {
            fail_from(object, deadline_exceeded("object {} could not be stored", object->name));
            co_return;
        }
        if (co_await scope_.stop().sleep_until(now + backoff)) {
            fail_from(object, cancelled("stopped before object {} was stored", object->name));
            co_return;
        }
        backoff = std::min(backoff * 2, settings_.backoff_max);
    }
}

void Flusher::fail_from(const ObjectPtr& object, const Error& error) {
    // Those behind it would overtake it, so they fail as well; none of them was ever published.
    for (auto it = std::ranges::find(queue_, object); it != queue_.end(); ++it) {
        for (const SectionPtr& section : (*it)->sections) {
            metrics_.abandoned.add();
            section->fail(error);
        }
        (*it)->sections.clear();
        (*it)->dropped = error;
    }
}

rt::Task<void> Flusher::publish_loop() {
    while (!scope_.stopping() || !queue_.empty()) {
        Stored stored = take_stored();
        if (stored.sections.empty()) {
            settled_ = taken_;
            if (scope_.stopping() && queue_.empty()) {
                break;
            }
            co_await progress_.wait(
                scope_.stopping() ? seams_.executor.now() + 100ms : no_deadline
            );
            continue;
        }
        publishing_ = stored.sections.size();
        publishing_oldest_ = stored.received;
        co_await publish(std::move(stored.sections));
        publishing_ = 0;
        publishing_oldest_.reset();
        settled_ = taken_;
        answered_ = {
            .at = seams_.executor.now(),
            .took = seams_.executor.now() - stored.sealed,
            .outstanding = stored.bytes + seams_.open.bytes(),
        };
        progress_.notify_all();
        work_.notify_all();
    }
}

Flusher::Stored Flusher::take_stored() {
    Stored all{.sections = {}, .sealed = MonoTime::max(), .received = MonoTime::max()};
    std::uint64_t put_bytes = 0;
    while (!queue_.empty()) {
        Object& front = *queue_.front();
        if (!front.stored && !front.dropped.has_value()) {
            break;
        }
        std::uint64_t more = 0;
        for (const SectionPtr& section : front.sections) {
            more += section->index_value.size() + index::key_bytes;
        }
        if (!all.sections.empty() &&
            (all.sections.size() + front.sections.size() > settings_.publish_puts_max ||
             put_bytes + more > settings_.publish_bytes_max)) {
            break;
        }
        put_bytes += more;
        all.sealed = std::min(all.sealed, front.sealed);
        all.received = std::min(all.received, front.received);
        for (SectionPtr& section : front.sections) {
            all.bytes += section->bytes;
            all.sections.push_back(std::move(section));
        }
        queue_.pop_front();
        ++taken_;
    }
    return all;
}

rt::Task<void> Flusher::publish(std::vector<SectionPtr> sections) {
    const MonoTime begin = seams_.executor.now();
    Duration backoff = settings_.backoff_min;
    while (!sections.empty()) {
        for (const SectionPtr& section : sections) {
            if (!section->writer.has_value()) {
                co_await number(*section);
            }
        }
        Written written = co_await write(std::move(sections));
        sections = co_await settle(std::move(written.answers));
        metrics_.resends.add(sections.size());
        if (sections.empty() || !written.error.has_value()) {
            continue;
        }
        const MonoTime now = seams_.executor.now();
        if (written.error->code == ErrorCode::exhausted &&
            now - begin > settings_.store_failure_patience) {
            give_up(sections, *written.error);
        } else if (co_await scope_.stop().sleep_until(now + backoff)) {
            give_up(sections, cancelled("stopped before the entries were published"));
        }
        backoff = std::min(backoff * 2, settings_.backoff_max);
    }
    const std::chrono::duration<double> took = seams_.executor.now() - begin;
    metrics_.latency.observe(took.count());
}

void Flusher::give_up(std::vector<SectionPtr>& sections, const Error& error) {
    for (const SectionPtr& section : sections) {
        metrics_.abandoned.add();
        section->fail(
            section->in_doubt ? outcome_unknown("log {}: {}", section->log, error) : error
        );
    }
    drop_given_up(sections);
}

rt::Task<void> Flusher::number(Section& section) {
    Writer& writer = writers_[section.log];
    const WallTime now = seams_.executor.clock().wall_now();
    const bool rested = section.object_date > writer.last_date + writer_rest_max;
    if (writer.next.writer == 0 || rested) {
        writer.next.writer = seams_.executor.rng().next() | 1;
        writer.next.number = 0;
        Shard& home = *seams_.shards[section.home];
        const WallTime newest = co_await rt::submit(
            home.executor(), home.adopt_writer(section.log, writer.next.writer)
        );
        writer.next.birth = std::max(now, newest);
    }
    section.writer = writer.next;
    ++writer.next.number;
    writer.last_date = std::max(writer.last_date, section.object_date);
}

rt::Task<Flusher::Written> Flusher::write(std::vector<SectionPtr> sections) {
    std::map<meta::ShardId, meta::ShardBatch> batches;
    std::vector<std::pair<meta::ShardId, std::size_t>> places;
    places.reserve(sections.size());
    for (const SectionPtr& section : sections) {
        const std::string key = index::partition_key(section->log);
        const meta::ShardId shard = seams_.metadata.shard_of(key);
        meta::ShardBatch& batch = batches[shard];
        places.emplace_back(shard, batch.puts.size());
        batch.puts.push_back({
            .key = index::sequence_prefix(section->log),
            .value = section->index_value,
            .expect = meta::Expect::any(),
            .partition_key = key,
            .sequence_deltas = {static_cast<std::uint64_t>(section->records), section->bytes},
            .session = {},
            .identity = section->writer->to_identity(),
        });
    }
    std::map<meta::ShardId, rt::Future<Result<meta::ShardBatchDone>>> asked;
    for (auto& [shard, batch] : batches) {
        asked.emplace(shard, seams_.metadata.write(shard, std::move(batch)));
    }
    Written written;
    std::map<meta::ShardId, Result<meta::ShardBatchDone>> done;
    for (auto& [shard, future] : asked) {
        const auto answer = done.emplace(shard, co_await std::move(future)).first;
        metrics_.publishes.add();
        if (answer->second.ok()) {
            metrics_.published.note(seams_.executor.now());
        } else {
            // Whatever the error says, looking costs one scan and is never wrong.
            metrics_.publish_unknown.add();
            written.error = answer->second.error();
            log::warn("log", "publish_unknown shard={} error={}", shard.v, *written.error);
        }
    }
    written.answers.reserve(sections.size());
    for (std::size_t i = 0; i < sections.size(); ++i) {
        Result<meta::ShardBatchDone>& batch = done.at(places[i].first);
        PutAnswer answer{.section = std::move(sections[i]), .put = {}};
        if (batch.ok()) {
            answer.put.emplace(std::move(batch->puts[places[i].second]));
        } else {
            answer.section->in_doubt = answer.section->in_doubt || !was_refused(batch.error());
        }
        written.answers.push_back(std::move(answer));
    }
    co_return written;
}

rt::Task<std::vector<SectionPtr>> Flusher::settle(std::vector<PutAnswer> answers) {
    std::vector<std::vector<PutAnswer>> by_shard(seams_.shards.size());
    for (PutAnswer& answer : answers) {
        by_shard[answer.section->home].push_back(std::move(answer));
    }
    std::vector<rt::Future<std::vector<SettleOutcome>>> parts;
    for (std::size_t i = 0; i < by_shard.size(); ++i) {
        if (!by_shard[i].empty()) {
            Shard& shard = *seams_.shards[i];
            parts.push_back(rt::submit(shard.executor(), shard.settle(std::move(by_shard[i]))));
        }
    }
    std::vector<SectionPtr> again;
    for (auto& part : parts) {
        for (SettleOutcome& outcome : co_await part) {
            if (outcome.resend != nullptr) {
                again.push_back(co_await prepare_resend(std::move(outcome)));
            }
        }
    }
    drop_given_up(again);
    co_return again;
}

void Flusher::drop_given_up(std::vector<SectionPtr>& sections) {
    // A number that is given up stops its writer for good: what follows it gets a new one.
    std::vector<LogId> stopped;
    std::erase_if(sections, [&](const SectionPtr& section) {
        if (section->entries.empty()) {
            stopped.push_back(section->log);
            writers_.erase(section->log);
        }
        return section->entries.empty();
    });
    for (const SectionPtr& section : sections) {
        if (std::ranges::find(stopped, section->log) != stopped.end()) {
            section->writer.reset();
        }
    }
}

rt::Task<SectionPtr> Flusher::prepare_resend(SettleOutcome outcome) {
    if (outcome.new_writer) {
        // None of the dead writer's numbers can become valid any more, and this node has folded
        // everything since they were sent: the entries get numbers of a new one.
        Writer& writer = writers_[outcome.resend->log];
        if (writer.next.writer == outcome.resend->writer->writer) {
            writer.next.writer = 0;
        }
        outcome.resend->writer.reset();
    }
    if (!outcome.redate.has_value()) {
        co_return std::move(outcome.resend);
    }
    std::vector<SectionPtr> alone;
    alone.push_back(std::move(outcome.resend));
    alone.front()->max_created = std::max(alone.front()->max_created, *outcome.redate);
    const ObjectPtr object = build(std::move(alone), *outcome.redate);
    SectionPtr& section = object->sections.front();
    if (seams_.executor.now() - object->received <= entry_age_max) {
        co_await upload(object);
    }
    if (!object->stored) {
        // Every copy under the old date is void for good, so these entries never count.
        section->fail(deadline_exceeded("log {}: entries grew too old to publish", section->log));
    }
    co_return std::move(section);
}

rt::Task<bool> Flusher::settle_begun(Deadline deadline) {
    const std::uint64_t begun = taken_ + queue_.size();
    while (settled_ < begun && seams_.executor.now() < deadline) {
        co_await progress_.wait(deadline);
    }
    co_return settled_ >= begun;
}

rt::Task<void> Flusher::close(Deadline deadline) {
    const auto busy = [this] {
        return std::ranges::find(dirty_, true) != dirty_.end() || !queue_.empty() ||
               publishing_ > 0 || slots_.used() > 0;
    };
    while (busy() && seams_.executor.now() < deadline) {
        co_await progress_.wait(std::min(deadline, seams_.executor.now() + 50ms));
    }
    scope_.stop().request();
    work_.notify_all();
    progress_.notify_all();
    for (Shard* shard : seams_.shards) {
        shard->executor().post([shard] { shard->stop_waiting(); });
    }
    co_await scope_.close();
}

}  // namespace lakestream::log
