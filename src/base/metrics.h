// SPDX-License-Identifier: Apache-2.0
// Counters, gauges and histograms that modules own and `/metrics` reads. Atomic, lock-free to
// update.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lakestream::metrics {

/// Counts up.
class Counter {
  public:
    void add(std::uint64_t n = 1) noexcept { value_.fetch_add(n, std::memory_order_relaxed); }
    std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::uint64_t> value_{0};
};

/// Goes up and down.
class Gauge {
  public:
    void set(std::int64_t v) noexcept { value_.store(v, std::memory_order_relaxed); }
    void add(std::int64_t n) noexcept { value_.fetch_add(n, std::memory_order_relaxed); }
    std::int64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::int64_t> value_{0};
};

/// Counts observations in fixed buckets, each bounded above (inclusive), plus one without bound.
class Histogram {
  public:
    static constexpr std::size_t buckets_max = 24;

    explicit Histogram(std::span<const double> bounds) : bounds_(bounds.begin(), bounds.end()) {}

    void observe(double value) noexcept {
        std::size_t i = 0;
        while (i < bounds_.size() && value > bounds_[i]) {
            ++i;
        }
        counts_[i].fetch_add(1, std::memory_order_relaxed);
        sum_.fetch_add(value, std::memory_order_relaxed);
    }

    const std::vector<double>& bounds() const noexcept { return bounds_; }
    std::uint64_t count_in_bucket(std::size_t i) const noexcept {
        return counts_[i].load(std::memory_order_relaxed);
    }
    double sum() const noexcept { return sum_.load(std::memory_order_relaxed); }

  private:
    std::vector<double> bounds_;  // at most buckets_max
    std::array<std::atomic<std::uint64_t>, buckets_max + 1> counts_{};
    std::atomic<double> sum_{0};
};

/// Latencies in seconds, from 0.25 ms to 60 s.
inline constexpr double latency_bounds[] = {
    0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60
};

using Labels = std::vector<std::pair<std::string, std::string>>;

/// What a reader of the registry sees of one metric.
struct Entry {
    enum class Kind : std::uint8_t { counter, gauge, histogram };

    std::string name;  // lakestream_<module>_<noun>_<unit>[_total]
    std::string help;
    Labels labels;
    Kind kind = Kind::counter;
    const void* metric = nullptr;  // Counter, Gauge or Histogram, by kind
};

/// The list of a node's metrics. Owned by the composition root and outlives every module; modules
/// register metrics they own when they are made, and unregister them when they end.
class Registry {
  public:
    void add(
        std::string_view name, std::string_view help, const Counter& metric, Labels labels = {}
    );
    void add(std::string_view name, std::string_view help, const Gauge& metric, Labels labels = {});
    void add(
        std::string_view name, std::string_view help, const Histogram& metric, Labels labels = {}
    );
    /// Forget one metric. Forgetting an unknown one does nothing.
    void remove(const void* metric);
    /// A copy of the list, in the order of registration.
    std::vector<Entry> entries() const;

  private:
    mutable std::mutex mutex_;  // registration is rare; updates do not take it
    std::vector<Entry> entries_;
};

}  // namespace lakestream::metrics
