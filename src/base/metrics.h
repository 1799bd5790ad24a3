// SPDX-License-Identifier: Apache-2.0
// Counters, gauges and histograms that modules own and `/metrics` reads. Atomic, lock-free to
// update. What is cheaper to find out when asked than to keep is collected instead.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

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

/// One more in a gauge for as long as it lives.
class Raised {
  public:
    explicit Raised(Gauge& gauge) noexcept : gauge_(gauge) { gauge_.add(1); }
    Raised(const Raised&) = delete;
    Raised& operator=(const Raised&) = delete;
    ~Raised() { gauge_.add(-1); }

  private:
    Gauge& gauge_;
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

/// When something last went well: its age is what tells that it does not any more.
class LastSuccess {
  public:
    void note(MonoTime now) noexcept {
        at_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    }
    /// In seconds; none before the first.
    std::optional<double> age(MonoTime now) const noexcept {
        const std::int64_t at = at_.load(std::memory_order_relaxed);
        return at == never ? std::nullopt
                           : std::optional(
                                 std::chrono::duration<double>(now - MonoTime(Duration(at))).count()
                             );
    }

  private:
    static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::min();
    std::atomic<std::int64_t> at_{never};
};

/// Latencies in seconds, from 0.25 ms to 60 s.
inline constexpr double latency_bounds[] = {
    0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60
};

/// Sizes in bytes, from 1 KiB to 256 MiB.
inline constexpr double size_bounds[] = {
    1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 28
};

using Labels = std::vector<std::pair<std::string, std::string>>;

/// One value of a metric that is collected.
struct Sample {
    Labels labels;
    double value = 0;
};

/// Finds out all values of one metric. Called by whoever reads the registry, on the executor of the
/// node that serves `/metrics` (its first): quick, and safe to call there.
using Collect = std::function<std::vector<Sample>()>;

/// The only value of a metric without labels.
inline std::vector<Sample> sample(double value) {
    return {Sample{.labels = {}, .value = value}};
}
/// The same, and no value at all for none.
inline std::vector<Sample> sample(std::optional<double> value) {
    return value.has_value() ? sample(*value) : std::vector<Sample>();
}

/// What a reader of the registry sees of one metric.
struct Entry {
    enum class Kind : std::uint8_t { counter, gauge, histogram };

    std::string name;  // lakestream_<module>_<noun>_<unit>[_total]
    std::string help;
    Labels labels;  // of what is collected: names only
    Kind kind = Kind::counter;
    const void* metric = nullptr;  // Counter, Gauge or Histogram, by kind; unless collected
    std::shared_ptr<const Collect> collect;  // shared with copies of the list
};

/// As Prometheus calls it.
std::string_view type_name(Entry::Kind kind);

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
    /// A counter or gauge whose values are collected, with labels of these names. Returns what
    /// `remove` takes.
    const void* add_collected(
        std::string_view name,
        std::string_view help,
        Entry::Kind kind,
        const std::vector<std::string>& label_names,
        Collect collect
    );
    /// Forget one metric. Forgetting an unknown one does nothing.
    void remove(const void* metric);
    /// A copy of the list, in the order of registration.
    std::vector<Entry> entries() const;

  private:
    mutable std::mutex mutex_;  // registration is rare; updates do not take it
    std::vector<Entry> entries_;
};

/// Registers metrics, and forgets them when it ends: declare it behind the metrics.
class Registrations {
  public:
    explicit Registrations(Registry& registry) : registry_(registry) {}
    Registrations(const Registrations&) = delete;
    Registrations& operator=(const Registrations&) = delete;
    ~Registrations() {
        for (const void* metric : metrics_) {
            registry_.remove(metric);
        }
    }

    template <class Metric>
    void add(
        std::string_view name, std::string_view help, const Metric& metric, Labels labels = {}
    ) {
        registry_.add(name, help, metric, std::move(labels));
        metrics_.push_back(&metric);
    }
    void collect(
        std::string_view name,
        std::string_view help,
        Entry::Kind kind,
        const std::vector<std::string>& label_names,
        Collect values
    ) {
        metrics_.push_back(registry_.add_collected(name, help, kind, label_names, std::move(values))
        );
    }
    void collect_gauge(
        std::string_view name,
        std::string_view help,
        const std::vector<std::string>& label_names,
        Collect values
    ) {
        collect(name, help, Entry::Kind::gauge, label_names, std::move(values));
    }
    /// Without labels.
    void collect_gauge(std::string_view name, std::string_view help, Collect values) {
        collect_gauge(name, help, {}, std::move(values));
    }

  private:
    Registry& registry_;
    std::vector<const void*> metrics_;
};

}  // namespace lakestream::metrics
