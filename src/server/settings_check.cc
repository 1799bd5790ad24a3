// SPDX-License-Identifier: Apache-2.0
// What must hold between settings, and what this version does not serve yet: known before a folder,
// a port or a thread is touched.
#include <filesystem>

#include "base/format.h"
#include "net/net.h"
#include "server/settings.h"

namespace lakestream::server {

namespace {

Status check_compat(const NodeSettings& node) {
    if (node.compat == "none") {
        return {};
    }
    return invalid_argument(
        "compat = \"{}\" is not served yet: only what has its metadata on Oxia can be shared with "
        "Ursa, and here metadata is always embedded; leave it out",
        node.compat
    );
}

Status check_addresses(const NodeSettings& node) {
    if (!node.has_role("broker")) {
        return {};
    }
    const net::Address listen = LKS_TRY(net::Address::parse(node.kafka_listen));
    const bool every_address = listen.host == "0.0.0.0" || listen.host == "::";
    if (every_address && node.kafka_advertise.empty()) {
        return invalid_argument(
            "kafka.listen = \"{}\" is every address of this machine: set kafka.advertise to the "
            "HOST:PORT by which clients reach it",
            node.kafka_listen
        );
    }
    return {};
}

Status check_numbers(const NodeSettings& node) {
    if (node.log.backoff_max < node.log.backoff_min) {
        return invalid_argument("log.backoff_max is below log.backoff_min");
    }
    if (node.kafka.broker.produce_timeout_max < node.kafka.broker.produce_timeout_min) {
        return invalid_argument("kafka.produce_timeout_max is below kafka.produce_timeout_min");
    }
    if (node.kafka.groups.session_timeout_max < node.kafka.groups.session_timeout_min) {
        return invalid_argument("group.session_timeout_max is below group.session_timeout_min");
    }
    if (node.kafka.broker.partitions_default > node.kafka.broker.partitions_max) {
        return invalid_argument("kafka.partitions_default is above kafka.partitions_max");
    }
    return {};
}

}  // namespace

Result<std::string> folder_of(
    std::string_view setting, std::string_view url, std::string_view scheme
) {
    const std::string prefix = fmt::format("{}://", scheme);
    if (url.empty()) {
        return invalid_argument(
            "{} is not set; for example {}/var/lib/lakestream", setting, prefix
        );
    }
    if (!url.starts_with(prefix)) {
        return invalid_argument("{} = \"{}\": only {}/FOLDER is served", setting, url, prefix);
    }
    const std::filesystem::path folder(url.substr(prefix.size()));
    if (!folder.is_absolute()) {
        return invalid_argument(
            "{} = \"{}\": the folder must begin with /, as in {}/var/lib/lakestream",
            setting,
            url,
            prefix
        );
    }
    return folder.lexically_normal().string();
}

Status check_settings(const Settings& settings) {
    LKS_TRY(folder_of("storage", settings.storage, "file"));
    LKS_TRY(folder_of("metadata", settings.metadata, "embedded"));
    LKS_TRY(check_compat(settings.node));
    LKS_TRY(check_addresses(settings.node));
    return check_numbers(settings.node);
}

Status check_process_roles(const NodeSettings& node) {
    if (node.has_role("broker") || node.has_role("compactor")) {
        return {};
    }
    return invalid_argument(
        "roles = \"{}\": this process would do nothing; broker serves Kafka clients, compactor "
        "compacts and writes tables, and catalog adds nothing to them yet",
        fmt::join(node.roles, ",")
    );
}

}  // namespace lakestream::server
