// SPDX-License-Identifier: Apache-2.0
// Applies operations on single configurations.
#include "kafka/handlers/incremental_alter_configs.h"

#include <utility>
#include <vector>

#include "codec/kafka/gen/incremental_alter_configs_fields.h"
#include "kafka/config_changes.h"
#include "kafka/handlers/alter_topic.h"
#include "kafka/handlers/handler.h"

namespace lakestream::kafka {

namespace {

using Request = IncrementalAlterConfigsHandler::Request;
using Asked = Request::AlterConfigsResource;

std::vector<ConfigChange> changes_of(const Asked& asked) {
    std::vector<ConfigChange> changes;
    for (const Request::AlterableConfig& config : asked.configs) {
        changes.push_back({
            .name = config.name,
            .operation = static_cast<ConfigOperation>(config.config_operation),
            .value = config.value,
        });
    }
    return changes;
}

Result<catalog::PropertiesChange> change_of(const Asked& asked) {
    std::vector<ConfigChange> changes = changes_of(asked);
    LKS_TRY(check_changes(changes));
    return [changes = std::move(changes)](const catalog::Properties& properties) {
        return apply_changes(properties, changes);
    };
}

}  // namespace

rt::Task<IncrementalAlterConfigsHandler::Response> IncrementalAlterConfigsHandler::handle(
    Call call, Request request
) {
    co_return co_await alter_each<IncrementalAlterConfigsHandler>(
        call, std::move(request), &change_of
    );
}

}  // namespace lakestream::kafka
