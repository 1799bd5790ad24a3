// SPDX-License-Identifier: Apache-2.0
// Any bytes are validated and read as batches, with the CRC made right first, so that the fuzzer
// gets past it. Records that read must come back the same from a batch built of them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/endian.h"
#include "codec/batch_builder.h"
#include "codec/crc32c.h"
#include "codec/record_batch.h"
#include "codec/record_reader.h"

namespace lakestream::codec {
namespace {

constexpr std::size_t bytes_max = 1UL << 20;
constexpr std::size_t crc_at = 17;
constexpr std::size_t attributes_at = 21;

bool same(const NullableBytes& a, const NullableBytes& b) {
    return a.has_value() == b.has_value() && (!a || std::ranges::equal(*a, *b));
}

bool same(const Record& a, const Record& b) {
    return same(a.key, b.key) && same(a.value, b.value) &&
           std::ranges::equal(
               a.headers,
               b.headers,
               [](const RecordHeader& x, const RecordHeader& y) {
                   return x.key == y.key && same(x.value, y.value);
               }
           );
}

void check(const Bytes& batch) {
    auto reader = RecordReader::open(batch, bytes_max);
    if (!reader.ok()) {
        LKS_ASSERT(reader.error().code != ErrorCode::internal);
        return;
    }
    BatchBuilder builder;
    std::vector<Record> records;
    for (Record record; reader->next(record);) {
        builder.add(
            static_cast<std::int64_t>(records.size()), record.key, record.value, record.headers
        );
        records.push_back(record);
    }
    if (!reader->status().ok() || records.empty()) {
        return;
    }
    const Bytes built = builder.finish();
    LKS_ASSERT(validate_batches(built.span(), {}).ok());
    auto again = RecordReader::open(built, bytes_max * 2);
    LKS_ASSERT(again.ok());
    Record record;
    for (const Record& expected : records) {
        LKS_ASSERT(again->next(record) && same(record, expected));
    }
    LKS_ASSERT(!again->next(record) && again->status().ok());
}

}  // namespace
}  // namespace lakestream::codec

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace lakestream::codec;
    const auto input = std::as_bytes(std::span(data, size));
    static_cast<void>(validate_batches(input, {.batches_max = 100}));
    std::vector<std::byte> batch(input.begin(), input.end());
    if (const auto header = read_batch_header(batch); header.ok()) {
        const auto covered = std::span(batch).first(header->size()).subspan(attributes_at);
        lakestream::store_be(batch.data() + crc_at, crc32c(covered));
        const auto valid = validate_batches(batch, {.batches_max = 100});
        LKS_ASSERT(valid.ok() || valid.error().reason != 0);
    }
    check(lakestream::Bytes::own(std::move(batch)));
    return 0;
}
