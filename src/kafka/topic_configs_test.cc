// SPDX-License-Identifier: Apache-2.0
// Topic configurations against Kafka's own table, and the words of Kafka's refusals.
#include "kafka/topic_configs.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace lakestream::kafka {
namespace {

std::string type_in_kafka(ConfigType type) {
    switch (type) {
        case ConfigType::boolean: return "BOOLEAN";
        case ConfigType::text: return "STRING";
        case ConfigType::int32: return "INT";
        case ConfigType::int64: return "LONG";
        case ConfigType::real: return "DOUBLE";
        case ConfigType::list: return "LIST";
    }
    return "";
}

nlohmann::json kafka_topic_configs() {
    std::ifstream in(LKS_SOURCE_DIR "/third_party/kafka-protocol/configs.json");
    return nlohmann::json::parse(in).at("topic");
}

TEST(TopicConfigs, are_those_of_kafka) {
    std::size_t seen = 0;
    for (const auto& theirs : kafka_topic_configs()) {
        const auto name = theirs.at("name").get<std::string>();
        SCOPED_TRACE(name);
        const TopicConfig* const ours = find_topic_config(name);
        ASSERT_NE(ours, nullptr);
        ++seen;
        EXPECT_EQ(type_in_kafka(ours->type), theirs.at("type").get<std::string>());
        if (theirs.at("default").is_null()) {
            EXPECT_EQ(ours->default_value, std::nullopt);
        } else {
            EXPECT_EQ(ours->default_value, theirs.at("default").get<std::string>());
            EXPECT_TRUE(parse_topic_config(name, *ours->default_value).ok());
        }
        if (theirs.contains("server_synonym")) {
            EXPECT_EQ(ours->broker_name, theirs.at("server_synonym").get<std::string>());
        }
        EXPECT_FALSE(ours->doc.empty());
    }
    EXPECT_EQ(seen, 38);
    for (const TopicConfig& config : topic_configs()) {
        seen -= config.name.starts_with("lakestream.") ? 0 : 1;
    }
    EXPECT_EQ(seen, 0) << "one that Kafka does not know";
}

/// "[0,...]", "[0,...,1]": the least value, and one less; with an end the same at the top.
TEST(TopicConfigs, have_the_ranges_of_kafka) {
    std::size_t checked = 0;
    for (const auto& theirs : kafka_topic_configs()) {
        const auto name = theirs.at("name").get<std::string>();
        const std::string valid = theirs.at("valid").is_null() ? "" : theirs.at("valid");
        const TopicConfig& ours = *find_topic_config(name);
        const bool number = ours.type != ConfigType::list && ours.type != ConfigType::text;
        if (!valid.starts_with('[') || !number || name == "segment.bytes" ||
            name == "compression.gzip.level") {
            continue;  // no range, wider here, with a hole
        }
        SCOPED_TRACE(name);
        ++checked;
        const std::int64_t min = std::stoll(valid.substr(1));
        EXPECT_TRUE(parse_topic_config(name, std::to_string(min)).ok());
        EXPECT_FALSE(parse_topic_config(name, std::to_string(min - 1)).ok());
        if (!valid.ends_with("...]")) {
            const std::int64_t max = std::stoll(valid.substr(valid.rfind(',') + 1));
            EXPECT_TRUE(parse_topic_config(name, std::to_string(max)).ok());
            EXPECT_FALSE(parse_topic_config(name, std::to_string(max + 1)).ok());
        }
    }
    EXPECT_EQ(checked, 23);
}

std::string parsed(std::string_view name, std::string_view value) {
    const auto result = parse_topic_config(name, value);
    return result.ok() ? *result : result.error().message;
}

TEST(TopicConfigs, are_stored_in_one_form) {
    EXPECT_EQ(parsed("retention.ms", " 5 "), "5");
    EXPECT_EQ(parsed("retention.ms", "+5"), "5");
    EXPECT_EQ(parsed("preallocate", "TRUE"), "true");
    EXPECT_EQ(parsed("cleanup.policy", " delete ,delete"), "delete");
    EXPECT_EQ(parsed("cleanup.policy", ""), "");
    EXPECT_EQ(parsed("compression.type", "gzip "), "gzip");
    EXPECT_EQ(parsed("leader.replication.throttled.replicas", "*"), "*");
    EXPECT_EQ(parsed("leader.replication.throttled.replicas", "1:2, 3:4"), "1:2,3:4");
    EXPECT_EQ(parsed("internal.segment.bytes", "100"), "100");
    EXPECT_EQ(parsed("retention.bytes", "-9223372036854775808"), "-9223372036854775808");
    EXPECT_EQ(parsed("segment.bytes", "100"), "100");
    EXPECT_EQ(parsed("compression.gzip.level", "-1"), "-1");
    EXPECT_EQ(parsed("lakestream.table", "True"), "true");
}

TEST(TopicConfigs, are_refused_in_the_words_of_kafka) {
    const auto invalid = [](std::string_view value, std::string_view name, std::string_view why) {
        EXPECT_EQ(
            parsed(name, value),
            fmt::format("Invalid value {} for configuration {}: {}", value, name, why)
        );
    };
    invalid("foo", "cleanup.policy", "String must be one of: compact, delete");
    invalid("-2", "retention.ms", "Value must be at least -1");
    invalid("abc", "retention.ms", "Not a number of type LONG");
    invalid("1e3", "retention.ms", "Not a number of type LONG");
    invalid("+-3", "retention.ms", "Not a number of type LONG");
    invalid("", "retention.ms", "Not a number of type LONG");
    invalid("yes", "preallocate", "Expected value to be either true or false");
    invalid("2", "min.cleanable.dirty.ratio", "Value must be no more than 1");
    invalid("nan", "min.cleanable.dirty.ratio", "Value must be at least 0");
    invalid("x", "min.cleanable.dirty.ratio", "Not a number of type DOUBLE");
    invalid("3000000000", "max.message.bytes", "Not a number of type INT");
    invalid("0", "compression.gzip.level", "Value must be between 1 and 9 or equal to -1");
    invalid(
        "Gzip",
        "compression.type",
        "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"
    );
    invalid(
        "compact,delete",
        "cleanup.policy",
        "key compaction is not built yet; only delete is possible"
    );
    EXPECT_EQ(parsed("nope", "1"), "Unknown topic config name: nope");
    EXPECT_NE(parsed("remote.storage.enable", "true"), "true");
    EXPECT_NE(parsed("leader.replication.throttled.replicas", "x"), "x");
    EXPECT_NE(parsed("leader.replication.throttled.replicas", "*,1:2"), "*,1:2");
}

TEST(TopicConfigs, are_checked_together) {
    EXPECT_TRUE(parse_topic_configs({{"min.compaction.lag.ms", "5"}}).ok());
    const auto conflict =
        parse_topic_configs({{"min.compaction.lag.ms", "10"}, {"max.compaction.lag.ms", "5"}});
    EXPECT_TRUE(conflict.is(ErrorCode::invalid_argument));
    EXPECT_EQ(
        conflict.error().message,
        "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)"
    );
}

TEST(TopicConfigs, are_read_with_their_defaults) {
    EXPECT_EQ(config_integer({}, "max.message.bytes"), 1048588);
    EXPECT_EQ(config_integer({{"max.message.bytes", "7"}}, "max.message.bytes"), 7);
    EXPECT_EQ(config_integer({{"max.message.bytes", "seven"}}, "max.message.bytes"), 1048588);
    EXPECT_EQ(config_text({}, "message.timestamp.type"), "CreateTime");
    EXPECT_EQ(config_value({}, *find_topic_config("internal.segment.bytes")), std::nullopt);
}

}  // namespace
}  // namespace lakestream::kafka
