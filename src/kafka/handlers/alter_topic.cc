// SPDX-License-Identifier: Apache-2.0
// Changes a topic's properties through the catalog.
#include "kafka/handlers/alter_topic.h"

#include <utility>

namespace lakestream::kafka {

namespace {

AlterOutcome outcome_of(const Error& error) {
    return {
        error.code == ErrorCode::invalid_argument ? KafkaError::invalid_config : to_kafka(error),
        error.message,
    };
}

rt::Task<AlterOutcome> alter_topic(
    Call call, std::string name, catalog::PropertiesChange change, Validate validate
) {
    catalog::Catalog& catalog = call.shard.backend.catalog;
    const auto stream = co_await load_config_topic(catalog, std::move(name));
    if (!stream.has_value()) {
        co_return stream.error();
    }
    if (validate == Validate::only) {
        const auto changed = change((*stream)->properties);
        co_return changed.ok() ? AlterOutcome{} : outcome_of(changed.error());
    }
    const auto changed = co_await catalog.change_properties(
        (*stream)->name, (*stream)->incarnation, std::move(change)
    );
    co_return changed.ok() ? AlterOutcome{} : outcome_of(changed.error());
}

AlterOutcome refuse_to_alter_broker(const Call& call, const std::string& name) {
    if (!name.empty()) {
        if (auto refusal = check_broker(call, name)) {
            return std::move(*refusal);
        }
    }
    return {
        KafkaError::invalid_request,
        "Settings of a broker do not change while it runs: change them where it takes them from, "
        "and start it again.",
    };
}

}  // namespace

rt::Task<AlterOutcome> alter_resource(
    Call call,
    std::int8_t type,
    std::string name,
    catalog::PropertiesChange change,
    Validate validate
) {
    switch (static_cast<ConfigResource>(type)) {
        case ConfigResource::topic:
            co_return co_await alter_topic(call, std::move(name), std::move(change), validate);
        case ConfigResource::broker: co_return refuse_to_alter_broker(call, name);
    }
    co_return unknown_resource(type);
}

}  // namespace lakestream::kafka
