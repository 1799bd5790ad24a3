// SPDX-License-Identifier: Apache-2.0
// FaultyStore: another store, with the faults of a real service at a seeded rate.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "objstore/object_store.h"
#include "objstore/operation.h"
#include "rt/rng.h"
#include "rt/scope.h"

namespace lakestream::objstore {

/// Probability of a fault.
struct Ratio {
    std::uint64_t numerator = 0;
    std::uint64_t denominator = 1;
};

/// How often one kind of request fails in which way. At most one fault hits a request.
struct FaultRates {
    Ratio fail_before;  // `unavailable` or `deadline_exceeded`; nothing applied
    Ratio lose_answer;  // applied, then `outcome_unknown` (reading: `unavailable`)
    Ratio apply_late;   // `outcome_unknown` now, applied up to late_max later (put, remove)
    Ratio throttle;     // begins a burst in which every request is `throttled`
    Ratio disk_full;    // `exhausted`; nothing applied (put)
    Ratio decayed;      // `corrupt`, as a checksum over a whole object finds it (get of all)
    Ratio short_body;   // the connection ends inside the body: `unavailable` (get)
    Ratio flipped_bit;  // `ok`, one bit wrong: only the reader's own CRC finds it (get of a range)
    Ratio wrong_range;  // `ok`, bytes from another place of the object (get of a range)
    Ratio slow;         // takes up to slow_max more
};

/// What a request of these names meets. The rule with the longest matching prefix counts alone.
struct FaultRule {
    std::string prefix;
    PerOperation<FaultRates> rates;
};

struct FaultOptions {
    std::vector<FaultRule> rules;
    Duration latency_min = 1ms;
    Duration latency_max = 20ms;
    Duration slow_max = 30s;
    Duration late_max = 120s;
    Duration throttle_burst = 2s;
    Duration settle = Duration(0);  // gets and heads may miss an object for so long after its put
};

enum class Fault : std::uint8_t {
    fail_before,
    lose_answer,
    apply_late,
    throttle,
    disk_full,
    decayed,
    short_body,
    flipped_bit,
    wrong_range,
    slow,
    not_yet_visible
};

inline constexpr std::size_t fault_count = 11;

/// For tests and simulation. Stricter than a service in the answers it gives, never in what it
/// keeps: an object is whole or absent, and an answered one stays. Belongs to the simulated world,
/// not to a node: what is applied late is applied by `world` whoever has died meanwhile. One
/// thread.
class FaultyStore final : public ObjectStore {
  public:
    FaultyStore(ObjectStore& inner, rt::Executor& world, FaultOptions options, std::uint64_t seed);
    ~FaultyStore() override = default;

    rt::Task<Status> put(std::string name, Slices body, IfExists if_exists) override;
    rt::Task<Result<Bytes>> get(std::string name, std::optional<ByteRange> range) override;
    rt::Task<Result<ObjectInfo>> head(std::string name) override;
    rt::Task<Result<ListPage>> list(std::string prefix, std::string after, std::uint32_t limit)
        override;
    rt::Task<std::vector<Status>> remove(std::vector<std::string> names) override;

    /// No fault hits a request from now on; what is to be applied late still is. For the phase in
    /// which everything must converge.
    void heal() { healed_ = true; }
    /// Faults again.
    void hurt() { healed_ = false; }
    /// Wait for what is applied late. Before the destructor.
    rt::Task<void> close();

    /// How many requests a fault has hit.
    std::uint64_t count(Fault fault) const { return counts_[static_cast<std::size_t>(fault)]; }

  private:
    const FaultRates& rates(Operation operation, const std::string& name) const;
    bool hit(Fault fault, Ratio ratio);
    rt::Task<void> delay(const FaultRates& rates);
    Status before(const FaultRates& rates);
    bool hidden(const std::string& name, MonoTime now);
    rt::Task<void> put_late(std::string name, Slices body, IfExists if_exists);
    rt::Task<void> remove_late(std::vector<std::string> names);
    Duration random(Duration max);

    ObjectStore& inner_;
    FaultOptions options_;
    rt::Rng rng_;
    rt::TaskScope late_;
    bool healed_ = false;
    MonoTime throttled_until_{};
    std::map<std::string, MonoTime> visible_at_;
    std::array<std::uint64_t, fault_count> counts_{};
};

}  // namespace lakestream::objstore
