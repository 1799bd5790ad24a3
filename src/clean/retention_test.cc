// SPDX-License-Identifier: Apache-2.0
// Kafka's rules, record by record.
#include "clean/retention.h"

#include <gtest/gtest.h>

namespace lakestream::clean {
namespace {

catalog::Properties with(std::string name, std::string value) {
    return {{std::move(name), std::move(value)}};
}

TEST(RetentionOf, reads_what_kafka_writes) {
    const CleanSettings defaults;
    EXPECT_EQ(retention_of({}, defaults).time, Duration(std::chrono::hours(7 * 24)));
    EXPECT_FALSE(retention_of({}, defaults).bytes.has_value());
    EXPECT_EQ(retention_of(with("retention.ms", "1000"), defaults).time, Duration(1s));
    EXPECT_EQ(retention_of(with("retention.ms", "0"), defaults).time, Duration(0));
    EXPECT_FALSE(retention_of(with("retention.ms", "-1"), defaults).time.has_value());
    EXPECT_FALSE(retention_of(with("retention.ms", "9223372036854775807"), defaults).time);
    EXPECT_FALSE(retention_of(with("retention.ms", "1000 "), defaults).time.has_value());
    EXPECT_FALSE(retention_of(with("retention.ms", ""), defaults).time.has_value());
    EXPECT_EQ(retention_of(with("retention.bytes", "5"), defaults).bytes, 5U);
    EXPECT_TRUE(retention_of(with("cleanup.policy", "compact"), defaults).keeps_all());
    EXPECT_FALSE(retention_of(with("cleanup.policy", "compact,delete"), defaults).keeps_all());
}

log::WalkRecord record(std::int64_t newest, std::int64_t cumulative = 0, bool dated = true) {
    log::WalkRecord made{.cumulative = cumulative, .created = wall_from_ms(5000)};
    if (dated) {
        made.value.extension = index::Extension{.max_timestamp = newest};
    }
    return made;
}

TEST(Expiry, by_the_newest_timestamp) {
    const Expiry expiry({.time = 1s, .bytes = {}}, wall_from_ms(10'000), 0);
    EXPECT_TRUE(expiry.expires(record(8999)));
    EXPECT_FALSE(expiry.expires(record(9000)));    // exactly as old as allowed
    EXPECT_FALSE(expiry.expires(record(99'000)));  // in the future
    // Without timestamps, or when nobody knows them: the time of publication.
    EXPECT_TRUE(expiry.expires(record(-1)));
    EXPECT_TRUE(expiry.expires(record(0, 0, false)));
    const Expiry longer({.time = 5s, .bytes = {}}, wall_from_ms(10'000), 0);
    EXPECT_FALSE(longer.expires(record(-1)));
}

TEST(Expiry, a_clock_that_was_set_back_lets_nothing_expire) {
    const auto now = wall_from_ms(10'000'000);
    const log::WalkRecord fresh = record(10'000'000 - 1000);
    const RetentionPolicy policy{.time = 10s, .bytes = {}};
    EXPECT_FALSE(Expiry(policy, now, 0).expires(fresh));
    EXPECT_FALSE(Expiry(policy, now - std::chrono::hours(1), 0).expires(fresh));
    EXPECT_FALSE(Expiry(policy, WallTime(), 0).expires(fresh));
}

TEST(Expiry, by_size_as_long_as_enough_is_left) {
    const Expiry expiry({.time = {}, .bytes = 100}, WallTime(), 250);
    EXPECT_TRUE(expiry.expires(record(0, 150)));   // 100 are left
    EXPECT_FALSE(expiry.expires(record(0, 151)));  // 99 would be
    EXPECT_FALSE(expiry.expires(record(0, 250)));
    const Expiry nothing({.time = {}, .bytes = 0}, WallTime(), 250);
    EXPECT_TRUE(nothing.expires(record(0, 250)));
}

}  // namespace
}  // namespace lakestream::clean
