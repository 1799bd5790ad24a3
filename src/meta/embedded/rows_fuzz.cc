// SPDX-License-Identifier: Apache-2.0
// Byte 0 picks a row's kind, the rest is decoded: nothing crashes, and what reads must write and
// read back the same.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "meta/embedded/rows.h"
#include "meta/key_order.h"

namespace lakestream::meta::embedded {
namespace {

void check_record(std::string_view row) {
    const auto record = decode_record(row);
    const auto head = decode_record_head(row);
    if (!record.ok()) {
        return;
    }
    LKS_ASSERT(head.ok() && head->id == record->version.id);
    const std::string again =
        std::string(encode_record_header(*record).view()) + std::string(record->value.view());
    const auto back = decode_record(again);
    LKS_ASSERT(back.ok() && back->value == record->value);
    LKS_ASSERT(back->version.modified == record->version.modified);
    LKS_ASSERT(back->version.created == record->version.created);
    LKS_ASSERT(back->version.identity == record->version.identity);
    LKS_ASSERT(back->partition_key == record->partition_key);
}

void check_session(std::string_view row) {
    if (const auto session = decode_session(row); session.ok()) {
        const auto back = decode_session(encode_session(*session).view());
        LKS_ASSERT(back.ok() && back->timeout == session->timeout);
        LKS_ASSERT(back->identity == session->identity);
    }
}

void check_key(std::string_view encoded) {
    if (const auto key = decode_key(KeyOrder::hierarchical, encoded); key.ok()) {
        LKS_ASSERT(encode_key(KeyOrder::hierarchical, *key) == encoded);
    }
}

}  // namespace
}  // namespace lakestream::meta::embedded

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace lakestream::meta::embedded;
    if (size < 1) {
        return 0;
    }
    const std::string_view row(reinterpret_cast<const char*>(data + 1), size - 1);
    switch (data[0] % 5) {
        case 0: check_record(row); break;
        case 1: check_session(row); break;
        case 2: static_cast<void>(decode_counters(row).ok()); break;
        case 3: static_cast<void>(parse_session_row(row).ok()); break;
        default: check_key(row); break;
    }
    return 0;
}
