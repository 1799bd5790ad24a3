// SPDX-License-Identifier: Apache-2.0
// table list, describe, scan, take-over: the Iceberg tables of a data folder.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/uuid.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "cli/stored_tables.h"
#include "cli/text.h"
#include "cli/topic_info.h"
#include "objstore/local/local_store.h"
#include "rt/epoll/threads.h"

namespace lakestream::cli {

namespace iceberg = table::iceberg;
using nlohmann::json;

namespace {

/// The folder `tables` of a data folder, and what reading it takes.
class TablesFolder {
  public:
    static Result<std::unique_ptr<TablesFolder>> open(const std::string& data_dir) {
        const std::string path = fmt::format("{}/tables", data_dir);
        std::error_code failed;
        if (!std::filesystem::is_directory(path, failed)) {
            return not_found(
                "there is no folder {}: --data-dir is the folder of a node that writes tables", path
            );
        }
        std::unique_ptr<TablesFolder> folder(new TablesFolder);
        LKS_TRY(folder->loops_.started());
        LKS_TRY(folder->io_.started());
        folder->store_ = LKS_TRY(objstore::LocalStore::open(
            path,
            {.gets = folder->io_, .others = folder->io_},
            folder->clock_,
            rt::system_rng().next()
        ));
        return folder;
    }

    StoredTables tables() {
        return StoredTables(
            {.store = *store_, .executor = loops_[0], .offloader = io_, .loader = loader_}
        );
    }

    std::int64_t now_ms() const { return to_ms(clock_.wall_now()); }

  private:
    TablesFolder() : loops_(clock_, 1), io_("io", 1, rt::ThreadPriority::normal) {}

    rt::SystemClock clock_;
    rt::LoopThreads loops_;
    rt::ThreadPool io_;
    compact::TableFilesLoader loader_;
    std::unique_ptr<objstore::LocalStore> store_;
};

struct Totals {
    std::int64_t rows = 0;
    std::int64_t bytes = 0;
};

Totals totals_of(const LoadedTable& table) {
    Totals totals;
    for (const iceberg::TableFile& file : table.data) {
        totals.rows += file.records;
        totals.bytes += file.bytes;
    }
    return totals;
}

std::string topic_of(const std::string& folder) {
    return folder.substr(folder.find('/') + 1);
}

json summary_json(const LoadedTable& table, std::int64_t now_ms) {
    const Totals totals = totals_of(table);
    json line = {
        {"namespace", table.folder.substr(0, table.folder.find('/'))},
        {"topic", topic_of(table.folder)},
        {"rows", totals.rows},
        {"files", table.data.size()},
        {"bytes", totals.bytes},
        {"version", table.version.version},
        {"snapshot", nullptr},
    };
    if (const iceberg::Snapshot* const snapshot = table.snapshot(); snapshot != nullptr) {
        line["snapshot"] = snapshot->id;
        line["committed"] = snapshot->timestamp_ms;
        line["age_ms"] = std::max<std::int64_t>(now_ms - snapshot->timestamp_ms, 0);
    }
    if (std::string why = why_suspended(table, {}); !why.empty()) {
        line["suspended"] = std::move(why);
    }
    return line;
}

std::string age_text(std::int64_t ms) {
    const std::int64_t seconds = ms / 1000;
    if (seconds < 120) {
        return fmt::format("{} s", seconds);
    }
    if (seconds < 2 * 3600) {
        return fmt::format("{} min", seconds / 60);
    }
    return seconds < 2 * 86400 ? fmt::format("{} h", seconds / 3600)
                               : fmt::format("{} days", seconds / 86400);
}

Status print_summary(const json& line, RecordFormat format) {
    if (format == RecordFormat::json) {
        return put_line(line.dump());
    }
    return put_line(fmt::format(
        "{}/{}: {} rows, {} files, {} bytes, snapshot {}, {}{}",
        line["namespace"].get<std::string>(),
        line["topic"].get<std::string>(),
        line["rows"].get<std::int64_t>(),
        line["files"].get<std::size_t>(),
        line["bytes"].get<std::int64_t>(),
        line["snapshot"].dump(),
        line.contains("age_ms")
            ? fmt::format("last commit {} ago", age_text(line["age_ms"].get<std::int64_t>()))
            : "no commit",
        line.contains("suspended")
            ? fmt::format(", suspended: {}", line["suspended"].get<std::string>())
            : ""
    ));
}

Result<LoadedTable> load_table(StoredTables& tables, const std::string& topic) {
    const std::string folder = table_folder(topic);
    auto table = tables.load(folder);
    if (!table.ok()) {
        return table_error(std::move(table.error()), folder);
    }
    return table;
}

json bounds_json(const iceberg::TableFile& file) {
    const auto number = [](std::optional<std::int64_t> value) {
        return value.has_value() ? json(*value) : json(nullptr);
    };
    const Bounds partitions = partition_bounds(file);
    const Bounds offsets = offset_bounds(file);
    return {
        {"partition_min", number(partitions.lower)},
        {"partition_max", number(partitions.upper)},
        {"offset_min", number(offsets.lower)},
        {"offset_max", number(offsets.upper)},
    };
}

/// The current schema as the metadata has it: fields with ids and types.
json fields_of(const iceberg::TableMetadata& metadata) {
    const iceberg::Numbered* const schema = metadata.find_schema(metadata.current_schema);
    if (schema == nullptr) {
        return json::array();
    }
    const json parsed = json::parse(schema->json, nullptr, false);
    return parsed.is_object() && parsed.contains("fields") ? parsed["fields"] : json::array();
}

json describe_json(const LoadedTable& table, std::int64_t now_ms) {
    json line = summary_json(table, now_ms);
    const iceberg::TableMetadata& metadata = table.version.metadata;
    line["uuid"] = metadata.uuid;
    line["location"] = metadata.location;
    line["schema"] = fields_of(metadata);
    line["snapshots"] = metadata.snapshots.size();
    line["delete_files"] = table.delete_files;
    if (table.position.ok()) {
        line["stream"] = table.position->stream;
        json& next = line["next"] = json::object();
        for (const auto& [log, offset] : table.position->next) {
            next[std::to_string(log.v)] = offset.v;
        }
    }
    json& files = line["data"] = json::array();
    for (const iceberg::TableFile& file : table.data) {
        json one = {{"file", file.path}, {"rows", file.records}, {"bytes", file.bytes}};
        one.update(bounds_json(file));
        files.push_back(std::move(one));
    }
    return line;
}

/// `type` of a field: a word, or a nested type in short.
std::string type_text(const json& type) {
    if (type.is_string()) {
        return type.get<std::string>();
    }
    return type.is_object() ? type.value("type", "?") : "?";
}

Status print_fields(const json& fields) {
    for (const json& field : fields) {
        if (!field.is_object()) {
            continue;
        }
        LKS_TRY(put_line(fmt::format(
            "  {} {} {}{}",
            field.value("id", 0),
            field.value("name", "?"),
            type_text(field.value("type", json())),
            field.value("required", false) ? ", required" : ""
        )));
    }
    return {};
}

Status print_description(const json& line) {
    LKS_TRY(print_summary(line, RecordFormat::text));
    LKS_TRY(put_line(fmt::format("location: {}", line["location"].get<std::string>())));
    LKS_TRY(put_line("columns, by field id:"));
    LKS_TRY(print_fields(line["schema"]));
    if (line.contains("next")) {
        LKS_TRY(put_line("committed up to, by log:"));
        for (const auto& [log, offset] : line["next"].items()) {
            LKS_TRY(put_line(fmt::format("  log {}: {}", log, offset.dump())));
        }
    }
    LKS_TRY(put_line("files:"));
    for (const json& file : line["data"]) {
        LKS_TRY(put_line(fmt::format(
            "  {}: {} rows, {} bytes, partitions {} to {}, offsets {} to {}",
            file["file"].get<std::string>(),
            file["rows"].dump(),
            file["bytes"].dump(),
            file["partition_min"].dump(),
            file["partition_max"].dump(),
            file["offset_min"].dump(),
            file["offset_max"].dump()
        )));
    }
    return {};
}

/// Prints rows until there are enough.
class Scanner {
  public:
    explicit Scanner(const Scan& options) : options_(options) {}

    bool full() const { return options_.limit.has_value() && printed_ >= *options_.limit; }

    /// Whether a file's statistics leave it a chance.
    bool may_match(const iceberg::TableFile& file) const {
        const Bounds partitions = partition_bounds(file);
        const std::int64_t partition = options_.partition.value_or(0);
        const bool elsewhere =
            options_.partition.has_value() && (partitions.lower.value_or(partition) > partition ||
                                               partitions.upper.value_or(partition) < partition);
        const std::int64_t offset = options_.offset.value_or(0);
        return !elsewhere && offset_bounds(file).upper.value_or(offset) >= offset;
    }

    Status read(table::DataFileReader& rows) {
        while (!full()) {
            const auto row = LKS_TRY(rows.next());
            if (!row.has_value()) {
                return {};
            }
            if ((!options_.partition.has_value() || row->partition == *options_.partition) &&
                (!options_.offset.has_value() || row->offset >= *options_.offset)) {
                LKS_TRY(print(*row));
                ++printed_;
            }
        }
        return {};
    }

  private:
    Status print(const table::Row& row) const {
        json line = {
            {"partition", row.partition}, {"offset", row.offset}, {"timestamp", row.timestamp_ms}
        };
        put_bytes(line, "key", row.key);
        put_bytes(line, "value", row.value);
        if (!row.headers.empty()) {
            json& headers = line["headers"] = json::array();
            for (const table::RowHeader& header : row.headers) {
                json& one = headers.emplace_back(json::object());
                put_bytes(one, "key", std::as_bytes(std::span(header.key)));
                put_bytes(one, "value", header.value);
            }
        }
        return put_line(options_.format == RecordFormat::json ? line.dump() : as_text(line));
    }

    /// Columns with tabs between; the last ones as JSON, so that null and "" differ.
    static std::string as_text(const json& line) {
        std::string text = fmt::format(
            "{}\t{}\t{}", line["partition"].dump(), line["offset"].dump(), line["timestamp"].dump()
        );
        for (const std::string name : {"key", "value"}) {
            const auto encoded = line.find(name + "_base64");
            text += encoded == line.end() ? fmt::format("\t{}", line[name].dump())
                                          : fmt::format("\tbase64:{}", encoded->get<std::string>());
        }
        return line.contains("headers") ? fmt::format("{}\t{}", text, line["headers"].dump())
                                        : text;
    }

    const Scan& options_;
    std::uint64_t printed_ = 0;
};

/// The stream that feeds a topic's table.
struct FindStream {
    std::string topic;
    std::string& stream;

    rt::Task<Status> operator()(Broker& broker) {
        const auto found = LKS_CO_TRY(co_await load_topic(broker, topic));
        stream = uuid_text(found.topic_id.bytes);
        co_return Status();
    }
};

}  // namespace

Result<Exit> table_list(const std::string& data_dir, RecordFormat format) {
    const auto folder = LKS_TRY(TablesFolder::open(data_dir));
    StoredTables tables = folder->tables();
    Exit exit = Exit::ok;
    for (const std::string& name : LKS_TRY(tables.list())) {
        const auto table = tables.load(name);
        if (table.is(ErrorCode::not_found)) {
            continue;  // another's folder, or a table that is being made
        }
        if (table.ok()) {
            LKS_TRY(print_summary(summary_json(*table, folder->now_ms()), format));
        } else {
            complain(table_error(table.error(), name).message);
            exit = Exit::failed;
        }
    }
    return exit;
}

Status table_describe(const std::string& data_dir, const std::string& topic, RecordFormat format) {
    const auto folder = LKS_TRY(TablesFolder::open(data_dir));
    StoredTables tables = folder->tables();
    const LoadedTable table = LKS_TRY(load_table(tables, topic));
    const json line = describe_json(table, folder->now_ms());
    return format == RecordFormat::json ? put_line(line.dump()) : print_description(line);
}

Status table_scan(const std::string& data_dir, const Scan& options) {
    const auto folder = LKS_TRY(TablesFolder::open(data_dir));
    StoredTables tables = folder->tables();
    const LoadedTable table = LKS_TRY(load_table(tables, options.topic));
    if (table.delete_files > 0) {
        return unsupported(
            "table {} has {} delete files of another engine, which are not applied here: read it "
            "with that engine",
            table.folder,
            table.delete_files
        );
    }
    Scanner scanner(options);
    for (const iceberg::TableFile& file : table.data) {
        if (scanner.full()) {
            break;
        }
        if (!scanner.may_match(file)) {
            continue;
        }
        const auto rows = tables.open(table, file, Length::exact);
        const Status read = rows.ok() ? scanner.read(**rows) : Status(rows.error());
        if (!read.ok()) {
            return table_error(read.error(), table.folder);
        }
    }
    return {};
}

Status table_take_over(
    const std::string& data_dir, const std::string& bootstrap, const std::string& topic
) {
    const auto folder = LKS_TRY(TablesFolder::open(data_dir));
    StoredTables tables = folder->tables();
    const LoadedTable table = LKS_TRY(load_table(tables, topic));
    std::string stream;
    Session session;
    LKS_TRY(session.run(
        with_broker(session.network(), bootstrap, FindStream{topic_of(table.folder), stream})
    ));
    const auto done = tables.take_over(table.folder, std::move(stream));
    if (!done.ok()) {
        return table_error(done.error(), table.folder);
    }
    if (done->verdict == iceberg::Verdict::suspended) {
        return unsupported("table {}: {}", table.folder, done->reason);
    }
    if (done->verdict == iceberg::Verdict::nothing_new) {
        return put_line(fmt::format("{}: belongs to this topic already", table.folder));
    }
    const iceberg::Snapshot* const before = table.snapshot();
    return put_line(fmt::format(
        "{}: version {} is empty and follows the topic from its beginning{}",
        table.folder,
        done->version,
        before == nullptr ? "" : fmt::format("; the rows before are in snapshot {}", before->id)
    ));
}

}  // namespace lakestream::cli
