// SPDX-License-Identifier: Apache-2.0
// Any bytes are a container file or an error. What is a manifest list or a manifest round-trips.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "table/iceberg/manifest.h"

namespace {

using namespace lakestream::table::iceberg;

void read_generic(const lakestream::Bytes& file) {
    auto reader = AvroReader::open(file);
    if (!reader.ok()) {
        return;
    }
    auto record = reader->next();
    while (record.ok() && record->has_value()) {
        record = reader->next();
    }
}

void round_trip_list(const lakestream::Bytes& file) {
    const auto rows = read_manifest_list(file);
    if (rows.ok()) {
        const auto again = read_manifest_list(write_manifest_list({.snapshot = 1}, *rows));
        LKS_ASSERT(again.ok() && *again == *rows);
    }
}

void round_trip_manifest(const lakestream::Bytes& file) {
    auto reader = ManifestReader::open(file, {.sequence_number = 3, .added_snapshot = 4});
    if (!reader.ok()) {
        return;
    }
    std::vector<ManifestEntry> entries;
    ManifestWriter writer({.schema_json = "{}"}, 5, 6);
    auto entry = reader->next();
    for (; entry.ok() && entry->has_value(); entry = reader->next()) {
        if ((*entry)->sequence_number && (*entry)->file_sequence_number) {
            entries.push_back(**entry);
            writer.add(entries.back());
        }
    }
    const auto finished = writer.finish("m");
    auto again = ManifestReader::open(finished.file, finished.info);
    LKS_ASSERT(again.ok());
    for (const ManifestEntry& wanted : entries) {
        const auto found = again->next();
        LKS_ASSERT(found.ok() && found->has_value() && **found == wanted);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto file = lakestream::Bytes::copy(std::as_bytes(std::span(data, size)));
    read_generic(file);
    round_trip_list(file);
    round_trip_manifest(file);
    return 0;
}
