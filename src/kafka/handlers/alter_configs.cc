// SPDX-License-Identifier: Apache-2.0
// Replaces configurations as a whole.
#include "kafka/handlers/alter_configs.h"

#include <utility>

#include "codec/kafka/gen/alter_configs_fields.h"
#include "kafka/config_changes.h"
#include "kafka/handlers/alter_topic.h"
#include "kafka/handlers/handler.h"

namespace lakestream::kafka {

namespace {

using Request = AlterConfigsHandler::Request;
using Asked = Request::AlterConfigsResource;

Result<catalog::PropertiesChange> change_of(const Asked& asked) {
    catalog::Properties configs;
    for (const Request::AlterableConfig& config : asked.configs) {
        if (!config.value.has_value()) {
            return invalid_argument("Null value not supported for : {}", config.name);
        }
        if (!configs.emplace(config.name, *config.value).second) {
            return invalid_argument("Error due to duplicate config keys: {}", config.name);
        }
    }
    return [configs = std::move(configs)](const catalog::Properties& properties) {
        return replace_configs(properties, configs);
    };
}

}  // namespace

rt::Task<AlterConfigsHandler::Response> AlterConfigsHandler::handle(Call call, Request request) {
    co_return co_await alter_each<AlterConfigsHandler>(call, std::move(request), &change_of);
}

}  // namespace lakestream::kafka
