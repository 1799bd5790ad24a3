// SPDX-License-Identifier: Apache-2.0
// Metrics: bucket bounds, and what a registry shows.
#include "base/metrics.h"

#include <gtest/gtest.h>

namespace lakestream::metrics {
namespace {

TEST(Histogram, bounds_are_inclusive_and_the_last_bucket_has_none) {
    constexpr double bounds[] = {1, 2};
    Histogram histogram(bounds);
    for (const double value : {0.5, 1.0, 1.5, 2.0, 2.5, 100.0}) {
        histogram.observe(value);
    }
    EXPECT_EQ(histogram.count_in_bucket(0), 2U);
    EXPECT_EQ(histogram.count_in_bucket(1), 2U);
    EXPECT_EQ(histogram.count_in_bucket(2), 2U);
    EXPECT_DOUBLE_EQ(histogram.sum(), 107.5);
}

TEST(Histogram, the_latency_bounds_fit_and_rise) {
    constexpr std::size_t count = std::size(latency_bounds);
    static_assert(count <= Histogram::buckets_max);
    for (std::size_t i = 1; i < count; ++i) {
        EXPECT_LT(latency_bounds[i - 1], latency_bounds[i]);
    }
}

TEST(Registry, shows_what_is_registered_in_order_until_it_is_removed) {
    Registry registry;
    Counter counter;
    Gauge gauge;
    registry.add("lakestream_a_total", "A", counter, {{"kind", "x"}});
    registry.add("lakestream_b", "B", gauge);
    counter.add(3);
    gauge.add(-2);
    const auto entries = registry.entries();
    ASSERT_EQ(entries.size(), 2U);
    EXPECT_EQ(entries[0].name, "lakestream_a_total");
    EXPECT_EQ(entries[0].labels, (Labels{{"kind", "x"}}));
    EXPECT_EQ(static_cast<const Counter*>(entries[0].metric)->value(), 3U);
    EXPECT_EQ(entries[1].kind, Entry::Kind::gauge);
    EXPECT_EQ(static_cast<const Gauge*>(entries[1].metric)->value(), -2);
    registry.remove(&counter);
    registry.remove(&counter);
    ASSERT_EQ(registry.entries().size(), 1U);
    EXPECT_EQ(registry.entries()[0].metric, &gauge);
}

TEST(Registrations, are_forgotten_with_their_owner) {
    Registry registry;
    Counter stays;
    registry.add("lakestream_a_total", "A", stays);
    {
        const Counter goes;
        Registrations owned(registry);
        owned.add("lakestream_b_total", "B", goes);
        owned.collect_gauge("lakestream_c", "C", {"topic"}, [] {
            return std::vector<Sample>{{.labels = {{"topic", "x"}}, .value = 0.5}};
        });
        const auto entries = registry.entries();
        ASSERT_EQ(entries.size(), 3U);
        EXPECT_EQ(entries[2].kind, Entry::Kind::gauge);
        EXPECT_EQ(entries[2].labels, (Labels{{"topic", ""}}));
        const auto samples = (*entries[2].collect)();
        ASSERT_EQ(samples.size(), 1U);
        EXPECT_EQ(samples[0].labels, (Labels{{"topic", "x"}}));
        EXPECT_EQ(samples[0].value, 0.5);
    }
    ASSERT_EQ(registry.entries().size(), 1U);
    EXPECT_EQ(registry.entries()[0].metric, &stays);
}

TEST(LastSuccess, has_an_age_once_there_was_one) {
    LastSuccess last;
    EXPECT_FALSE(last.age(MonoTime(5s)).has_value());
    EXPECT_TRUE(sample(last.age(MonoTime(5s))).empty());
    last.note(MonoTime(0s));
    EXPECT_EQ(last.age(MonoTime(2500ms)), 2.5);
    last.note(MonoTime(2s));
    EXPECT_EQ(sample(last.age(MonoTime(2500ms))).front().value, 0.5);
}

TEST(Raised, lowers_its_gauge_when_it_goes) {
    Gauge gauge;
    {
        const Raised one(gauge);
        const Raised other(gauge);
        EXPECT_EQ(gauge.value(), 2);
    }
    EXPECT_EQ(gauge.value(), 0);
}

}  // namespace
}  // namespace lakestream::metrics
