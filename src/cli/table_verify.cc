// SPDX-License-Identifier: Apache-2.0
// table verify: is a table what its topic holds? Sums of row hashes first; where they differ, row
// by row.
#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/uuid.h"
#include "cli/commands.h"
#include "cli/log_rows.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/row_differences.h"
#include "cli/stored_tables.h"
#include "table/iceberg/row_hash.h"

namespace lakestream::cli {

namespace iceberg = table::iceberg;
using iceberg::RowSum;

namespace {

constexpr std::int64_t buckets_max = 1 << 17;  // 10 MiB
constexpr std::int64_t bucket_rows_min = 1024;
constexpr std::int64_t window_rows = 1 << 16;  // looked at row by row in one go
constexpr int windows_max = 64;                // then ranges are named only

/// Sums over a short range of offsets.
struct Bucket {
    RowSum table;
    RowSum log;

    bool equal() const { return table == log; }
};

/// One partition, as far as it is compared.
struct Part {
    LogRows::Partition log;
    OffsetRange range;  // what the log still has of what the table says it holds
    Offset committed;
    Offset log_end;
    RowSum table;
    RowSum log_sum;
    std::vector<Bucket> buckets;  // from range.begin on
};

std::string sum_text(const RowSum& sum) {
    return fmt::format("{:016x}{:016x}", sum.high, sum.low);
}

class Verifier {
  public:
    Verifier(StoredTables& tables, LogRows& logs, const LoadedTable& table, Report& report)
        : tables_(tables), logs_(logs), table_(table), report_(report) {}

    /// False after `run` when a part of the topic could not be read.
    bool topic_readable() const { return topic_readable_; }

    /// Errors: of stdout, and what is no damage.
    Status run(const catalog::StreamInfo& stream) {
        LKS_TRY(plan(stream));
        std::int64_t rows = 0;
        for (const Part& part : parts_) {
            rows += part.range.count();
        }
        progress_.emplace("rows", 2 * static_cast<std::uint64_t>(rows));  // of the topic, the table
        for (Part& part : parts_) {
            LKS_TRY(sum_log(part));
        }
        for (std::size_t i = 0; i < table_.data.size(); ++i) {
            LKS_TRY(sum_file(i));
        }
        progress_.reset();
        for (const Part& part : parts_) {
            LKS_TRY(compare(part));
        }
        return report_.output();
    }

  private:
    Status plan(const catalog::StreamInfo& stream) {
        std::int64_t total = 0;
        for (std::size_t i = 0; i < stream.logs.size(); ++i) {
            const log::LogBounds bounds = LKS_TRY(logs_.bounds(stream.logs[i]));
            const Offset committed = table_.position->of(stream.logs[i]);
            const Offset end = std::min(committed, bounds.high_watermark);
            parts_.push_back({
                .log = {.log = stream.logs[i], .number = static_cast<std::int32_t>(i)},
                .range = {std::min(bounds.start, end), end},
                .committed = committed,
                .log_end = bounds.high_watermark,
            });
            total += parts_.back().range.count();
        }
        const auto needed = static_cast<std::uint64_t>(total / buckets_max);
        bucket_rows_ =
            std::max(bucket_rows_min, static_cast<std::int64_t>(std::bit_ceil(needed + 1)));
        for (Part& part : parts_) {
            const std::int64_t count = (part.range.count() + bucket_rows_ - 1) / bucket_rows_;
            part.buckets.resize(static_cast<std::size_t>(count));
        }
        return {};
    }

    Bucket& bucket_of(Part& part, std::int64_t offset) const {
        return part.buckets[static_cast<std::size_t>((offset - part.range.begin.v) / bucket_rows_)];
    }

    Status sum_log(Part& part) {
        Offset reached;
        const auto add = [&](const table::Row& row) {
            progress_->show(rows_read_++);
            const RowSum sum = hasher_.sum_of(row);
            part.log_sum += sum;
            bucket_of(part, row.offset).log += sum;
        };
        const Status read = logs_.read(part.log, part.range, add, reached);
        if (!read.ok()) {
            topic_readable_ = false;
            report_.problem(
                "partition {}: its log cannot be read from offset {} on, nothing behind that is "
                "compared: {}; `lakestream check` says which files are damaged",
                part.log.number,
                reached,
                read.error()
            );
            part.range.end = reached;
        }
        return report_.output();
    }

    /// What a file holds of a partition.
    struct Touched {
        std::int64_t first = 0;
        std::int64_t last = 0;
    };

    Status sum_file(std::size_t number) {
        const iceberg::TableFile& file = table_.data[number];
        std::map<std::int32_t, RowSum> strays;
        auto& touched = touched_.emplace_back();
        const Status read = for_each_row(file, [&](const table::Row& row) {
            progress_->show(rows_read_++);
            const RowSum sum = hasher_.sum_of(row);
            const auto at = static_cast<std::size_t>(row.partition);
            if (row.partition < 0 || at >= parts_.size() || row.offset < 0 ||
                Offset(row.offset) >= parts_[at].committed) {
                strays[row.partition] += sum;
                return;
            }
            Part& part = parts_[at];
            if (!part.range.contains(Offset(row.offset))) {
                return;  // the log has it no more, or cannot be read
            }
            part.table += sum;
            bucket_of(part, row.offset).table += sum;
            const auto [seen, is_new] =
                touched.try_emplace(row.partition, Touched{row.offset, row.offset});
            seen->second.first = std::min(seen->second.first, row.offset);
            seen->second.last = std::max(seen->second.last, row.offset);
        });
        if (!read.ok()) {
            report_.problem("{}; its rows count as missing", read.error());
        }
        for (const auto& [partition, sum] : strays) {
            report_.problem(
                "partition {}: {} rows at offsets {} to {} in {} are beyond what the table says it "
                "holds",
                partition,
                sum.rows,
                sum.first_offset,
                sum.last_offset,
                file.path
            );
        }
        return report_.output();
    }

    template <class Function>
    Status for_each_row(const iceberg::TableFile& file, Function function) {
        const auto rows = LKS_TRY(tables_.open(table_, file, Length::any));
        while (true) {
            const auto row = LKS_TRY(rows->next());
            if (!row.has_value()) {
                return {};
            }
            function(*row);
        }
    }

    Status compare(const Part& part) {
        const std::int64_t lag = std::max<std::int64_t>(part.log_end - part.committed, 0);
        const bool equal =
            part.table == part.log_sum && std::ranges::all_of(part.buckets, &Bucket::equal);
        report_.note(
            "partition {}: offsets {} to {}, {} rows, sum {}: {}; {} offsets behind the "
            "topic",
            part.log.number,
            part.range.begin,
            part.range.end,
            part.table.rows,
            sum_text(part.table),
            equal ? "equal to the topic"
                  : fmt::format(
                        "the topic has {} rows, sum {}", part.log_sum.rows, sum_text(part.log_sum)
                    ),
            lag
        );
        if (part.committed > part.log_end) {
            report_.problem(
                "partition {}: the table says it holds offsets up to {}, the topic ends at {}: was "
                "the data folder put together from copies of different age?",
                part.log.number,
                part.committed,
                part.log_end
            );
        }
        for (std::size_t i = 0; i < part.buckets.size();) {
            if (part.buckets[i].equal()) {
                ++i;
                continue;
            }
            const std::size_t begin = i;
            const auto longest =
                static_cast<std::size_t>(std::max<std::int64_t>(window_rows / bucket_rows_, 1));
            while (i < part.buckets.size() && i - begin < longest && !part.buckets[i].equal()) {
                ++i;
            }
            LKS_TRY(narrow(part, begin, i));
        }
        return report_.output();
    }

    /// Name what differs in a window of buckets.
    Status narrow(const Part& part, std::size_t begin, std::size_t end) {
        const auto at = [&](std::size_t bucket) {
            const Offset offset =
                part.range.begin + static_cast<std::int64_t>(bucket) * bucket_rows_;
            return std::min(offset, part.range.end);
        };
        const OffsetRange range{at(begin), at(end)};
        if (++windows_ > windows_max) {
            report_.problem(
                "partition {}: offsets {} to {} differ from the topic",
                part.log.number,
                range.begin,
                range.end - 1
            );
            return report_.output();
        }
        RowDifferences differences;
        Offset reached;
        LKS_TRY(logs_.read(
            part.log, range, [&](const table::Row& row) { differences.add_log(row); }, reached
        ));
        for (std::size_t i = 0; i < table_.data.size(); ++i) {
            const auto touched = touched_[i].find(part.log.number);
            if (touched == touched_[i].end() || touched->second.last < range.begin.v ||
                touched->second.first >= range.end.v) {
                continue;
            }
            // What could not be read the first time has been said.
            static_cast<void>(for_each_row(table_.data[i], [&](const table::Row& row) {
                if (row.partition == part.log.number && range.contains(Offset(row.offset))) {
                    differences.add_table(row, i);
                }
            }));
        }
        for (const RowDifference& difference : differences.find()) {
            report_.problem("partition {}: {}", part.log.number, describe(difference));
        }
        return report_.output();
    }

    std::string describe(const RowDifference& difference) const {
        const auto path = [&](std::size_t file) -> const std::string& {
            return table_.data[file].path;
        };
        const std::string where = difference.rows == 1
                                      ? fmt::format("offset {} is", difference.first)
                                      : fmt::format(
                                            "offsets {} to {} ({} rows) are",
                                            difference.first,
                                            difference.last,
                                            difference.rows
                                        );
        switch (difference.kind) {
            case RowDifference::Kind::missing: return fmt::format("{} missing in the table", where);
            case RowDifference::Kind::foreign:
                return fmt::format(
                    "{} not in the topic, but in {}", where, path(difference.file_first)
                );
            case RowDifference::Kind::changed:
                return fmt::format(
                    "{} not what the topic has, in {}", where, path(difference.file_first)
                );
            case RowDifference::Kind::swapped:
                return fmt::format(
                    "offset {} has the row of offset {}, in {}",
                    difference.first,
                    difference.other,
                    path(difference.file_first)
                );
            case RowDifference::Kind::repeated: break;
        }
        return fmt::format(
            "{} there {} times, in {}{}",
            where,
            difference.times,
            path(difference.file_first),
            difference.file_first == difference.file_last
                ? ""
                : fmt::format(" and {}", path(difference.file_last))
        );
    }

    StoredTables& tables_;
    LogRows& logs_;
    const LoadedTable& table_;
    Report& report_;
    iceberg::RowHasher hasher_;
    std::int64_t bucket_rows_ = bucket_rows_min;
    std::vector<Part> parts_;                               // by number
    std::vector<std::map<std::int32_t, Touched>> touched_;  // by file
    int windows_ = 0;
    std::optional<Progress> progress_;
    std::uint64_t rows_read_ = 0;
    bool topic_readable_ = true;
};

/// Why the table cannot be compared with this stream.
Status check_comparable(const LoadedTable& table, const catalog::StreamInfo& stream) {
    if (!table.position.ok()) {
        return unsupported(
            "table {} is suspended and does not say which offsets it holds: {}; {}",
            table.folder,
            table.position.error().message,
            suspended_remedy(table.folder)
        );
    }
    if (table.position->stream != uuid_text(stream.incarnation)) {
        return unsupported(
            "table {} is suspended, it belongs to an earlier topic of this name ({}, now {}): "
            "there "
            "is nothing to compare it with; {}",
            table.folder,
            table.position->stream,
            uuid_text(stream.incarnation),
            suspended_remedy(table.folder)
        );
    }
    if (table.delete_files > 0) {
        return unsupported(
            "table {} has {} delete files of another engine: what they delete is not known here",
            table.folder,
            table.delete_files
        );
    }
    return {};
}

}  // namespace

Result<Exit> table_verify(
    const server::Settings& settings, const std::string& topic, RecordFormat format
) {
    const std::string folder = table_folder(topic);
    const auto leaves = LKS_TRY(server::Leaves::open(settings, server::Open::existing));
    compact::TableFilesLoader loader;
    StoredTables tables({
        .store = leaves->tables(),
        .executor = leaves->loops()[0],
        .offloader = leaves->offloader(),
        .loader = loader,
    });
    const auto loaded = tables.load(folder);
    if (!loaded.ok()) {
        return table_error(loaded.error(), folder);
    }
    const catalog::StreamPtr stream = LKS_TRY(load_stream(*leaves, folder));
    LKS_TRY(check_comparable(*loaded, *stream));
    LogRows logs(*leaves, loader);
    Report report(format);
    Verifier verifier(tables, logs, *loaded, report);
    LKS_TRY(verifier.run(*stream));
    const std::uint64_t differences = report.problems();
    const std::string suspended = why_suspended(*loaded, uuid_text(stream->incarnation));
    if (!suspended.empty()) {
        report.problem(
            "table {} is suspended, nothing is committed to it: {}; {}",
            folder,
            suspended,
            suspended_remedy(folder)
        );
    }
    if (logs.unreadable() > 0) {
        report.note(
            "{} records are in batches that do not decode: consumers cannot read them, and "
            "they are in no table",
            logs.unreadable()
        );
    }
    std::string verdict = "equal to the topic as far as it is committed";
    if (!verifier.topic_readable()) {
        verdict = "the topic is damaged: keep the table, it may have what the topic has lost";
    } else if (differences > 0) {
        verdict = fmt::format("{} differences; {}", differences, table_remedy(folder));
    }
    report.note(
        "table {}, version {}, {} files: {}",
        folder,
        loaded->version.version,
        loaded->data.size(),
        verdict
    );
    LKS_TRY(report.output());
    return report.problems() == 0 ? Exit::ok : Exit::failed;
}

}  // namespace lakestream::cli
