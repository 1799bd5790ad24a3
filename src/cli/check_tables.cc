// SPDX-License-Identifier: Apache-2.0
// check: Iceberg tables. Whether their rows are the topic's is what `table verify` compares.
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/format.h"
#include "base/uuid.h"
#include "catalog/stored_stream.h"
#include "cli/check_parts.h"
#include "cli/log_rows.h"
#include "cli/stored_tables.h"
#include "server/blocking.h"

namespace lakestream::cli {

namespace iceberg = table::iceberg;

namespace {

/// Smallest and largest of the numbers seen.
struct Span {
    std::int64_t lower = std::numeric_limits<std::int64_t>::max();
    std::int64_t upper = std::numeric_limits<std::int64_t>::min();

    void add(std::int64_t value) {
        lower = std::min(lower, value);
        upper = std::max(upper, value);
    }
    /// Statistics that others left out are no contradiction.
    bool agrees(const Bounds& bounds) const {
        return bounds.lower.value_or(lower) == lower && bounds.upper.value_or(upper) == upper;
    }
};

class TableChecker {
  public:
    TableChecker(
        StoredTables& tables, const LoadedTable& table, catalog::StreamPtr stream, Report& report
    )
        : tables_(tables), table_(table), stream_(std::move(stream)), report_(report) {}

    Status run() {
        check_position();
        check_older_files();
        std::int64_t rows = 0;
        for (const iceberg::TableFile& file : table_.data) {
            rows += file.records;
            check_file(file);
            LKS_TRY(report_.output());
        }
        check_total(rows);
        return report_.output();
    }

  private:
    void damage(const std::string& what) {
        report_.problem("table {}: {}; {}", table_.folder, what, table_remedy(table_.folder));
    }

    /// Says what the committer says.
    void check_position() {
        if (stream_ == nullptr) {
            report_.note("table {} is of a topic that was deleted", table_.folder);
            return;
        }
        const std::string stream = uuid_text(stream_->incarnation);
        if (const std::string why = why_suspended(table_, stream); !why.empty()) {
            report_.problem(
                "table {}: suspended, nothing is committed to it: {}; {}",
                table_.folder,
                why,
                suspended_remedy(table_.folder)
            );
        }
        if (table_.position.ok() && table_.position->stream != stream) {
            stream_ = nullptr;  // its offsets are those of an earlier topic
        }
    }

    /// Versions have no gaps, and older snapshots are still offered to readers.
    void check_older_files() {
        const iceberg::TableMetadata& metadata = table_.version.metadata;
        for (const iceberg::MetadataLogEntry& entry : metadata.metadata_log) {
            probe(entry.file);
        }
        for (const iceberg::Snapshot& snapshot : metadata.snapshots) {
            if (snapshot.id != metadata.current_snapshot) {
                probe(snapshot.manifest_list);
            }
        }
    }

    void probe(const std::string& location) {
        if (const Status found = tables_.probe(table_, location); !found.ok()) {
            damage(fmt::format("file {}: {}", location, found.error()));
        }
    }

    void check_file(const iceberg::TableFile& file) {
        Span partitions;
        Span offsets;
        const Status read = read_rows(file, partitions, offsets);
        if (!read.ok()) {
            damage(read.error().to_string());
            return;
        }
        if (!partitions.agrees(partition_bounds(file)) || !offsets.agrees(offset_bounds(file))) {
            damage(fmt::format(
                "data file {}: holds partitions {} to {} and offsets {} to {}, the manifest says "
                "otherwise",
                file.path,
                partitions.lower,
                partitions.upper,
                offsets.lower,
                offsets.upper
            ));
        }
    }

    Status read_rows(const iceberg::TableFile& file, Span& partitions, Span& offsets) {
        const auto rows = LKS_TRY(tables_.open(table_, file, Length::exact));
        while (true) {
            const auto row = LKS_TRY(rows->next());
            if (!row.has_value()) {
                return {};
            }
            partitions.add(row->partition);
            offsets.add(row->offset);
            const Offset committed = committed_of(row->partition);
            if (row->offset < 0 || Offset(row->offset) >= committed) {
                return corrupt(
                    "data file {}: holds offset {} of partition {}, the table is committed up to "
                    "{}",
                    file.path,
                    row->offset,
                    row->partition,
                    committed
                );
            }
        }
    }

    /// Not known without a position and its topic: then anything goes.
    Offset committed_of(std::int32_t partition) const {
        if (!table_.position.ok() || stream_ == nullptr) {
            return Offset(std::numeric_limits<std::int64_t>::max());
        }
        const auto at = static_cast<std::size_t>(partition);
        return partition < 0 || at >= stream_->logs.size() ? Offset(0)
                                                           : table_.position->of(stream_->logs[at]);
    }

    void check_total(std::int64_t rows) {
        const iceberg::Snapshot* const snapshot = table_.snapshot();
        if (snapshot == nullptr) {
            return;
        }
        const auto said = snapshot->summary.find("total-records");
        if (said != snapshot->summary.end() && said->second != std::to_string(rows)) {
            damage(fmt::format(
                "snapshot {} says {} rows, its manifests {}", snapshot->id, said->second, rows
            ));
        }
        if (table_.delete_files > 0) {
            report_.note(
                "table {} has {} delete files of another engine", table_.folder, table_.delete_files
            );
        }
    }

    StoredTables& tables_;
    const LoadedTable& table_;
    catalog::StreamPtr stream_;  // null: deleted
    Report& report_;
};

/// `<namespace>/<topic>` of every topic.
rt::Task<Result<std::vector<std::string>>> list_topics(meta::MetadataStore& metadata) {
    std::vector<std::string> folders;
    for (const std::string& ns : LKS_CO_TRY(co_await catalog::list_namespaces(metadata))) {
        const auto none = [](const catalog::StreamName&, meta::VersionId) {
            return catalog::StreamPtr();
        };
        const auto listed = LKS_CO_TRY(co_await catalog::list_streams(metadata, ns, none));
        for (const catalog::VersionedStream& each : listed.streams) {
            folders.push_back(fmt::format("{}/{}", ns, each.stream->name.name));
        }
        for (const catalog::StreamName& each : listed.unclear) {
            folders.push_back(fmt::format("{}/{}", ns, each.name));
        }
    }
    co_return folders;
}

/// Of tables, and of the topics that may have one: a folder that is a link is not listed, but
/// committed to.
Result<std::set<std::string>> table_folders(server::Leaves& leaves, StoredTables& tables) {
    const auto listed = LKS_TRY(tables.list());
    const auto topics =
        LKS_TRY(server::run_blocking(leaves.loops()[0], list_topics(leaves.metadata())));
    std::set<std::string> folders(listed.begin(), listed.end());
    folders.insert(topics.begin(), topics.end());
    return folders;
}

}  // namespace

Result<std::size_t> check_tables(
    server::Leaves& leaves, compact::TableFilesLoader& loader, Report& report
) {
    StoredTables tables({
        .store = leaves.tables(),
        .executor = leaves.loops()[0],
        .offloader = leaves.offloader(),
        .loader = loader,
    });
    std::size_t count = 0;
    for (const std::string& folder : LKS_TRY(table_folders(leaves, tables))) {
        const auto table = tables.load(folder);
        auto stream = load_stream(leaves, folder);
        if (table.is(ErrorCode::not_found)) {
            if (!stream.ok()) {
                report.note("{} in the folder of tables is no table", folder);
            }
            continue;
        }
        ++count;
        if (!table.ok()) {
            report.problem("{}", table_error(table.error(), folder));
            continue;
        }
        if (!stream.ok() && !stream.is(ErrorCode::not_found)) {
            return stream.error();
        }
        LKS_TRY(TableChecker(tables, *table, stream.ok() ? *stream : nullptr, report).run());
    }
    LKS_TRY(report.output());
    return count;
}

}  // namespace lakestream::cli
