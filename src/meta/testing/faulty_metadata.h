// SPDX-License-Identifier: Apache-2.0
// FaultyMetadata: a node's way to its metadata store, with everything that can go wrong on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "meta/metadata_store.h"
#include "rt/executor.h"
#include "rt/rng.h"
#include "rt/scope.h"

namespace lakestream::meta::testing {

/// `times` in `of`, on average.
struct Ratio {
    std::uint64_t times = 0;
    std::uint64_t of = 1;
};

/// All off by default.
struct MetadataFaults {
    // Writes. The first is honest; after the others the caller is told `outcome_unknown`.
    Ratio refuse;       // not applied, and said so: unavailable, throttled or deadline_exceeded
    Ratio drop;         // not applied
    Ratio lose_answer;  // applied
    Ratio apply_late;   // applied up to `late_max` after the caller was told, behind newer writes
    Duration late_max = 5s;

    Ratio fail_read;  // a get, list or page of a scan is unavailable
    Ratio cut_scan;   // a scan ends early, as a stale leader's does

    Ratio lose_session;  // of those opened: it ends within `session_life_max`, its owner alive
    Duration session_life_max = 30s;
    Duration loss_notice_max = 5s;  // how long the owner does not know

    // Changes are delivered in order even so, but for repeats.
    Ratio delay_change;
    Duration change_delay_max = 2s;
    Ratio repeat_change;
    Ratio gap;  // the batch is lost, and the gap is told

    // Of every request and every answer. Writes to a shard still arrive in order.
    Duration request_delay_max{0};
    Duration answer_delay_max{0};
};

struct FaultCounts {
    std::uint64_t refused = 0;
    std::uint64_t dropped = 0;
    std::uint64_t answers_lost = 0;
    std::uint64_t applied_late = 0;
    std::uint64_t reads_failed = 0;
    std::uint64_t scans_cut = 0;
    std::uint64_t sessions_lost = 0;
    std::uint64_t changes_delayed = 0;
    std::uint64_t changes_repeated = 0;
    std::uint64_t gaps = 0;
};

/// Stricter than a real store, and seeded: same seed and calls, same faults. It belongs to the
/// world, not to the node: what is on its way survives the node's crash. It, `inner` and both
/// executors live until the loop has run for the last time.
class FaultyMetadata final : public MetadataStore {
  public:
    /// `node` is where the callers run, `network` an executor that no crash stops.
    FaultyMetadata(
        MetadataStore& inner,
        rt::Executor& node,
        rt::Executor& network,
        MetadataFaults faults,
        std::uint64_t seed
    );
    ~FaultyMetadata() override;
    FaultyMetadata(const FaultyMetadata&) = delete;
    FaultyMetadata& operator=(const FaultyMetadata&) = delete;

    void set_faults(MetadataFaults faults) { faults_ = faults; }
    /// No new faults. What is on its way still arrives.
    void heal() {
        faults_ = {};
        full_ = false;
    }
    /// A full disk: while it lasts nothing is applied, and writers are told `exhausted`.
    void set_full(bool full) { full_ = full; }
    /// Whether nothing is on its way.
    bool quiet() const { return scope_.size() == 0; }
    const FaultCounts& counts() const noexcept { return counts_; }
    /// End a session now; its owner learns it later.
    void lose_session(SessionId session);

    KeyOrder key_order() const override { return inner_.key_order(); }
    ShardId shard_of(std::string_view key) const override { return inner_.shard_of(key); }
    std::vector<ShardId> shards() const override { return inner_.shards(); }

    rt::Future<Result<ShardBatchDone>> write(ShardId shard, ShardBatch batch) override;
    rt::Future<Result<Record>> get(Get request) override;
    std::unique_ptr<Scan> scan(Range range) override;
    rt::Future<Result<std::vector<std::string>>> list(Range range) override;
    rt::Future<Result<SessionId>> open_session(
        Duration timeout, std::string identity, std::move_only_function<void()> on_lost
    ) override;
    rt::Future<Status> close_session(SessionId session) override;
    rt::Future<Result<std::unique_ptr<Subscription>>> subscribe(
        rt::Executor& executor, SubscribeHandler handler
    ) override;

  private:
    enum class Fate : std::uint8_t { pass, refuse, drop, lose_answer, apply_late };
    class CutScan;
    class Wire;
    class WireEnd;

    struct Carried {
        ShardId shard;
        ShardBatch batch;
        Fate fate;
        MonoTime arrival;
        rt::Promise<Result<ShardBatchDone>> promise;
    };

    bool happens(Ratio ratio) { return ratio.times > 0 && rng_.chance(ratio.times, ratio.of); }
    Duration up_to(Duration max);
    Fate choose_fate();
    Error refusal();
    MonoTime arrival(ShardId shard);

    rt::Task<void> carry(Carried write);
    rt::Task<void> carry_open(
        Duration timeout,
        std::string identity,
        std::move_only_function<void()> on_lost,
        rt::Promise<Result<SessionId>> promise
    );
    rt::Task<void> end_session(SessionId session, Duration life);
    void tell_lost(SessionId session);
    /// A read: a delay, perhaps a failure, then `ask`.
    template <class T>
    rt::Future<Result<T>> read(std::move_only_function<rt::Future<Result<T>>()> ask);
    template <class T>
    rt::Task<void> carry_read(
        std::move_only_function<rt::Future<Result<T>>()> ask, rt::Promise<Result<T>> promise
    );

    MetadataStore& inner_;
    rt::Executor& node_;
    rt::Executor& network_;
    MetadataFaults faults_;
    bool full_ = false;
    rt::Rng rng_;
    FaultCounts counts_;
    std::map<ShardId, MonoTime> last_arrival_;
    std::map<SessionId, std::move_only_function<void()>> sessions_;
    rt::TaskScope scope_;
};

}  // namespace lakestream::meta::testing
