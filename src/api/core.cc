// SPDX-License-Identifier: Apache-2.0
// From options to a running node, and back.
#include "api/core.h"

#include <string>
#include <utility>
#include <vector>

#include "base/format.h"

namespace lakestream::api {

namespace {

std::string role_name(Role role) {
    switch (role) {
        case Role::broker: return "broker";
        case Role::compactor: return "compactor";
    }
    return "unknown";
}

Status check_places(const EngineOptions& options) {
    const bool folder = !options.data_dir.empty();
    const bool places = !options.storage.empty() || !options.metadata.empty();
    if (folder && places) {
        return invalid_argument(
            "data_dir is \"{}\", and storage or metadata is set as well: set either",
            options.data_dir
        );
    }
    if (!folder && !places) {
        return invalid_argument("nothing says where the data is: set data_dir to a folder");
    }
    return {};
}

Result<server::Settings> to_settings(const EngineOptions& options) {
    LKS_TRY(check_places(options));
    server::Settings settings;
    settings.node.http_listen.clear();
    settings.node.roles.clear();
    for (const Role role : options.roles) {
        settings.node.roles.push_back(role_name(role));
    }
    if (options.data_dir.empty()) {
        settings.storage = options.storage;
        settings.metadata = options.metadata;
    } else {
        LKS_TRY(server::use_data_dir(settings, options.data_dir));
    }
    std::vector<server::Assignment> assignments;
    for (const auto& [name, value] : options.settings) {
        if (name == "storage" || name == "metadata" || name == "roles") {
            return invalid_argument("settings: {} has a field of its own in EngineOptions", name);
        }
        assignments.push_back(LKS_TRY(server::read_value(name, value, "settings")));
    }
    LKS_TRY(server::apply_settings(assignments, settings));
    return settings;
}

}  // namespace

bool Gate::enter() {
    const std::scoped_lock lock(mutex_);
    if (closed_) {
        return false;
    }
    ++inside_;
    return true;
}

void Gate::leave() {
    const std::scoped_lock lock(mutex_);
    --inside_;
    left_.notify_all();
}

void Gate::close() {
    std::unique_lock lock(mutex_);
    closed_ = true;
    left_.wait(lock, [this] { return inside_ == 0; });
}

Result<std::shared_ptr<Core>> Core::open(const EngineOptions& options) {
    const server::Settings settings = LKS_TRY(to_settings(options));
    auto core = std::make_shared<Core>();
    core->running_ = LKS_TRY(server::RunningNode::start(settings));
    core->tables_location_ = core->node().seams().compaction->tables_location;
    if (settings.node.has_role(role_name(Role::broker))) {
        core->kafka_address_ = core->node().kafka_address().to_string();
    }
    return core;
}

void Core::close() {
    gate_.close();
    if (running_ != nullptr) {
        running_->stop();
        running_.reset();
    }
}

Error closed_error() {
    return cancelled("the engine is closed");
}

}  // namespace lakestream::api
