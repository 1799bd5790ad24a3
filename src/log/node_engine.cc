// SPDX-License-Identifier: Apache-2.0
// Routing between callers and home shards.
#include "log/node_engine.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "index/key.h"
#include "log/start.h"

namespace lakestream::log {

namespace {

constexpr Duration deadline_tick = 100ms;
constexpr std::size_t lanes_max = 8;  // requests of one call that a shard serves at once

/// Gathers the answers of several shards to one call, each for some of its requests.
template <class Answer>
struct Gathered {
    std::mutex mutex;
    std::vector<std::optional<Answer>> answers;
    std::size_t open = 0;
    rt::Promise<std::vector<Answer>> promise;

    void complete(std::size_t place, Answer answer) {
        const std::scoped_lock lock(mutex);
        answers[place].emplace(std::move(answer));
        if (--open == 0) {
            std::vector<Answer> all;
            all.reserve(answers.size());
            for (std::optional<Answer>& each : answers) {
                all.push_back(std::move(*each));
            }
            promise.set(std::move(all));
        }
    }
};

template <class Answer, class Request>
using Serve = rt::Task<Answer> (Shard::*)(Request);

/// One shard's requests of a call, taken one after the other by a few lanes.
template <class Request>
struct Part {
    std::vector<std::size_t> places;
    std::vector<Request> requests;
    std::size_t next = 0;
};

template <class Answer, class Request>
rt::Task<bool> serve_lane(
    Shard& shard,
    Serve<Answer, Request> serve,
    std::shared_ptr<Gathered<Answer>> gathered,
    std::shared_ptr<Part<Request>> part
) {
    while (part->next < part->requests.size()) {
        const std::size_t i = part->next++;
        gathered->complete(part->places[i], co_await (shard.*serve)(std::move(part->requests[i])));
    }
    co_return true;
}

LogId log_of(LogId log) {
    return log;
}
LogId log_of(const ReadRequest& request) {
    return request.log;
}

}  // namespace

/// Calls that have not been answered, walked a few times a second while there are any.
struct NodeEngine::DeadlineWatch {
    std::mutex mutex;
    std::vector<std::shared_ptr<AppendCall>> calls;
    bool walking = false;
};

NodeEngine::NodeEngine(EngineSettings settings, Seams seams)
    : settings_(settings),
      seams_(std::move(seams)),
      append_memory_("append", settings.append_bytes_max),
      section_reads_(settings.section_read_bytes_max),
      deadlines_(std::make_unique<DeadlineWatch>()),
      registrations_(seams_.metrics),
      scope_(*seams_.executors.front()) {
    const std::size_t count = seams_.executors.size();
    std::vector<Shard*> shards;
    for (std::size_t i = 0; i < count; ++i) {
        readers_.push_back(std::make_unique<SectionReader>(
            SectionReader::Seams{seams_.objects, section_reads_},
            settings_,
            settings_.section_cache_bytes_max / count
        ));
        shards_.push_back(std::make_unique<Shard>(
            i,
            settings_,
            Shard::Seams{
                .executor = *seams_.executors[i],
                .metadata = seams_.metadata,
                .sections = *readers_[i],
                .compacted = seams_.compacted,
                .append_memory = append_memory_,
                .tail_bytes_max = settings_.tail_cache_bytes_max / count,
                .open = open_,
                .dirty = [this, i] { flusher_->dirty(i); },
            }
        ));
        shards.push_back(shards_.back().get());
    }
    flusher_ = std::make_unique<Flusher>(
        settings_,
        Flusher::Seams{
            .executor = *seams_.executors.front(),
            .objects = seams_.objects,
            .metadata = seams_.metadata,
            .shards = std::move(shards),
            .open = open_,
        }
    );
    register_flusher();
    register_shards();
    register_memory();
}

NodeEngine::~NodeEngine() = default;

std::size_t NodeEngine::home(LogId log) const noexcept {
    // Fibonacci hashing: ids of one topic are near each other.
    const auto mixed = static_cast<std::uint64_t>(log.v) * 0x9e3779b97f4a7c15;
    return static_cast<std::size_t>(mixed >> 32) % shards_.size();
}

rt::Task<Status> NodeEngine::start() {
    flusher_->start();
    if (settings_.shared_metadata) {
        subscription_ = LKS_CO_TRY(co_await seams_.metadata.subscribe(
            *seams_.executors.front(),
            {.changed = [this](const meta::ChangeBatch& batch) { note_changes(batch); },
             .gap = [this](meta::ShardId) { note_gap(); }}
        ));
    }
    co_return Status();
}

rt::Task<void> NodeEngine::close(Deadline deadline) {
    subscription_.reset();
    co_await flusher_->close(deadline);
    for (const auto& shard : shards_) {
        co_await rt::submit(shard->executor(), [](Shard& closing) -> rt::Task<bool> {
            co_await closing.close();
            co_return true;
        }(*shard));
    }
    {
        const std::scoped_lock lock(deadlines_->mutex);
        for (const auto& call : deadlines_->calls) {
            call->expire();
        }
    }
    co_await scope_.close();
}

void NodeEngine::abandon() {
    subscription_.reset();
    scope_.abandon();
    flusher_->abandon();
    for (const auto& shard : shards_) {
        shard->abandon();
    }
}

rt::Future<std::vector<Result<Appended>>> NodeEngine::append(
    std::vector<AppendRequest> requests, Deadline deadline
) {
    if (requests.empty()) {
        return rt::Future<std::vector<Result<Appended>>>::ready({});
    }
    auto call = std::make_shared<AppendCall>(requests.size(), deadline);
    auto future = call->future();
    std::vector<std::vector<std::pair<std::size_t, AppendRequest>>> parts(shards_.size());
    for (std::size_t i = 0; i < requests.size(); ++i) {
        parts[home(requests[i].log)].emplace_back(i, std::move(requests[i]));
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (!parts[i].empty()) {
            shards_[i]->executor().post([shard = shards_[i].get(),
                                         part = std::move(parts[i]),
                                         call]() mutable { shard->append(std::move(part), call); });
        }
    }
    const std::scoped_lock lock(deadlines_->mutex);
    deadlines_->calls.push_back(std::move(call));
    if (!std::exchange(deadlines_->walking, true)) {
        seams_.executors.front()->post([this] { scope_.spawn(watch_deadlines()); });
    }
    return future;
}

rt::Task<void> NodeEngine::watch_deadlines() {
    while (true) {
        const MonoTime now = scope_.executor().now();
        if (co_await scope_.stop().sleep_until(now + deadline_tick)) {
            co_return;
        }
        const std::scoped_lock lock(deadlines_->mutex);
        std::erase_if(deadlines_->calls, [&](const std::shared_ptr<AppendCall>& call) {
            if (call->deadline() <= now) {
                call->expire();
            }
            return call->done();
        });
        if (deadlines_->calls.empty()) {
            deadlines_->walking = false;  // an idle node has no timers
            co_return;
        }
    }
}

namespace {

/// Ask each request's home shard; the answers come back in the order of the requests.
template <class Answer, class Request>
rt::Future<std::vector<Answer>> scatter(
    const NodeEngine& engine,
    const std::vector<std::unique_ptr<Shard>>& shards,
    std::vector<Request> requests,
    Serve<Answer, Request> serve
) {
    if (requests.empty()) {
        return rt::Future<std::vector<Answer>>::ready({});
    }
    auto gathered = std::make_shared<Gathered<Answer>>();
    gathered->answers.resize(requests.size());
    gathered->open = requests.size();
    auto future = gathered->promise.future();
    std::vector<std::shared_ptr<Part<Request>>> parts(shards.size());  // shared by its lanes
    for (std::size_t i = 0; i < requests.size(); ++i) {
        auto& part = parts[engine.home(log_of(requests[i]))];
        if (part == nullptr) {
            part = std::make_shared<Part<Request>>();
        }
        part->places.push_back(i);
        part->requests.push_back(std::move(requests[i]));
    }
    for (std::size_t i = 0; i < shards.size(); ++i) {
        const std::size_t count = parts[i] == nullptr ? 0 : parts[i]->requests.size();
        for (std::size_t lane = 0; lane < std::min(count, lanes_max); ++lane) {
            static_cast<void>(
                rt::submit(shards[i]->executor(), serve_lane(*shards[i], serve, gathered, parts[i]))
            );
        }
    }
    return future;
}

}  // namespace

rt::Future<std::vector<Result<ReadBatch>>> NodeEngine::read(std::vector<ReadRequest> requests) {
    return scatter<Result<ReadBatch>>(*this, shards_, std::move(requests), &Shard::read);
}

rt::Future<std::vector<Result<LogBounds>>> NodeEngine::bounds(std::vector<LogId> logs) {
    return scatter<Result<LogBounds>>(*this, shards_, std::move(logs), &Shard::bounds);
}

rt::Future<std::vector<Result<std::int64_t>>> NodeEngine::sizes(std::vector<LogId> logs) {
    return scatter<Result<std::int64_t>>(*this, shards_, std::move(logs), &Shard::size);
}

rt::Task<Result<std::vector<ActiveProducer>>> NodeEngine::producers(LogId log) {
    Shard& shard = *shards_[home(log)];
    co_return co_await rt::submit(shard.executor(), shard.producers(log));
}

rt::Task<bool> NodeEngine::wait_append(std::vector<LogPosition> positions, Deadline deadline) {
    rt::Executor& executor = co_await rt::this_executor();
    auto waiter = std::make_shared<AppendWaiter>();
    rt::Future<bool> fired = waiter->promise.future();
    const rt::TimerId timer = executor.call_at(deadline, [waiter] { waiter->fire(false); });
    for (const LogPosition& position : positions) {
        Shard* shard = shards_[home(position.log)].get();
        shard->executor().post([shard, position, waiter] { shard->watch(position, waiter); });
    }
    const bool appended = co_await std::move(fired);
    executor.cancel(timer);
    co_return appended;
}

rt::Task<Result<std::optional<TimestampHint>>> NodeEngine::find_timestamp(
    LogId log, std::int64_t timestamp, Offset from
) {
    Shard& shard = *shards_[home(log)];
    co_return co_await rt::submit(shard.executor(), shard.find_timestamp(log, from, timestamp));
}

rt::Task<Result<std::vector<TimestampHint>>> NodeEngine::find_max_timestamp(LogId log) {
    Shard& shard = *shards_[home(log)];
    co_return co_await rt::submit(shard.executor(), shard.find_max_timestamp(log));
}

rt::Task<Result<LogBounds>> NodeEngine::trim(LogId log, std::optional<Offset> to) {
    Shard& shard = *shards_[home(log)];
    co_return co_await rt::submit(shard.executor(), shard.trim(log, to));
}

rt::Task<void> NodeEngine::fence(LogId log) {
    Shard& shard = *shards_[home(log)];
    co_await rt::submit(shard.executor(), [](Shard& fencing, LogId id) -> rt::Task<bool> {
        co_await fencing.fence(id);
        co_return true;
    }(shard, log));
}

rt::Task<std::vector<LogId>> NodeEngine::take_grown() {
    std::vector<LogId> all;
    for (const auto& shard : shards_) {
        const auto grown = co_await rt::submit(shard->executor(), shard->take_grown());
        all.insert(all.end(), grown.begin(), grown.end());
    }
    co_return all;
}

rt::Task<Result<std::vector<WalkRecord>>> NodeEngine::walk(
    LogId log, Offset from, std::size_t limit
) {
    Shard& shard = *shards_[home(log)];
    co_return co_await rt::submit(shard.executor(), shard.walk(log, from, limit));
}

rt::Task<Result<Checkpoint>> NodeEngine::checkpoint(LogId log, OffsetRange next) {
    Shard& shard = *shards_[home(log)];
    co_return co_await rt::submit(shard.executor(), shard.checkpoint(log, next));
}

rt::Task<bool> NodeEngine::settle(Deadline deadline) {
    if (settings_.shared_metadata) {
        co_return false;
    }
    co_return co_await rt::submit(shards_.front()->executor(), flusher_->settle_begun(deadline));
}

void NodeEngine::note_changes(const meta::ChangeBatch& batch) {
    for (const meta::Change& change : batch.changes) {
        if (const auto log = trimmed_log(change.key)) {
            Shard* shard = shards_[home(*log)].get();
            shard->executor().post([shard, log = *log] { shard->start_changed(log); });
            continue;
        }
        if (change.kind != meta::ChangeKind::created) {
            continue;
        }
        if (const auto key = index::parse_key(change.key); key.ok()) {
            Shard* shard = shards_[home(key->log)].get();
            shard->executor().post([shard, log = key->log, end = key->end] {
                shard->changed(log, end);
            });
        }
    }
}

void NodeEngine::note_gap() {
    for (const auto& shard : shards_) {
        shard->executor().post([shard = shard.get()] { shard->changes_lost(); });
    }
}

}  // namespace lakestream::log
