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
        "table {}.{} is suspended: {}; move its folder tables/{}/{} away, and it is made again "
        "from "
        "the topic",
        stream.name.ns,
        stream.name.name,
        reason,
        stream.name.ns,
        stream.name.name
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
    const auto version = LKS_CO_TRY(co_await table.open_or_create(std::move(start)));
    const auto position = iceberg::position_of(version.metadata);
    if (!position.ok()) {
        co_return suspended(*stream, position.error().message);
    }
    if (position->stream != incarnation) {
        co_return suspended(*stream, "it belongs to an earlier topic of this name");
    }
    uuids_[stream->name] = position->table;
    co_return position->next;
}

rt::Task<Result<iceberg::TableFile>> IcebergSink::store(
    const iceberg::FileTable& table, const table::DataFile& file
) {
    const std::string name = fmt::format("data/{}", base_name(file.path));
    Result<Bytes> bytes =
        co_await rt::offload(seams_.offloader, [&file] { return read_local_file(file.path); });
    remove_local_file(file.path);
    // The same name and bytes at each attempt: an unknown outcome is simply repeated by the caller.
    Slices body(LKS_CO_TRY(std::move(bytes)));
    LKS_CO_TRY(co_await seams_.tables.put(
        table.object_name(name), std::move(body), objstore::IfExists::overwrite
    ));
    co_return iceberg::to_table_file(file, name, sort_order);
}

rt::Task<Result<TablePositions>> IcebergSink::append(
    catalog::StreamPtr stream, table::DataFile file, std::map<LogId, OffsetRange> ranges
) {
    iceberg::FileTable table = table_of(*stream);
    std::optional<iceberg::TableFile> stored;
    if (file.rows > 0) {
        stored = LKS_CO_TRY(co_await store(table, file));
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
    const iceberg::CommitResult result = LKS_CO_TRY(std::move(committed));
    if (result.verdict == iceberg::Verdict::suspended) {
        co_return suspended(*stream, result.reason);
    }
    co_return result.position.next;
}

}  // namespace lakestream::compact
