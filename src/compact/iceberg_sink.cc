// SPDX-License-Identifier: Apache-2.0
// From streams and data files to Iceberg commits.
#include "compact/iceberg_sink.h"

#include <optional>
#include <utility>

#include "base/format.h"
#include "base/uuid.h"
#include "compact/local_file.h"

namespace lakestream::compact {

namespace {

namespace iceberg = table::iceberg;

constexpr std::int32_t sort_order = 1;  // by partition and offset

Error suspended(const catalog::StreamInfo& stream, std::string_view reason) {
    return fenced(
        "table {0}/{1} is suspended: {2}; `lakestream table take-over {0}/{1}` starts it again "
        "from this topic, its rows of now stay in its earlier snapshots",
        stream.name.ns,
        stream.name.name,
        reason
    );
}

/// An error of the table or of its store, told with the table's name.
Error of_table(const catalog::StreamInfo& stream, Error error) {
    return std::move(error).with_context(
        fmt::format("table {}/{}", stream.name.ns, stream.name.name)
    );
}

std::string base_name(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

}  // namespace

iceberg::FileTableOptions table_options(const catalog::StreamName& stream, std::string_view root) {
    std::string folder = fmt::format("{}/{}", stream.ns, stream.name);
    std::string location = fmt::format("{}/{}", root, folder);
    return {.folder = std::move(folder), .location = std::move(location)};
}

iceberg::FileTable IcebergSink::table_of(const catalog::StreamInfo& stream) const {
    return {seams_.tables, seams_.offloader, table_options(stream.name, seams_.location)};
}

rt::Task<Result<TablePositions>> IcebergSink::open(catalog::StreamPtr stream) {
    iceberg::Position start{.table = {}, .stream = uuid_text(stream->incarnation), .next = {}};
    for (const LogId log : stream->logs) {
        start.next.emplace(log, Offset(0));
    }
    iceberg::FileTable table = table_of(*stream);
    const std::string incarnation = start.stream;
    const auto version = co_await table.open_or_create(std::move(start));
    if (!version.ok()) {
        co_return of_table(*stream, version.error());
    }
    const iceberg::AppendPlan plan =
        iceberg::plan_append(version->metadata, {.table = {}, .stream = incarnation}, {});
    if (plan.verdict == iceberg::Verdict::suspended) {
        co_return suspended(*stream, plan.reason);
    }
    uuids_[stream->name] = plan.position.table;
    co_return plan.position.next;
}

rt::Task<Result<iceberg::TableFile>> IcebergSink::store(
    const iceberg::FileTable& table, const table::DataFile& file
) {
    const std::string name = fmt::format("data/{}", base_name(file.path));
    const Status stored = co_await seams_.tables.put_file(
        table.object_name(name), file.path, objstore::IfExists::overwrite
    );
    remove_local_file(file.path);
    LKS_CO_TRY(stored);
    co_return iceberg::to_table_file(file, name, sort_order);
}

rt::Task<Result<TablePositions>> IcebergSink::append(
    catalog::StreamPtr stream, table::DataFile file, std::map<LogId, OffsetRange> ranges
) {
    iceberg::FileTable table = table_of(*stream);
    std::optional<iceberg::TableFile> stored;
    if (file.rows > 0) {
        auto put = co_await store(table, file);
        if (!put.ok()) {
            co_return of_table(*stream, std::move(put.error()));
        }
        stored = *std::move(put);
    } else {
        remove_local_file(file.path);
    }
    std::vector<iceberg::PreparedFile> prepared{
        {.ranges = std::move(ranges), .file = std::move(stored)}
    };
    const iceberg::Source source{
        .table = uuids_[stream->name], .stream = uuid_text(stream->incarnation)
    };
    auto committed = co_await table.append(source, prepared);
    if (committed.is(ErrorCode::outcome_unknown)) {
        committed = co_await table.append(source, std::move(prepared));
    }
    if (!committed.ok()) {
        co_return of_table(*stream, std::move(committed.error()));
    }
    if (committed->verdict == iceberg::Verdict::suspended) {
        co_return suspended(*stream, committed->reason);
    }
    co_return std::move(committed->position.next);
}

}  // namespace lakestream::compact
