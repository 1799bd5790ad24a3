// SPDX-License-Identifier: Apache-2.0
// The service's shards, and a client that asks them.
#include "meta/memory_store.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/result.h"
#include "meta/key_order.h"
#include "meta/shard_router.h"
#include "meta/validation.h"

namespace lakestream::meta {

namespace {

constexpr Duration heartbeat_min = 250ms;
constexpr int heartbeats_per_timeout = 5;

template <class T>
rt::Future<T> answer(rt::Executor& executor, T value) {
    rt::Promise<T> promise;
    auto future = promise.future();
    executor.post([promise = std::move(promise), value = std::move(value)]() mutable {
        promise.set(std::move(value));
    });
    return future;
}

}  // namespace

class MemoryMetadata::Records final : public ShardRecords {
  public:
    explicit Records(RecordMap& map) : map_(map) {}

    std::optional<RecordHead> head(std::string_view key) override {
        const auto found = map_.find(key);
        if (found == map_.end()) {
            return std::nullopt;
        }
        const Version& version = found->second.version;
        return RecordHead{
            .id = version.id,
            .modifications = version.modifications,
            .created = version.created,
            .session = version.session,
        };
    }

    std::optional<std::string> last_below(std::string_view key) override {
        const auto after = map_.lower_bound(key);
        return after == map_.begin() ? std::nullopt : std::optional(std::prev(after)->first);
    }

    void put(std::string key, StoredRecord record) override {
        map_.insert_or_assign(std::move(key), std::move(record));
    }

    void erase(std::string_view key) override {
        if (const auto found = map_.find(key); found != map_.end()) {
            map_.erase(found);
        }
    }

    void erase_range(std::string_view begin, std::string_view end) override {
        map_.erase(map_.lower_bound(begin), map_.lower_bound(end));
    }

  private:
    RecordMap& map_;
};

MemoryMetadata::MemoryMetadata(rt::Executor& executor, MemoryOptions options)
    : executor_(executor), options_(options) {
    LKS_ASSERT(options_.shards > 0 && options_.scan_page_records > 0);
    for (const ShardId shard : shards()) {
        shards_.push_back({.records = {}, .state = ShardState(shard, options_.key_order)});
    }
}

ShardId MemoryMetadata::shard_of(std::string_view partition_key) const noexcept {
    return options_.shards == 1 ? ShardId(0) : route(partition_key, options_.shards);
}

std::vector<ShardId> MemoryMetadata::shards() const {
    std::vector<ShardId> all(options_.shards);
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i] = ShardId(static_cast<std::int64_t>(i));
    }
    return all;
}

Result<ShardBatchDone> MemoryMetadata::write(ShardId shard, ShardBatch batch) {
    LKS_TRY(validate(batch));
    if (shard < ShardId(0) || shard.v >= static_cast<std::int64_t>(options_.shards)) {
        return invalid_argument("there is no metadata shard {}", shard.v);
    }
    for (const Put& put : batch.puts) {
        if (shard_of(put.partition_key.value_or(put.key)) != shard) {
            return invalid_argument("'{}' does not live on metadata shard {}", put.key, shard.v);
        }
    }
    const std::scoped_lock lock(mutex_);
    Shard& target = shards_[static_cast<std::size_t>(shard.v)];
    Records records(target.records);
    auto written = target.state.write(records, std::move(batch), executor_.clock().wall_now());
    feed_.publish(std::move(written.changes));
    return std::move(written.done);
}

std::vector<const MemoryMetadata::Shard*> MemoryMetadata::asked(
    const std::optional<std::string>& partition_key
) const {
    std::vector<const Shard*> all;
    for (std::size_t i = 0; i < shards_.size(); ++i) {
        if (!partition_key.has_value() ||
            shard_of(*partition_key) == ShardId(static_cast<std::int64_t>(i))) {
            all.push_back(&shards_[i]);
        }
    }
    return all;
}

std::optional<MemoryMetadata::RecordMap::const_iterator> MemoryMetadata::look_up(
    const Shard& shard, Comparison comparison, std::string_view encoded
) const {
    const RecordMap& map = shard.records;
    auto at = map.lower_bound(encoded);  // the lowest key >= the wanted one
    const bool exact = at != map.end() && at->first == encoded;
    switch (comparison) {
        case Comparison::equal: return exact ? std::optional(at) : std::nullopt;
        case Comparison::ceiling: break;
        case Comparison::higher:
            if (exact) {
                ++at;
            }
            break;
        case Comparison::floor:
            if (exact) {
                return at;
            }
            [[fallthrough]];
        case Comparison::lower:
            return at == map.begin() ? std::nullopt : std::optional(std::prev(at));
    }
    return at == map.end() ? std::nullopt : std::optional(at);
}

Record MemoryMetadata::record(RecordMap::const_iterator found) const {
    auto key = decode_key(options_.key_order, found->first);
    LKS_ASSERT(key.ok());
    return {
        .key = std::move(*key),
        .value = found->second.value,
        .version = found->second.version,
    };
}

Result<Record> MemoryMetadata::get(const Get& request) const {
    LKS_TRY(validate(request));
    const std::string encoded = encode_key(options_.key_order, request.key);
    const bool exact = request.comparison == Comparison::equal;
    const bool lowest =
        request.comparison == Comparison::ceiling || request.comparison == Comparison::higher;
    const std::scoped_lock lock(mutex_);
    std::optional<RecordMap::const_iterator> best;
    for (const Shard* shard :
         asked(exact ? request.partition_key.value_or(request.key) : request.partition_key)) {
        const auto found = look_up(*shard, request.comparison, encoded);
        if (found.has_value() &&
            (!best.has_value() || ((*found)->first < (*best)->first) == lowest)) {
            best = found;
        }
    }
    if (!best.has_value()) {
        return not_found("no record for '{}'", request.key);
    }
    return record(*best);
}

std::vector<MemoryMetadata::RecordMap::const_iterator> MemoryMetadata::matching(const Range& range
) const {
    const std::string begin = encode_key(options_.key_order, range.begin);
    const std::string end = encode_key(options_.key_order, range.end);
    std::vector<RecordMap::const_iterator> all;
    for (const Shard* shard : asked(range.partition_key)) {
        const RecordMap& map = shard->records;
        for (auto at = range.begin.empty() ? map.begin() : map.lower_bound(begin);
             at != map.end() && (range.end.empty() || at->first < end);
             ++at) {
            all.push_back(at);
        }
    }
    std::ranges::sort(all, {}, [](const auto& at) -> const auto& { return at->first; });
    return all;
}

Result<std::vector<Record>> MemoryMetadata::scan(const Range& range) const {
    LKS_TRY(validate(range));
    const std::scoped_lock lock(mutex_);
    std::vector<Record> records;
    for (const auto& found : matching(range)) {
        records.push_back(record(found));
    }
    return records;
}

Result<std::vector<std::string>> MemoryMetadata::list(const Range& range) const {
    LKS_TRY(validate(range));
    const std::scoped_lock lock(mutex_);
    std::vector<std::string> keys;
    for (const auto& found : matching(range)) {
        keys.push_back(record(found).key);
    }
    return keys;
}

// A session spans all shards under one id: the log offset of its creation on the first one.
Result<SessionId> MemoryMetadata::open_session(Duration timeout, std::string identity) {
    LKS_TRY(validate_session_timeout(timeout));
    const std::scoped_lock lock(mutex_);
    std::optional<SessionId> id;
    for (Shard& shard : shards_) {
        Records records(shard.records);
        auto opened = shard.state.open_session(records, timeout, identity, id);
        id = opened.id;
        feed_.publish(std::move(opened.changes));
    }
    deadlines_[*id] = executor_.now() + timeout;
    arm_expiry(*id, deadlines_[*id]);
    return *id;
}

Status MemoryMetadata::keep_alive(SessionId session) {
    const std::scoped_lock lock(mutex_);
    const auto found = deadlines_.find(session);
    if (found == deadlines_.end()) {
        return not_found("session {} does not exist", session.v);
    }
    found->second = executor_.now() + shards_[0].state.sessions().at(session).timeout;
    return {};
}

Status MemoryMetadata::close_session(SessionId session) {
    const std::scoped_lock lock(mutex_);
    for (Shard& shard : shards_) {
        Records records(shard.records);
        feed_.publish(LKS_TRY(shard.state.close_session(records, session)));
    }
    deadlines_.erase(session);
    return {};
}

void MemoryMetadata::arm_expiry(SessionId session, MonoTime when) {
    executor_.post([this, session, when, alive = std::weak_ptr(alive_)] {
        if (alive.expired()) {
            return;
        }
        executor_.call_at(when, [this, session, alive] {
            if (!alive.expired()) {
                expire_if_due(session);
            }
        });
    });
}

void MemoryMetadata::expire_if_due(SessionId session) {
    {
        const std::scoped_lock lock(mutex_);
        const auto found = deadlines_.find(session);
        if (found == deadlines_.end()) {
            return;
        }
        if (found->second > executor_.now()) {
            arm_expiry(session, found->second);
            return;
        }
    }
    static_cast<void>(close_session(session));
}

std::unique_ptr<Subscription> MemoryMetadata::subscribe(
    rt::Executor& executor, SubscribeHandler handler
) {
    const std::scoped_lock lock(mutex_);
    return feed_.subscribe(executor, std::move(handler));
}

namespace {

class MemoryScan final : public Scan {
  public:
    MemoryScan(const MemoryMetadata& service, rt::Executor& executor, Range range)
        : service_(service), executor_(executor), range_(std::move(range)) {}

    rt::Future<Result<std::vector<Record>>> next() override {
        if (!snapshot_.has_value()) {
            snapshot_ = service_.scan(range_);
        }
        if (!snapshot_->ok()) {
            return answer(executor_, *snapshot_);
        }
        const auto begin = (*snapshot_)->begin() + static_cast<std::ptrdiff_t>(delivered_);
        const std::size_t count =
            std::min(service_.options().scan_page_records, (*snapshot_)->size() - delivered_);
        delivered_ += count;
        std::vector<Record> page(
            std::make_move_iterator(begin),
            std::make_move_iterator(begin + static_cast<std::ptrdiff_t>(count))
        );
        return answer(executor_, Result<std::vector<Record>>(std::move(page)));
    }

  private:
    const MemoryMetadata& service_;
    rt::Executor& executor_;
    Range range_;
    std::optional<Result<std::vector<Record>>> snapshot_;
    std::size_t delivered_ = 0;
};

}  // namespace

rt::Future<Result<ShardBatchDone>> MemoryStore::write(ShardId shard, ShardBatch batch) {
    return answer(executor_, service_.write(shard, std::move(batch)));
}

rt::Future<Result<Record>> MemoryStore::get(Get request) {
    return answer(executor_, service_.get(request));
}

std::unique_ptr<Scan> MemoryStore::scan(Range range) {
    return std::make_unique<MemoryScan>(service_, executor_, std::move(range));
}

rt::Future<Result<std::vector<std::string>>> MemoryStore::list(Range range) {
    return answer(executor_, service_.list(range));
}

rt::Future<Result<SessionId>> MemoryStore::open_session(
    Duration timeout, std::string identity, std::move_only_function<void()> on_lost
) {
    auto opened = service_.open_session(timeout, std::move(identity));
    if (opened.ok()) {
        {
            const std::scoped_lock lock(mutex_);
            sessions_.emplace(*opened, std::move(on_lost));
        }
        const Duration period = std::max(heartbeat_min, timeout / heartbeats_per_timeout);
        executor_.post([this, id = *opened, period, alive = std::weak_ptr(alive_)] {
            if (!alive.expired()) {
                schedule_heartbeat(id, period);
            }
        });
    }
    return answer(executor_, std::move(opened));
}

void MemoryStore::schedule_heartbeat(SessionId session, Duration period) {
    executor_.call_at(
        executor_.now() + period,
        [this, session, period, alive = std::weak_ptr(alive_)] {
            if (!alive.expired()) {
                heartbeat(session, period);
            }
        }
    );
}

void MemoryStore::heartbeat(SessionId session, Duration period) {
    std::move_only_function<void()> on_lost;
    {
        const std::scoped_lock lock(mutex_);
        const auto found = sessions_.find(session);
        if (found == sessions_.end()) {
            return;
        }
        if (service_.keep_alive(session).ok()) {
            schedule_heartbeat(session, period);
            return;
        }
        on_lost = std::move(found->second);
        sessions_.erase(found);
    }
    if (on_lost) {
        on_lost();
    }
}

rt::Future<Status> MemoryStore::close_session(SessionId session) {
    {
        const std::scoped_lock lock(mutex_);
        sessions_.erase(session);
    }
    return answer(executor_, service_.close_session(session));
}

rt::Future<Result<std::unique_ptr<Subscription>>> MemoryStore::subscribe(
    rt::Executor& executor, SubscribeHandler handler
) {
    return answer(
        executor_,
        Result<std::unique_ptr<Subscription>>(service_.subscribe(executor, std::move(handler)))
    );
}

}  // namespace lakestream::meta
