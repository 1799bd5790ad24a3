// SPDX-License-Identifier: Apache-2.0
// Positions and rows of a stream's table, over its Iceberg files.
#include "lakestream/table.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "api/handles.h"
#include "base/format.h"
#include "compact/iceberg_sink.h"
#include "rt/offload.h"
#include "table/bytes_file.h"
#include "table/iceberg/commit.h"
#include "table/iceberg/file_table.h"

namespace lakestream {

namespace iceberg = table::iceberg;

namespace api {

/// A snapshot's data files, and how far they have been read. One call at a time uses it.
class ScanHandle {
  public:
    ScanHandle(std::shared_ptr<Core> core, const TableHandle& table, iceberg::TableVersion version);

    /// Find the snapshot's files.
    rt::Task<Status> open();
    rt::Task<Result<std::vector<TableRow>>> next(std::size_t rows_max);

    /// False while another call reads.
    bool begin() { return !busy_.exchange(true); }
    void end() { busy_ = false; }

    const std::shared_ptr<Core>& core() const noexcept { return core_; }

  private:
    const server::Seams& seams() const { return core_->node().seams(); }
    rt::Task<Status> open_file(const iceberg::TableFile& file);
    Result<std::vector<TableRow>> read_rows(std::size_t rows_max);

    const std::shared_ptr<Core> core_;
    iceberg::FileTable table_;
    const iceberg::TableVersion version_;
    std::vector<iceberg::TableFile> files_;
    std::size_t opened_ = 0;  // files
    std::unique_ptr<table::DataFileReader> reader_;
    std::atomic<bool> busy_{false};
};

}  // namespace api

namespace {

constexpr Duration poll_interval = 100ms;

iceberg::FileTable file_table(const api::Core& core, const api::TableHandle& table) {
    const server::Seams& seams = core.node().seams();
    return {
        seams.compaction->tables,
        seams.offloader,
        compact::table_options(table.stream, core.tables_location()),
    };
}

std::optional<Bytes> copy(const std::optional<std::span<const std::byte>>& bytes) {
    return bytes.has_value() ? std::optional(Bytes::copy(*bytes)) : std::nullopt;
}

TableRow to_public(const table::Row& row) {
    TableRow out{
        .partition = row.partition,
        .stored =
            {
                .offset = Offset(row.offset),
                .record =
                    {
                        .key = copy(row.key),
                        .value = copy(row.value),
                        .headers = {},
                        .timestamp = std::nullopt,
                    },
            },
    };
    Record& record = out.stored.record;
    if (row.timestamp_ms != -1) {
        record.timestamp = Timestamp(std::chrono::milliseconds(row.timestamp_ms));
    }
    for (const table::RowHeader& header : row.headers) {
        record.headers.push_back({.key = std::string(header.key), .value = copy(header.value)});
    }
    return out;
}

using Positions = std::map<LogId, Offset>;

rt::Task<Result<Positions>> load_positions(std::shared_ptr<const api::TableHandle> table) {
    iceberg::FileTable files = file_table(*table->core, *table);
    const iceberg::TableVersion version = LKS_CO_TRY(co_await files.load());
    co_return LKS_CO_TRY(iceberg::position_of(version.metadata)).next;
}

bool reached(const Positions& positions, const Positions& wanted) {
    return std::ranges::all_of(wanted, [&](const auto& want) {
        const auto found = positions.find(want.first);
        return want.second <= (found == positions.end() ? Offset(0) : found->second);
    });
}

rt::Task<Status> wait_for_positions(
    std::shared_ptr<const api::TableHandle> table,
    Positions wanted,
    std::chrono::milliseconds timeout
) {
    rt::Executor& executor = co_await rt::this_executor();
    const Deadline deadline = executor.now() + std::min<Duration>(timeout, api::wait_max);
    while (!table->core->closing()) {
        const Result<Positions> now = co_await load_positions(table);
        if (!now.ok() && !now.is(ErrorCode::not_found)) {
            co_return now.error();
        }
        if (reached(now.ok() ? *now : Positions(), wanted)) {
            co_return Status();
        }
        if (executor.now() >= deadline) {
            co_return deadline_exceeded("table {} is not there yet", table->location);
        }
        co_await rt::sleep_until(std::min(deadline, executor.now() + poll_interval));
    }
    co_return api::closed_error();
}

rt::Task<Result<TableScan>> open_scan(std::shared_ptr<const api::TableHandle> table) {
    auto version = LKS_CO_TRY(co_await file_table(*table->core, *table).load());
    auto scan = std::make_shared<api::ScanHandle>(table->core, *table, std::move(version));
    LKS_CO_TRY(co_await scan->open());
    co_return TableScan(std::move(scan));
}

rt::Task<Result<std::vector<TableRow>>> next_rows(
    std::shared_ptr<api::ScanHandle> scan, std::size_t rows_max
) {
    auto rows = co_await scan->next(rows_max);
    scan->end();
    co_return std::move(rows);
}

}  // namespace

namespace api {

ScanHandle::ScanHandle(
    std::shared_ptr<Core> core, const TableHandle& table, iceberg::TableVersion version
)
    : core_(std::move(core)), table_(file_table(*core_, table)), version_(std::move(version)) {}

rt::Task<Status> ScanHandle::open() {
    const iceberg::TableMetadata& metadata = version_.metadata;
    if (!metadata.current_snapshot.has_value()) {
        co_return Status();  // no rows yet
    }
    const iceberg::Snapshot* snapshot = metadata.find_snapshot(*metadata.current_snapshot);
    if (snapshot == nullptr) {
        co_return corrupt(
            "table {}: its current snapshot {} is missing",
            metadata.location,
            *metadata.current_snapshot
        );
    }
    files_ = LKS_CO_TRY(co_await table_.load_files(metadata, *snapshot));
    for (const iceberg::TableFile& file : files_) {
        if (file.content != iceberg::FileContent::data) {
            co_return unsupported(
                "table {}: another writer deleted rows ({}): read it with another engine",
                metadata.location,
                file.path
            );
        }
    }
    co_return Status();
}

rt::Task<Result<std::vector<TableRow>>> ScanHandle::next(std::size_t rows_max) {
    while (true) {
        if (reader_ == nullptr) {
            if (opened_ == files_.size()) {
                co_return std::vector<TableRow>();
            }
            LKS_CO_TRY(co_await open_file(files_[opened_]));
            ++opened_;
        }
        auto rows = co_await rt::offload(seams().offloader, [this, rows_max] {
            return read_rows(rows_max);
        });
        if (!rows.ok()) {
            co_return std::move(rows.error()).with_context(files_[opened_ - 1].path);
        }
        if (!rows->empty()) {
            co_return std::move(rows);
        }
    }
}

rt::Task<Status> ScanHandle::open_file(const iceberg::TableFile& file) {
    const std::string name = LKS_CO_TRY(table_.object_name(version_.metadata, file.path));
    Bytes bytes = LKS_CO_TRY(co_await seams().compaction->tables.get(name, std::nullopt));
    auto opened = co_await rt::offload(
        seams().offloader,
        [this, &bytes]() -> Result<std::unique_ptr<table::DataFileReader>> {
            table::TableFiles* const files = LKS_TRY(core_->node().table_files().get());
            return files->read_data_file(std::make_unique<table::BytesFile>(std::move(bytes)));
        }
    );
    if (!opened.ok()) {
        co_return std::move(opened.error()).with_context(file.path);
    }
    reader_ = *std::move(opened);
    co_return Status();
}

Result<std::vector<TableRow>> ScanHandle::read_rows(std::size_t rows_max) {
    std::vector<TableRow> rows;
    while (rows.size() < rows_max) {
        const auto row = LKS_TRY(reader_->next());
        if (!row.has_value()) {
            reader_.reset();
            break;
        }
        rows.push_back(to_public(*row));
    }
    return rows;
}

}  // namespace api

const std::string& Table::location() const noexcept {
    return handle_->location;
}

Future<std::map<LogId, Offset>> Table::positions() {
    return handle_->core->call(load_positions(handle_));
}

Future<void> Table::wait_for(std::map<LogId, Offset> positions, std::chrono::milliseconds timeout) {
    return handle_->core->call(wait_for_positions(handle_, std::move(positions), timeout));
}

Future<TableScan> Table::scan() {
    return handle_->core->call(open_scan(handle_));
}

Future<std::vector<TableRow>> TableScan::next(std::size_t rows_max) {
    using Answer = Future<std::vector<TableRow>>;
    if (rows_max == 0) {
        return Answer::ready(invalid_argument("a scan of at most 0 rows"));
    }
    if (!handle_->begin()) {
        return Answer::ready(invalid_argument("another call reads this scan"));
    }
    return handle_->core()->call(next_rows(handle_, rows_max));
}

}  // namespace lakestream
