// SPDX-License-Identifier: Apache-2.0
// Finding tables and opening their files.
#include "cli/stored_tables.h"

#include <utility>

#include "base/endian.h"
#include "base/format.h"
#include "cli/text.h"
#include "table/bytes_file.h"

namespace lakestream::cli {

namespace iceberg = table::iceberg;

namespace {

/// A file the table needs: that it is not there is damage.
Error missing_is_corrupt(Error error) {
    if (error.code == ErrorCode::not_found) {
        return corrupt("missing: {}", error.message);
    }
    return error;
}

Error in_file(Error error, const iceberg::TableFile& file) {
    return missing_is_corrupt(std::move(error))
        .with_context(fmt::format("data file {}", file.path));
}

/// Rows of a file that has as many as its metadata says. Errors name the file.
class CheckedRows final : public table::DataFileReader {
  public:
    CheckedRows(
        const iceberg::TableFile& file, Length length, std::unique_ptr<table::DataFileReader> rows
    )
        : file_(file), length_(length), rows_(std::move(rows)) {}

    Result<std::optional<table::Row>> next() override {
        auto row = rows_->next();
        if (!row.ok()) {
            return in_file(std::move(row.error()), file_);
        }
        read_ += row->has_value() ? 1 : 0;
        if (!row->has_value() && length_ == Length::exact && read_ != file_.records) {
            return in_file(
                corrupt("has {} rows, the table's metadata says {}", read_, file_.records), file_
            );
        }
        return row;
    }

  private:
    const iceberg::TableFile& file_;
    const Length length_;
    std::unique_ptr<table::DataFileReader> rows_;
    std::int64_t read_ = 0;
};

/// A bound of a column as a number; none when there is none of that size.
template <std::integral T>
std::optional<std::int64_t> bound_of(
    const std::map<std::int32_t, Bytes>& bounds, std::int32_t field
) {
    const auto found = bounds.find(field);
    if (found == bounds.end() || found->second.size() != sizeof(T)) {
        return std::nullopt;
    }
    return load_le<T>(found->second.data());
}

/// The first two folders of a name; empty when it has fewer.
std::string folder_of(std::string_view name) {
    const std::size_t first = name.find('/');
    const std::size_t second = first == name.npos ? name.npos : name.find('/', first + 1);
    return std::string(second == name.npos ? std::string_view() : name.substr(0, second));
}

}  // namespace

Bounds partition_bounds(const iceberg::TableFile& file) {
    constexpr std::int32_t field = 1;
    return {
        bound_of<std::int32_t>(file.lower_bounds, field),
        bound_of<std::int32_t>(file.upper_bounds, field)
    };
}

Bounds offset_bounds(const iceberg::TableFile& file) {
    constexpr std::int32_t field = 2;
    return {
        bound_of<std::int64_t>(file.lower_bounds, field),
        bound_of<std::int64_t>(file.upper_bounds, field)
    };
}

std::string table_folder(std::string_view topic) {
    return topic.find('/') == topic.npos ? fmt::format("default/{}", topic) : std::string(topic);
}

std::string why_suspended(const LoadedTable& table, std::string stream) {
    if (stream.empty() && table.position.ok()) {
        stream = table.position->stream;
    }
    iceberg::AppendPlan plan = iceberg::plan_append(
        table.version.metadata, {.table = {}, .stream = std::move(stream)}, {}
    );
    return plan.verdict == iceberg::Verdict::suspended ? std::move(plan.reason) : std::string();
}

std::string suspended_remedy(std::string_view folder) {
    return fmt::format(
        "`lakestream table take-over {0}` starts it again from this topic; or stop the node, move "
        "tables/{0} out of the data folder and start: the table is made again",
        folder
    );
}

std::string table_remedy(std::string_view folder) {
    return fmt::format(
        "restore the file from a copy; or stop the node, move tables/{} out of the data folder and "
        "start: the table is made again from the topic",
        folder
    );
}

Error table_error(Error error, std::string_view folder) {
    if (error.code == ErrorCode::not_found) {
        return not_found(
            "there is no table {}; `lakestream table list` shows those that are", folder
        );
    }
    if (error.code == ErrorCode::corrupt) {
        error.message = fmt::format("{}; {}", error.message, table_remedy(folder));
    }
    return std::move(error).with_context(fmt::format("table {}", folder));
}

iceberg::FileTable StoredTables::table_of(const std::string& folder) const {
    return {seams_.store, seams_.offloader, {.folder = folder, .location = {}}};
}

Result<std::vector<std::string>> StoredTables::list() {
    std::vector<std::string> folders;
    std::string after;
    while (true) {
        const auto page = LKS_TRY(run(seams_.store.list("", after, 1)));
        if (page.objects.empty()) {
            return folders;
        }
        after = page.objects.front().name;
        if (std::string folder = folder_of(after); !folder.empty()) {
            constexpr char after_slash = '/' + 1;
            after = fmt::format("{}{}", folder, after_slash);
            folders.push_back(std::move(folder));
        }
    }
}

/// A hint that is ahead names a version that is lost: an older one would be a wrong answer.
Status StoredTables::check_hint(const std::string& folder, std::int64_t newest) {
    const std::string name = fmt::format("{}/metadata/version-hint.text", folder);
    const auto hint = run(seams_.store.get(name, std::nullopt));
    if (hint.is(ErrorCode::not_found)) {
        return {};
    }
    const std::string_view text = hint.ok() ? hint->view() : std::string_view();
    const auto version = parse_integer(text.substr(0, text.find_last_not_of(" \n") + 1));
    if (!version.ok()) {
        return corrupt(
            "{}: {}; the newest version that is there is {}: write that number into it",
            name,
            hint.ok() ? version.error().message : hint.error().message,
            newest
        );
    }
    if (*version > newest) {
        return corrupt(
            "{0}/metadata/v{1}.metadata.json is missing: {0}/metadata/version-hint.text names it, "
            "the newest that is there is v{2}",
            folder,
            *version,
            newest
        );
    }
    return {};
}

Result<LoadedTable> StoredTables::load(const std::string& folder) {
    iceberg::FileTable table = table_of(folder);
    LoadedTable out{
        .folder = folder,
        .version = LKS_TRY(run(table.load())),
        .position = not_found("not read"),
        .data = {},
    };
    LKS_TRY(check_hint(folder, out.version.version));
    const iceberg::TableMetadata& metadata = out.version.metadata;
    out.position = iceberg::position_of(metadata);
    if (!metadata.current_snapshot) {
        return out;
    }
    if (out.snapshot() == nullptr) {
        return corrupt(
            "{}/metadata/v{}.metadata.json: its current snapshot {} is missing",
            folder,
            out.version.version,
            *metadata.current_snapshot
        );
    }
    auto files = run(table.load_files(metadata, *out.snapshot()));
    if (!files.ok()) {
        return missing_is_corrupt(std::move(files.error()));
    }
    for (iceberg::TableFile& file : *files) {
        if (file.content == iceberg::FileContent::data) {
            out.data.push_back(std::move(file));
        } else {
            ++out.delete_files;
        }
    }
    return out;
}

Result<std::unique_ptr<table::DataFileReader>> StoredTables::read(
    const LoadedTable& table, const iceberg::TableFile& file, Length length
) {
    if (file.format != "PARQUET") {
        return unsupported("format {}: only PARQUET is read", file.format);
    }
    const std::string name =
        LKS_TRY(table_of(table.folder).object_name(table.version.metadata, file.path));
    Bytes bytes = LKS_TRY(run(seams_.store.get(name, std::nullopt)));
    if (length == Length::exact && bytes.size() != static_cast<std::uint64_t>(file.bytes)) {
        return corrupt("has {} bytes, the table's metadata says {}", bytes.size(), file.bytes);
    }
    table::TableFiles* const files = LKS_TRY(seams_.loader.get());
    return files->read_data_file(std::make_unique<table::BytesFile>(std::move(bytes)));
}

Result<std::unique_ptr<table::DataFileReader>> StoredTables::open(
    const LoadedTable& table, const iceberg::TableFile& file, Length length
) {
    auto rows = read(table, file, length);
    if (!rows.ok()) {
        return in_file(std::move(rows.error()), file);
    }
    return std::make_unique<CheckedRows>(file, length, *std::move(rows));
}

Result<iceberg::CommitResult> StoredTables::take_over(
    const std::string& folder, std::string stream
) {
    iceberg::FileTable table = table_of(folder);
    return run(table.take_over(std::move(stream)));
}

Status StoredTables::probe(const LoadedTable& table, const std::string& location) {
    const std::string name =
        LKS_TRY(table_of(table.folder).object_name(table.version.metadata, location));
    const auto found = run(seams_.store.head(name));
    return found.ok() ? Status() : Status(missing_is_corrupt(found.error()));
}

}  // namespace lakestream::cli
