// SPDX-License-Identifier: Apache-2.0
// inspect: stored things as JSON lines.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "cli/commands.h"
#include "cli/text.h"
#include "codec/record_batch.h"
#include "index/key.h"
#include "index/record.h"
#include "log/fold.h"
#include "log/index_scan.h"
#include "server/blocking.h"
#include "server/leaves.h"
#include "table/compacted_index.h"
#include "table/whole_pair.h"
#include "wal/object_format.h"

namespace lakestream::cli {

using nlohmann::json;

namespace {

Status print(const json& line) {
    return put_line(line.dump());
}

json batch_json(std::span<const std::byte> entry) {
    json batches = json::array();
    while (!entry.empty()) {
        const auto header = codec::read_batch_header(entry);
        if (!header.ok()) {
            batches.push_back({{"error", header.error().to_string()}});
            break;
        }
        batches.push_back({
            {"bytes", header->size()},
            {"records", header->record_count},
            {"codec", codec::to_string(header->codec())},
            {"base_timestamp", header->base_timestamp},
            {"max_timestamp", header->max_timestamp},
            {"producer_id", header->producer_id},
            {"producer_epoch", header->producer_epoch},
            {"base_sequence", header->base_sequence},
            {"crc_ok", codec::check_batch_crc(*header, entry).ok()},
        });
        entry = entry.subspan(header->size());
    }
    return batches;
}

json index_json(const meta::Record& record) {
    json line = {
        {"kind", "index"},
        {"key", record.key},
        {"created", to_ms(record.version.created)},
    };
    if (record.version.identity.has_value()) {
        line["writer"] = *record.version.identity;
    }
    const auto key = index::parse_key(record.key);
    const auto value = index::IndexRecord::decode(record.value);
    if (!key.ok() || !value.ok()) {
        line["error"] = key.ok() ? value.error().to_string() : key.error().to_string();
        return line;
    }
    line["log"] = key->log.v;
    line["begin"] = (key->end - value->message_count).v;
    line["end"] = key->end.v;
    line["cumulative_bytes"] = key->cumulative;
    line["object"] = value->location;
    line["file_type"] = value->file_type == index::FileType::raw ? "raw" : "parquet";
    line["bytes"] = value->entry_size_bytes;
    line["object_bytes"] = value->file_size;
    if (const auto records = value->entry_records(); records.ok()) {
        line["entry_records"] = *records;
    }
    if (value->extension.has_value()) {
        line["crc32c"] = value->extension->crc32c;
        line["max_timestamp"] = value->extension->max_timestamp;
        json& producers = line["producers"] = json::array();
        for (const index::ProducerEntry& producer : value->extension->producers) {
            producers.push_back({
                {"entry", producer.entry},
                {"id", producer.producer_id},
                {"epoch", producer.epoch},
                {"sequence", producer.base_sequence},
            });
        }
    }
    return line;
}

void put_fold(json& line, const log::FoldState& state) {
    line["end"] = state.end.v;
    line["max_created"] = to_ms(state.max_created);
    for (const auto& [id, writer] : state.writers) {
        line["writers"].push_back({{"id", id}, {"last", writer.last}, {"date", to_ms(writer.date)}}
        );
    }
    for (const auto& [id, producer] : state.producers) {
        json batches = json::array();
        for (const log::FoldState::Batch& batch : producer.batches) {
            batches.push_back({
                {"first", batch.first_sequence},
                {"last", batch.last_sequence},
                {"offset", batch.offset.v},
            });
        }
        line["producers"].push_back(
            {{"id", id}, {"epoch", producer.epoch}, {"batches", std::move(batches)}}
        );
    }
    line["voids_from"] = state.voids_from.v;
    for (const OffsetRange& range : state.voids) {
        line["voids"].push_back({{"begin", range.begin.v}, {"end", range.end.v}});
    }
}

json meta_json(const meta::Record& record) {
    json line = {
        {"kind", "meta"},
        {"key", record.key},
        {"version", record.version.id.v},
        {"created", to_ms(record.version.created)},
        {"modified", to_ms(record.version.modified)},
    };
    if (record.key.starts_with("/lks/fold/")) {
        const auto state = log::decode_fold(record.value);
        if (state.ok()) {
            put_fold(line["fold"], *state);
            return line;
        }
        line["error"] = state.error().to_string();
    }
    put_bytes(line, "value", record.value.span());
    return line;
}

rt::Task<Status> print_index(meta::MetadataStore& store, LogId log) {
    log::IndexScan scan(store, log, Offset(0), std::nullopt);
    while (true) {
        const auto page = LKS_CO_TRY(co_await scan.next());
        if (page.empty()) {
            co_return Status();
        }
        for (const meta::Record& record : page) {
            LKS_CO_TRY(print(index_json(record)));
        }
    }
}

/// Every record whose key begins with `prefix`.
rt::Task<Status> print_meta(meta::MetadataStore& store, std::string prefix) {
    const auto scan = store.scan({});  // prefixes are no ranges in hierarchical order
    while (true) {
        const auto page = LKS_CO_TRY(co_await scan->next());
        if (page.empty()) {
            co_return Status();
        }
        for (const meta::Record& record : page) {
            if (record.key.starts_with(prefix)) {
                LKS_CO_TRY(print(
                    index::parse_key(record.key).ok() ? index_json(record) : meta_json(record)
                ));
            }
        }
    }
}

/// A file of a pair, whole. Errors name it.
Result<Bytes> read_half(const std::string& path) {
    auto read = read_file(path);
    if (!read.ok()) {
        return not_found(
            "cannot read {}: a compacted object is a pair of a .parquet and an .index file with "
            "one "
            "name; restore the one that is missing from a copy",
            path
        );
    }
    return Bytes::own(std::move(*read));
}

Error damaged(Error error, const std::string& path) {
    if (error.code == ErrorCode::corrupt) {
        error.message += "; keep the file, and restore it from a copy";
    }
    return std::move(error).with_context(path);
}

Status print_entries(table::WholePair& pair, const std::vector<table::EntryHeader>& headers) {
    constexpr std::uint64_t read_bytes = 1 << 20;
    for (std::size_t i = 0; i < headers.size();) {
        for (const table::CompactedEntry& entry :
             LKS_TRY(pair.read(headers[i].offset, read_bytes))) {
            LKS_TRY(print({
                {"kind", "entry"},
                {"begin", entry.range.begin.v},
                {"end", entry.range.end.v},
                {"records", entry.range.count()},
                {"timestamp", entry.timestamp_ms},
                {"bytes", entry.payload.size()},
                {"cumulative_bytes", entry.cumulative_size},
                {"batches", batch_json(entry.payload.span())},
            }));
            ++i;
        }
    }
    return {};
}

}  // namespace

Status inspect_compacted(const std::string& file) {
    const std::filesystem::path path(file);
    if (path.extension() != ".parquet" && path.extension() != ".index") {
        return invalid_argument("{}: a .parquet or .index file is wanted", file);
    }
    const std::string parquet = std::filesystem::path(path).replace_extension(".parquet").string();
    const std::string index = std::filesystem::path(path).replace_extension(".index").string();
    const Bytes index_bytes = LKS_TRY(read_half(index));
    const Bytes parquet_bytes = LKS_TRY(read_half(parquet));
    const auto headers = table::decode_compacted_index(index_bytes);
    if (!headers.ok()) {
        return damaged(headers.error(), index);
    }
    const auto files = LKS_TRY(table::load_table_files());
    auto pair = table::WholePair::open(*files, parquet_bytes, index_bytes);
    if (!pair.ok()) {
        return damaged(pair.error(), parquet);
    }
    json line = {
        {"kind", "compacted"},
        {"file", parquet},
        {"bytes", parquet_bytes.size()},
        {"index_bytes", index_bytes.size()},
        {"entries", headers->size()},
        {"footer", pair->footer()},
    };
    std::int64_t records = 0;
    std::int64_t payload = 0;
    for (const table::EntryHeader& header : *headers) {
        records += header.records;
        payload += header.size_bytes;
    }
    line["records"] = records;
    line["payload_bytes"] = payload;
    if (!headers->empty()) {
        line["begin"] = headers->front().offset.v;
        line["end"] = headers->back().range().end.v;
    }
    LKS_TRY(print(line));
    const Status printed = print_entries(*pair, *headers);
    return printed.ok() ? Status() : Status(damaged(printed.error(), parquet));
}

Status inspect_wal(const std::string& file) {
    const Bytes body = Bytes::own(LKS_TRY(read_file(file)));
    const auto header = wal::ObjectHeader::parse(body.span());
    if (!header.ok()) {
        return Error(header.error()).with_context(file + " is no WAL object, or damaged");
    }
    LKS_TRY(print({
        {"kind", "wal"},
        {"bytes", body.size()},
        {"payload_begin", header->payload_begin()},
        {"sections", header->sections().size()},
    }));
    for (const wal::Section& section : header->sections()) {
        for (std::size_t i = 0; i < section.entries.size(); ++i) {
            const wal::EntryPlace& place = section.entries[i];
            json line = {
                {"kind", "entry"},
                {"log", section.log.v},
                {"entry", i},
                {"offset", place.offset},
                {"bytes", place.length},
                {"records", place.records},
            };
            const std::uint64_t begin = header->payload_begin() + place.offset;
            if (begin + place.length > body.size()) {
                line["error"] = "ends behind the object";
            } else {
                line["batches"] = batch_json(body.span().subspan(begin, place.length));
            }
            LKS_TRY(print(line));
        }
    }
    return {};
}

Status inspect_index(const server::Settings& settings, const std::string& log) {
    const LogId id(LKS_TRY(parse_integer(log)));
    const auto leaves = LKS_TRY(server::Leaves::open(settings, server::Open::existing));
    return server::run_blocking(leaves->loops()[0], print_index(leaves->metadata(), id));
}

Status inspect_meta(const server::Settings& settings, const std::string& key) {
    const auto leaves = LKS_TRY(server::Leaves::open(settings, server::Open::existing));
    return server::run_blocking(leaves->loops()[0], print_meta(leaves->metadata(), key));
}

}  // namespace lakestream::cli
