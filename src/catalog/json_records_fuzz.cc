// SPDX-License-Identifier: Apache-2.0
// Any text is read or refused; what is read survives being written and read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "catalog/json_records.h"
#include "catalog/keys.h"
#include "catalog/log_owner.h"

namespace lakestream::catalog {
namespace {

/// Log metadata without properties is read again with none of them: the reference's own asymmetry.
void normalize(LogMetadata& metadata) {
    metadata.properties = metadata.properties.value_or(Properties());
}
void normalize(auto&) {}

template <class Record>
void check(Result<Record> (*parse)(std::string_view), std::string_view text) {
    if (Result<Record> record = parse(text); record.ok()) {
        normalize(*record);
        const Result<Record> again = parse(to_json(*record));
        LKS_ASSERT(again.ok() && *again == *record);
    }
}

}  // namespace
}  // namespace lakestream::catalog

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace lakestream::catalog;  // NOLINT
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    check(parse_log_mapping, text);
    check(parse_log_metadata, text);
    check(parse_stream_config, text);
    check(parse_namespace, text);
    static_cast<void>(parse_producer_ids(text));
    if (const auto owner = parse_mapping_key(text); owner.ok()) {
        const auto partition = static_cast<std::size_t>(owner->partition);
        LKS_ASSERT(keys::mapping_key(owner->stream, partition) == text);
    }
    return 0;
}
