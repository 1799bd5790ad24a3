// SPDX-License-Identifier: Apache-2.0
// The catalog's records against vectors written and read by the Java reference classes.
#include "catalog/json_records.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "codec/testing/golden.h"

namespace lakestream::catalog {
namespace {

using Json = nlohmann::json;

Json golden(const std::string& name) {
    return codec::golden_json("from-java/catalog/" + name);
}

/// Every text in `records` is read and written again as it is; the inputs in `reader_behaviour`
/// are read (then rewritten as given) or refused.
template <class Record>
void check(const std::string& file, Result<Record> (*parse)(std::string_view)) {
    const Json vectors = golden(file);
    ASSERT_FALSE(vectors["records"].empty());
    for (const Json& vector : vectors["records"]) {
        const auto text = vector["value_text"].get<std::string>();
        const Result<Record> record = parse(text);
        ASSERT_TRUE(record.ok()) << text << "\n" << record.error().to_string();
        if (!text.empty() && vector.value("case", "") != "empty policy") {
            EXPECT_EQ(to_json(*record), text);
        }
    }
    for (const Json& vector : vectors["reader_behaviour"]) {
        const auto text = vector["value_text"].get<std::string>();
        const Result<Record> record = parse(text);
        if (vector["result"] == "rejected") {
            EXPECT_TRUE(record.is(ErrorCode::corrupt)) << vector["case"];
        } else if (record.ok()) {
            // A policy is kept as it stands, not rewritten with its defaults.
            if (vector.contains("rewritten_text") && vector["case"] != "only materialization") {
                EXPECT_EQ(to_json(*record), vector["rewritten_text"].get<std::string>())
                    << vector["case"];
            }
        } else {
            ADD_FAILURE() << vector["case"] << "\n" << record.error().to_string();
        }
    }
}

TEST(JsonRecords, log_mappings_as_the_reference) {
    check("stream-id-mapping.json", parse_log_mapping);
}

TEST(JsonRecords, log_metadata_as_the_reference) {
    check("log-metadata.json", parse_log_metadata);
}

TEST(JsonRecords, stream_configs_as_the_reference) {
    check("stream-config.json", parse_stream_config);
}

TEST(JsonRecords, namespaces_as_the_reference) {
    check("namespaces.json", parse_namespace);
}

TEST(JsonRecords, the_flat_form_of_a_namespace_holds_properties) {
    const auto record = parse_namespace(R"({"env":"staging","team":"data"})");
    EXPECT_EQ(record->properties, (Properties{{"env", "staging"}, {"team", "data"}}));
}

TEST(JsonRecords, the_decimal_form_of_a_mapping_has_the_legacy_owner) {
    const LogMapping expected{MappingState::active, 42, {"__legacy__", "__legacy__", 0}};
    EXPECT_EQ(parse_log_mapping("42").value(), expected);
    EXPECT_FALSE(parse_log_mapping("-1").ok());
    EXPECT_FALSE(parse_log_mapping("42x").ok());
    EXPECT_FALSE(parse_log_mapping("").ok());
}

TEST(JsonRecords, an_active_mapping_has_an_id) {
    LogMapping mapping{MappingState::active, -1, {"i", "o", 1}};
    EXPECT_TRUE(parse_log_mapping(to_json(mapping)).is(ErrorCode::corrupt));
    mapping.state = MappingState::tombstone;
    EXPECT_EQ(parse_log_mapping(to_json(mapping)).value(), mapping);
}

TEST(JsonRecords, numbers_beyond_64_bits_are_refused) {
    EXPECT_FALSE(parse_log_metadata(R"({"streamId":9223372036854775808})").ok());
    EXPECT_FALSE(parse_log_metadata(R"({"streamId":1e3})").ok());
    EXPECT_FALSE(
        parse_stream_config(R"({"partitions":2147483648,"_creationKind":"NATIVE_CREATE"})").ok()
    );
}

TEST(JsonRecords, deep_nesting_is_refused) {
    const std::string deep(100'000, '[');
    EXPECT_TRUE(parse_log_metadata(R"({"later":)" + deep).is(ErrorCode::corrupt));
    EXPECT_TRUE(parse_namespace(deep).is(ErrorCode::corrupt));
    EXPECT_TRUE(
        parse_log_metadata(R"({"later":"\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["})")
            .ok()
    );
}

TEST(JsonRecords, producer_ids) {
    EXPECT_EQ(producer_ids_json(7), R"({"version":1,"next":7})");
    EXPECT_EQ(parse_producer_ids(producer_ids_json(7)).value(), 7);
    EXPECT_TRUE(parse_producer_ids(R"({"version":2,"next":7})").is(ErrorCode::unsupported));
    EXPECT_TRUE(parse_producer_ids(R"({"version":1})").is(ErrorCode::corrupt));
}

}  // namespace
}  // namespace lakestream::catalog
