// SPDX-License-Identifier: Apache-2.0
// Index keys: parsing never crashes, and a key that is parsed is written back the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "index/key.h"

using namespace lakestream;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto key = index::parse_key(text);
    if (key.ok()) {
        LKS_ASSERT(key->to_string() == text);
        LKS_ASSERT(index::parse_key(key->log, text).value() == *key);
        LKS_ASSERT(index::bound_first(key->log) <= text && text <= index::bound_last(key->log));
    }
    const auto mark = index::parse_mark(Bytes::copy(text));
    LKS_ASSERT(!mark.ok() || mark->v >= 0);
    return 0;
}
