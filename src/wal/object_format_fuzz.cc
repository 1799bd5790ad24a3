// SPDX-License-Identifier: Apache-2.0
// Index blocks: parsing never crashes, and what an object is built from is what is read from it.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/assert.h"
#include "wal/object_format.h"

using namespace lakestream;

namespace {

/// Whatever the bytes are: parsing ends with a header or an error, and a header is well-formed.
void parse_only(std::span<const std::byte> bytes) {
    const auto header = wal::ObjectHeader::parse(bytes);
    if (!header.ok()) {
        LKS_ASSERT(header.code() == ErrorCode::corrupt);
        return;
    }
    LKS_ASSERT(header->payload_begin() <= bytes.size());
    for (const wal::Section& section : header->sections()) {
        LKS_ASSERT(header->find(section.log) == &section);
    }
}

/// Three bytes an entry: log, payload length, records.
void build_and_parse(std::span<const std::byte> bytes) {
    wal::ObjectBuilder builder;
    const Bytes payloads = Bytes::own(std::vector<std::byte>(256));
    for (; bytes.size() >= 3; bytes = bytes.subspan(3)) {
        const LogId log(std::to_integer<std::int64_t>(bytes[0]) * 16);
        builder.add(
            log,
            payloads.slice(0, std::to_integer<std::size_t>(bytes[1])),
            std::to_integer<std::int32_t>(bytes[2]) + 1
        );
    }
    const wal::BuiltObject built = builder.finish();
    const Bytes object = built.body.join();
    const auto header = wal::ObjectHeader::parse(object.span());
    LKS_ASSERT(header.ok());
    LKS_ASSERT(header->payload_begin() + built.payload_bytes == object.size());
    LKS_ASSERT(header->sections().size() == built.sections.size());
    for (const wal::Section& section : built.sections) {
        const wal::Section* read = header->find(section.log);
        LKS_ASSERT(read != nullptr && read->entries == section.entries);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    parse_only(bytes);
    build_and_parse(bytes);
    return 0;
}
