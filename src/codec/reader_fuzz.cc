// SPDX-License-Identifier: Apache-2.0
// A program of reads (first half of the input) runs over bytes (second half): no read passes the
// end, failure leaves the place, and varints round-trip.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "codec/reader.h"
#include "codec/writer.h"

namespace lakestream::codec {
namespace {

void check_varints(Reader& reader, std::size_t before) {
    const std::size_t at = reader.position();
    const std::uint64_t value = reader.uvarint64();
    if (!reader.ok()) {
        LKS_ASSERT(reader.position() == at && reader.remaining() == 0);
        return;
    }
    LKS_ASSERT(reader.position() - at <= uvarint64_bytes_max && reader.remaining() < before);
    Writer writer;
    writer.uvarint64(value);
    writer.varlong(static_cast<std::int64_t>(value));
    writer.varint(static_cast<std::int32_t>(value));
    LKS_ASSERT(uvarint_size(value) <= reader.position() - at);
    Reader again(writer.finish().join());
    LKS_ASSERT(again.uvarint64() == value);
    LKS_ASSERT(again.varlong() == static_cast<std::int64_t>(value));
    LKS_ASSERT(again.varint() == static_cast<std::int32_t>(value));
    LKS_ASSERT(again.ok() && again.remaining() == 0);
}

/// A read of `count` bytes must succeed exactly when they are there.
void check_bytes(Reader& reader, std::size_t count) {
    const bool fits = reader.ok() && count <= reader.remaining();
    const std::size_t at = reader.position();
    const Bytes bytes = reader.bytes(count);
    LKS_ASSERT(fits || count == 0 ? bytes.size() == count : bytes.empty() && !reader.ok());
    LKS_ASSERT(reader.position() == at + bytes.size());
}

void run(std::span<const std::byte> program, Reader reader) {
    for (const std::byte operation : program) {
        const std::size_t before = reader.remaining();
        const auto argument = std::to_integer<std::size_t>(operation >> 3);
        switch (std::to_integer<unsigned>(operation & std::byte{7})) {
            case 0: reader.int8(); break;
            case 1: reader.int16(); break;
            case 2: reader.int32(); break;
            case 3: reader.int64(); break;
            case 4: reader.uvarint(); break;
            case 5: check_varints(reader, before); break;
            case 6: check_bytes(reader, argument); break;
            case 7: check_bytes(reader, SIZE_MAX - argument); break;
            default: break;
        }
        LKS_ASSERT(reader.remaining() <= before);
    }
}

}  // namespace
}  // namespace lakestream::codec

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace lakestream;
    const auto input = std::as_bytes(std::span(data, size));
    const auto program = input.first(size / 2);
    const auto bytes = input.subspan(size / 2);
    codec::run(program, codec::Reader(bytes));
    codec::run(program, codec::Reader(Bytes::copy(bytes)));
    return 0;
}
