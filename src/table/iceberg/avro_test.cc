// SPDX-License-Identifier: Apache-2.0
// Container files of other writers, and bytes that are none.
#include "table/iceberg/avro.h"

#include <gtest/gtest.h>

#include <string>

#include "base/result.h"
#include "codec/testing/golden.h"

namespace lakestream::table::iceberg {
namespace {

constexpr std::string_view manifest =
    "iceberg/v2/metadata/a3c6cadb-88c8-4c9d-acff-dfd005f8f94e-m0.avro";

constexpr std::string_view every_kind =
    R"({"type":"record","name":"a.b.all","fields":[)"
    R"({"name":"n","type":"null","field-id":1},{"name":"b","type":"boolean","field-id":2},)"
    R"({"name":"i","type":{"type":"int","logicalType":"date"},"field-id":3},)"
    R"({"name":"f","type":"float","field-id":4},{"name":"d","type":"double","field-id":5},)"
    R"({"name":"x","type":{"type":"fixed","name":"two","size":2},"field-id":6},)"
    R"({"name":"y","type":"two","field-id":7},)"
    R"({"name":"e","type":{"type":"enum","name":"en","symbols":["A","B"]},"field-id":8},)"
    R"({"name":"m","type":{"type":"map","values":"long"},"field-id":9},)"
    R"({"name":"l","type":{"type":"array","items":"string"},"field-id":10},)"
    R"({"name":"c","type":["null","a.b.all"],"field-id":11}]})";

/// Every record, or the error on the way.
Result<std::vector<AvroRecord>> read_all(AvroReader& reader) {
    std::vector<AvroRecord> out;
    while (auto record = LKS_TRY(reader.next())) {
        out.push_back(*std::move(record));
    }
    return out;
}

void put_every_kind(codec::Writer& to, bool with_inner) {
    to.boolean(true);
    to.varlong(-7);
    to.raw(std::string_view("\x00\x00\xc0\x3f", 4));                  // 1.5
    to.raw(std::string_view("\x00\x00\x00\x00\x00\x00\x04\xc0", 8));  // -2.5
    to.raw("xxyy");
    to.varlong(1);
    to.varlong(1);
    put_avro_bytes(to, "key");
    to.varlong(99);
    to.varlong(0);
    to.varlong(-2);  // a part that tells its size
    to.varlong(4);
    put_avro_bytes(to, "p");
    put_avro_bytes(to, "q");
    to.varlong(0);
    to.varlong(with_inner ? 1 : 0);
    if (with_inner) {
        put_every_kind(to, false);
    }
}

TEST(Avro, EveryKindOfValueIsDecoded) {
    AvroWriter writer(every_kind, {{"owner", "test"}}, {});
    put_every_kind(writer.next(), true);
    AvroReader reader = *AvroReader::open(writer.finish());
    EXPECT_EQ(reader.metadata().at("owner"), "test");
    const auto records = read_all(reader);
    ASSERT_TRUE(records.ok()) << records.error().message;
    ASSERT_EQ(records->size(), 1);
    const AvroRecord& outer = records->front();
    const AvroRecord& inner = std::get<AvroRecord>(outer.find(11)->value);
    for (const AvroRecord* const record : {&outer, &inner}) {
        EXPECT_EQ(record->find(1), nullptr);
        EXPECT_EQ(*record->optional_boolean(2), true);
        EXPECT_EQ(*record->int32(3), -7);
        EXPECT_EQ(std::get<double>(record->find(4)->value), 1.5);
        EXPECT_EQ(std::get<double>(record->find(5)->value), -2.5);
        EXPECT_EQ(*record->text(6), "xx");
        EXPECT_EQ(*record->text(7), "yy");
        EXPECT_EQ(*record->integer(8), 1);
        const auto& entry = std::get<AvroRecord>((*record->list(9))->front().value);
        EXPECT_EQ(std::get<Bytes>(entry.values[0].value).view(), "key");
        EXPECT_EQ(std::get<std::int64_t>(entry.values[1].value), 99);
        EXPECT_EQ((*record->list(10))->size(), 2);
        EXPECT_EQ(std::get<Bytes>((**record->list(10))[1].value).view(), "q");
    }
    EXPECT_EQ(inner.find(11), nullptr);
    EXPECT_TRUE(outer.text(3).is(ErrorCode::corrupt));
    EXPECT_TRUE(outer.integer(12).is(ErrorCode::corrupt));
}

TEST(Avro, ManyRecordsTakeSeveralBlocks) {
    AvroWriter writer(
        R"({"type":"record","name":"r","fields":[{"name":"t","type":"string","field-id":1}]})",
        {},
        {std::byte{1}}
    );
    for (int i = 0; i < 20'000; ++i) {
        put_avro_bytes(writer.next(), "record number " + std::to_string(i));
    }
    const Bytes file = writer.finish();
    EXPECT_LT(file.size(), 200'000);
    AvroReader reader = *AvroReader::open(file);
    const auto records = read_all(reader);
    ASSERT_EQ(records->size(), 20'000);
    EXPECT_EQ(*records->back().text(1), "record number 19999");
}

TEST(Avro, EveryTruncationAndFlippedByteIsAnErrorOrAnAnswer) {
    const Bytes file = codec::golden_file(manifest);
    for (std::size_t size = 0; size < file.size(); size += size < 6500 ? 331 : 3) {
        auto reader = AvroReader::open(file.slice(0, size));
        const bool fine = reader.ok() && read_all(*reader).ok() && !read_all(*reader)->empty();
        EXPECT_FALSE(fine) << size;
    }
    for (std::size_t i = 0; i < file.size(); i += 13) {
        std::string bytes(file.view());
        bytes[i] = static_cast<char>(bytes[i] ^ 0x20);
        auto reader = AvroReader::open(Bytes::own(std::move(bytes)));
        if (reader.ok()) {
            static_cast<void>(read_all(*reader).ok());  // must only not crash
        }
    }
}

/// A file with one block of these bytes that claims so many records.
Bytes claim(std::string_view schema, std::int64_t records, std::string_view block) {
    codec::Writer to;
    to.raw(std::string_view("Obj\x01", 4));
    to.varlong(1);
    put_avro_bytes(to, "avro.schema");
    put_avro_bytes(to, schema);
    to.varlong(0);
    to.raw(std::string(16, 's'));
    to.varlong(records);
    put_avro_bytes(to, block);
    to.raw(std::string(16, 's'));
    return to.finish().join();
}

TEST(Avro, ClaimsAreNotBelieved) {
    const std::string list_of_nothing = R"({"type":"record","name":"r","fields":[)"
                                        R"({"name":"l","type":{"type":"array","items":"null"}}]})";
    const std::string endless =
        R"({"type":"record","name":"r","fields":[{"name":"again","type":"r"}]})";
    const std::pair<std::string, Bytes> files[] = {
        {"many records", claim(list_of_nothing, 1L << 60, std::string(8, '\0'))},
        {"a list of 2^62", claim(list_of_nothing, 1, "\xff\xff\xff\xff\xff\xff\xff\xff\x7f")},
        {"a record inside itself", claim(endless, 1, "x")},
        {"bytes left over", claim(list_of_nothing, 1, std::string(8, '\0'))},
    };
    for (const auto& [what, file] : files) {
        auto reader = AvroReader::open(file);
        ASSERT_TRUE(reader.ok()) << what << reader.error().message;
        EXPECT_TRUE(read_all(*reader).is(ErrorCode::corrupt)) << what;
    }
}

TEST(Avro, SchemasThatAreNoneAreRefused) {
    std::string deep = R"("null")";
    for (int i = 0; i < 50; ++i) {
        deep = R"({"type":"array","items":)" + deep + "}";
    }
    const std::string schemas[] = {
        "",
        "7",
        R"("long")",
        R"({"type":"record","name":"r"})",
        R"({"type":"record","name":"r","fields":[{"name":"x","type":"unknown"}]})",
        R"({"type":"record","name":"r","fields":[{"name":"x","type":{"type":"array"}}]})",
        R"({"type":"record","name":"r","fields":[{"name":"x","type":)" + deep + "}]}",
    };
    for (const std::string& schema : schemas) {
        EXPECT_TRUE(AvroReader::open(claim(schema, 0, "")).is(ErrorCode::corrupt)) << schema;
    }
}

}  // namespace
}  // namespace lakestream::table::iceberg
