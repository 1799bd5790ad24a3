// SPDX-License-Identifier: Apache-2.0
// Rows of manifests and manifest lists to and from Avro.
#include "table/iceberg/manifest.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/assert.h"
#include "base/result.h"
#include "table/iceberg/manifest_schema.h"

namespace lakestream::table::iceberg {

namespace {

// Reading.

/// The value of a map's entry as a T.
template <class T>
Result<T> entry_value(const AvroRecord& entry, std::int32_t id) {
    if constexpr (std::is_same_v<T, Bytes>) {
        auto bytes = LKS_TRY(entry.optional_bytes(id));
        return bytes ? Result<Bytes>(*std::move(bytes)) : corrupt("a bound without value");
    } else {
        return entry.integer(id);
    }
}

template <class T>
Result<std::map<std::int32_t, T>> read_map(const AvroRecord& record, std::int32_t id, MapIds ids) {
    std::map<std::int32_t, T> out;
    for (const AvroValue& item : *LKS_TRY(record.list(id))) {
        const auto* const entry = std::get_if<AvroRecord>(&item.value);
        if (entry == nullptr) {
            return corrupt("Avro field {} is no map", id);
        }
        const std::int32_t key = LKS_TRY(entry->int32(ids.key));
        out[key] = LKS_TRY(entry_value<T>(*entry, ids.value));
    }
    return out;
}

template <class T>
Result<std::vector<T>> read_integers(const AvroRecord& record, std::int32_t id) {
    std::vector<T> out;
    for (const AvroValue& item : *LKS_TRY(record.list(id))) {
        const auto* const number = std::get_if<std::int64_t>(&item.value);
        if (number == nullptr || !std::in_range<T>(*number)) {
            return corrupt("Avro field {} is no list of integers", id);
        }
        out.push_back(static_cast<T>(*number));
    }
    return out;
}

/// A number that counts something; small enough to be summed up over all entries of a manifest.
Result<std::int64_t> count(const AvroRecord& record, std::int32_t id) {
    constexpr std::int64_t largest = std::int64_t{1} << 40;
    const std::int64_t value = LKS_TRY(record.integer(id));
    if (value < 0 || value > largest) {
        return corrupt("Avro field {} is {}", id, value);
    }
    return value;
}

Result<TableFile> read_file(const AvroRecord& record) {
    using Field = FileField;
    TableFile out;
    const std::int64_t content = LKS_TRY(record.optional_integer(Field::content)).value_or(0);
    if (content < 0 || content > static_cast<std::int64_t>(FileContent::equality_deletes)) {
        return corrupt("a file of unknown content {}", content);
    }
    out.content = static_cast<FileContent>(content);
    out.path = LKS_TRY(record.text(Field::path));
    out.format = LKS_TRY(record.text(Field::format));
    out.records = LKS_TRY(count(record, Field::records));
    out.bytes = LKS_TRY(count(record, Field::bytes));
    out.column_bytes =
        LKS_TRY(read_map<std::int64_t>(record, Field::column_bytes, column_bytes_ids));
    out.value_counts =
        LKS_TRY(read_map<std::int64_t>(record, Field::value_counts, value_counts_ids));
    out.null_counts = LKS_TRY(read_map<std::int64_t>(record, Field::null_counts, null_counts_ids));
    out.nan_counts = LKS_TRY(read_map<std::int64_t>(record, Field::nan_counts, nan_counts_ids));
    out.lower_bounds = LKS_TRY(read_map<Bytes>(record, Field::lower_bounds, lower_bounds_ids));
    out.upper_bounds = LKS_TRY(read_map<Bytes>(record, Field::upper_bounds, upper_bounds_ids));
    out.key_metadata = LKS_TRY(record.optional_bytes(Field::key_metadata));
    out.split_offsets = LKS_TRY(read_integers<std::int64_t>(record, Field::split_offsets));
    out.equality_ids = LKS_TRY(read_integers<std::int32_t>(record, Field::equality_ids));
    if (record.find(Field::sort_order) != nullptr) {
        out.sort_order = LKS_TRY(record.int32(Field::sort_order));
    }
    if (record.find(Field::referenced_data_file) != nullptr) {
        out.referenced_data_file = LKS_TRY(record.text(Field::referenced_data_file));
    }
    return out;
}

Result<ManifestInfo> read_info(const AvroRecord& record) {
    using Field = ListField;
    ManifestInfo out;
    out.path = LKS_TRY(record.text(Field::path));
    out.bytes = LKS_TRY(count(record, Field::bytes));
    out.spec = LKS_TRY(record.int32(Field::spec));
    out.content = LKS_TRY(record.int32(Field::content));
    out.sequence_number = LKS_TRY(count(record, Field::sequence_number));
    out.min_sequence_number = LKS_TRY(count(record, Field::min_sequence_number));
    out.added_snapshot = LKS_TRY(record.integer(Field::added_snapshot));
    out.added_files = LKS_TRY(count(record, Field::added_files));
    out.existing_files = LKS_TRY(count(record, Field::existing_files));
    out.deleted_files = LKS_TRY(count(record, Field::deleted_files));
    out.added_rows = LKS_TRY(count(record, Field::added_rows));
    out.existing_rows = LKS_TRY(count(record, Field::existing_rows));
    out.deleted_rows = LKS_TRY(count(record, Field::deleted_rows));
    for (const AvroValue& item : *LKS_TRY(record.list(Field::partitions))) {
        const auto* const summary = std::get_if<AvroRecord>(&item.value);
        if (summary == nullptr) {
            return corrupt("a manifest list with malformed partition summaries");
        }
        const auto null = LKS_TRY(summary->optional_boolean(SummaryField::contains_null));
        out.partitions.push_back({
            .contains_null = null.value_or(true),
            .contains_nan = LKS_TRY(summary->optional_boolean(SummaryField::contains_nan)),
            .lower = LKS_TRY(summary->optional_bytes(SummaryField::lower)),
            .upper = LKS_TRY(summary->optional_bytes(SummaryField::upper)),
        });
    }
    out.key_metadata = LKS_TRY(record.optional_bytes(Field::key_metadata));
    return out;
}

// Writing. Of a union of null and T, branch 1 is the T.

constexpr std::int64_t branch_null = 0;
constexpr std::int64_t branch_value = 1;

void put(codec::Writer& to, std::int64_t value) {
    to.varlong(value);
}

void put(codec::Writer& to, bool value) {
    to.boolean(value);
}

void put(codec::Writer& to, std::int32_t value) {
    to.varlong(value);
}

void put(codec::Writer& to, const std::string& value) {
    put_avro_bytes(to, value);
}

void put(codec::Writer& to, const Bytes& value) {
    put_avro_bytes(to, value.view());
}

template <class T>
void put_optional(codec::Writer& to, const std::optional<T>& value) {
    to.varlong(value ? branch_value : branch_null);
    if (value) {
        put(to, *value);
    }
}

template <class T>
void put(codec::Writer& to, const std::pair<const std::int32_t, T>& entry) {
    put(to, entry.first);
    put(to, entry.second);
}

void put(codec::Writer& to, const FieldSummary& summary) {
    put(to, summary.contains_null);
    put_optional(to, summary.contains_nan);
    put_optional(to, summary.lower);
    put_optional(to, summary.upper);
}

/// A list or map; null when empty.
template <class Items>
void put_list(codec::Writer& to, const Items& items) {
    to.varlong(items.empty() ? branch_null : branch_value);
    if (items.empty()) {
        return;
    }
    to.varlong(static_cast<std::int64_t>(items.size()));
    for (const auto& item : items) {
        put(to, item);
    }
    to.varlong(0);
}

void put(codec::Writer& to, const TableFile& file) {
    to.varlong(static_cast<std::int64_t>(file.content));
    put(to, file.path);
    put(to, file.format);
    // The partition is a record without fields: no bytes.
    put(to, file.records);
    put(to, file.bytes);
    put_list(to, file.column_bytes);
    put_list(to, file.value_counts);
    put_list(to, file.null_counts);
    put_list(to, file.nan_counts);
    put_list(to, file.lower_bounds);
    put_list(to, file.upper_bounds);
    put_optional(to, file.key_metadata);
    put_list(to, file.split_offsets);
    put_list(to, file.equality_ids);
    put_optional(to, file.sort_order);
    put_optional(to, file.referenced_data_file);
}

void put(codec::Writer& to, const ManifestInfo& info) {
    put(to, info.path);
    put(to, info.bytes);
    put(to, info.spec);
    put(to, info.content);
    put(to, info.sequence_number);
    put(to, info.min_sequence_number);
    put(to, info.added_snapshot);
    put(to, info.added_files);
    put(to, info.existing_files);
    put(to, info.deleted_files);
    put(to, info.added_rows);
    put(to, info.existing_rows);
    put(to, info.deleted_rows);
    put_list(to, info.partitions);
    put_optional(to, info.key_metadata);
}

constexpr std::int64_t no_sequence_number = std::numeric_limits<std::int64_t>::max();

}  // namespace

TableFile to_table_file(const DataFile& file, std::string path, std::int32_t sort_order) {
    TableFile out{
        .path = std::move(path),
        .records = file.rows,
        .bytes = file.size_bytes,
        .split_offsets = file.split_offsets,
        .sort_order = sort_order,
    };
    for (const auto& [id, column] : file.columns) {
        out.column_bytes[id] = column.size_bytes;
        out.value_counts[id] = column.value_count;
        out.null_counts[id] = column.null_count;
        if (column.lower) {
            out.lower_bounds[id] = *column.lower;
        }
        if (column.upper) {
            out.upper_bounds[id] = *column.upper;
        }
    }
    return out;
}

Result<ManifestReader> ManifestReader::open(Bytes file, const ManifestInfo& info) {
    return ManifestReader(LKS_TRY(AvroReader::open(std::move(file))), info);
}

Result<std::optional<ManifestEntry>> ManifestReader::next() {
    const auto record = LKS_TRY(reader_.next());
    if (!record) {
        return std::optional<ManifestEntry>();
    }
    ManifestEntry out;
    const std::int64_t status = LKS_TRY(record->integer(EntryField::status));
    if (status < 0 || status > static_cast<std::int64_t>(EntryStatus::deleted)) {
        return corrupt("a manifest entry of unknown status {}", status);
    }
    out.status = static_cast<EntryStatus>(status);
    out.snapshot = LKS_TRY(record->optional_integer(EntryField::snapshot));
    out.sequence_number = LKS_TRY(record->optional_integer(EntryField::sequence_number));
    out.file_sequence_number = LKS_TRY(record->optional_integer(EntryField::file_sequence_number));
    const AvroValue* const file = record->find(EntryField::data_file);
    const auto* const file_record =
        file == nullptr ? nullptr : std::get_if<AvroRecord>(&file->value);
    if (file_record == nullptr) {
        return corrupt("a manifest entry without file");
    }
    out.file = LKS_TRY(read_file(*file_record));
    out.snapshot = out.snapshot.value_or(added_snapshot_);
    if (out.status == EntryStatus::added) {
        out.sequence_number = out.sequence_number.value_or(sequence_number_);
        out.file_sequence_number = out.file_sequence_number.value_or(sequence_number_);
    }
    return std::optional(std::move(out));
}

ManifestWriter::ManifestWriter(
    const ManifestHeader& header, std::int64_t snapshot, std::int64_t sequence_number
)
    : writer_(
          manifest_entry_schema,
          {{"schema", header.schema_json},
           {"schema-id", std::to_string(header.schema)},
           {"partition-spec", "[]"},
           {"partition-spec-id", std::to_string(header.spec)},
           {"format-version", "2"},
           {"content", "data"}},
          header.sync
      ) {
    info_.spec = header.spec;
    info_.added_snapshot = snapshot;
    info_.sequence_number = sequence_number;
    info_.min_sequence_number = no_sequence_number;
}

void ManifestWriter::add(const ManifestEntry& entry) {
    std::int64_t* files = nullptr;
    std::int64_t* rows = nullptr;
    switch (entry.status) {
        case EntryStatus::added:
            files = &info_.added_files;
            rows = &info_.added_rows;
            break;
        case EntryStatus::existing:
            LKS_ASSERT(entry.snapshot && entry.sequence_number && entry.file_sequence_number);
            files = &info_.existing_files;
            rows = &info_.existing_rows;
            break;
        case EntryStatus::deleted:
            files = &info_.deleted_files;
            rows = &info_.deleted_rows;
            break;
    }
    ++*files;
    *rows += entry.file.records;
    if (entry.status != EntryStatus::deleted) {
        info_.min_sequence_number = std::min(
            info_.min_sequence_number, entry.sequence_number.value_or(info_.sequence_number)
        );
    }
    codec::Writer& to = writer_.next();
    to.varlong(static_cast<std::int64_t>(entry.status));
    put_optional(to, entry.snapshot);
    put_optional(to, entry.sequence_number);
    put_optional(to, entry.file_sequence_number);
    put(to, entry.file);
}

ManifestWriter::Finished ManifestWriter::finish(std::string path) {
    Finished out{.file = writer_.finish(), .info = std::move(info_)};
    out.info.path = std::move(path);
    out.info.bytes = static_cast<std::int64_t>(out.file.size());
    if (out.info.min_sequence_number == no_sequence_number) {
        out.info.min_sequence_number = out.info.sequence_number;
    }
    return out;
}

Result<std::vector<ManifestInfo>> read_manifest_list(Bytes file) {
    AvroReader reader = LKS_TRY(AvroReader::open(std::move(file)));
    std::vector<ManifestInfo> out;
    while (const auto record = LKS_TRY(reader.next())) {
        out.push_back(LKS_TRY(read_info(*record)));
    }
    return out;
}

Bytes write_manifest_list(const ManifestListHeader& header, const std::vector<ManifestInfo>& rows) {
    std::map<std::string, std::string> metadata{
        {"snapshot-id", std::to_string(header.snapshot)},
        {"sequence-number", std::to_string(header.sequence_number)},
        {"format-version", "2"},
    };
    metadata["parent-snapshot-id"] = header.parent ? std::to_string(*header.parent) : "null";
    AvroWriter writer(manifest_list_schema, metadata, header.sync);
    for (const ManifestInfo& row : rows) {
        put(writer.next(), row);
    }
    return writer.finish();
}

}  // namespace lakestream::table::iceberg
