// SPDX-License-Identifier: Apache-2.0
// Streams by name, over the node's catalog.
#include "lakestream/catalog.h"

#include <optional>
#include <utility>

#include "api/handles.h"
#include "base/uuid.h"
#include "compact/iceberg_sink.h"
#include "kafka/topic_configs.h"

namespace lakestream {

namespace {

catalog::StreamName to_internal(StreamName name) {
    return {.ns = std::move(name.ns), .name = std::move(name.name)};
}

StreamInfo to_public(const catalog::StreamInfo& stream) {
    return {
        .name = {.name = stream.name.name, .ns = stream.name.ns},
        .id = uuid_text(stream.incarnation),
        .logs = stream.logs,
        .properties = stream.properties,
    };
}

rt::Task<Result<StreamInfo>> create_stream(api::Core& core, StreamSpec spec) {
    auto properties = LKS_CO_TRY(kafka::parse_topic_configs(spec.properties));
    const auto stream = LKS_CO_TRY(co_await core.node().catalog().create({
        .name = to_internal(std::move(spec.name)),
        .partitions = spec.logs,
        .properties = std::move(properties),
    }));
    co_return to_public(*stream);
}

rt::Task<Result<StreamInfo>> describe_stream(api::Core& core, StreamName name) {
    co_return to_public(*LKS_CO_TRY(co_await core.node().catalog().load(to_internal(std::move(name))
    )));
}

rt::Task<Result<std::vector<StreamInfo>>> list_streams(api::Core& core, std::string ns) {
    const auto streams = LKS_CO_TRY(co_await core.node().catalog().list(std::move(ns)));
    std::vector<StreamInfo> all;
    all.reserve(streams.size());
    for (const catalog::StreamPtr& stream : streams) {
        all.push_back(to_public(*stream));
    }
    co_return all;
}

rt::Task<Status> drop_stream(api::Core& core, StreamName name) {
    co_return co_await core.node().catalog().drop(to_internal(std::move(name)), std::nullopt);
}

rt::Task<Result<Log>> open_in(
    std::shared_ptr<api::Core> core, StreamName name, std::uint32_t partition
) {
    auto stream = LKS_CO_TRY(co_await core->node().catalog().load(to_internal(name)));
    if (partition >= stream->logs.size()) {
        co_return invalid_argument(
            "stream {}/{} has the partitions 0 to {}; not {}",
            name.ns,
            name.name,
            stream->logs.size() - 1,
            partition
        );
    }
    const LogId id = stream->logs[partition];
    co_return Log(std::make_shared<api::LogHandle>(std::move(core), std::move(stream), id));
}

}  // namespace

Future<StreamInfo> StreamCatalog::create(StreamSpec spec) {
    return core_->call(create_stream(*core_, std::move(spec)));
}

Future<StreamInfo> StreamCatalog::describe(StreamName name) {
    return core_->call(describe_stream(*core_, std::move(name)));
}

Future<std::vector<StreamInfo>> StreamCatalog::list(std::string ns) {
    return core_->call(list_streams(*core_, std::move(ns)));
}

Future<void> StreamCatalog::drop(StreamName name) {
    return core_->call(drop_stream(*core_, std::move(name)));
}

Future<Log> StreamCatalog::open_log(StreamName name, std::uint32_t partition) {
    return core_->call(open_in(core_, std::move(name), partition));
}

Table StreamCatalog::table(const StreamName& name) {
    catalog::StreamName stream = to_internal(name);
    std::string location = compact::table_options(stream, core_->tables_location()).location;
    return Table(std::make_shared<api::TableHandle>(core_, std::move(stream), std::move(location)));
}

}  // namespace lakestream
