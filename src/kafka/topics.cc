// SPDX-License-Identifier: Apache-2.0
// Names and ids of topics, and looking them up.
#include "kafka/topics.h"

#include <algorithm>
#include <utility>

namespace lakestream::kafka {

Status check_topic_name(std::string_view name) {
    const auto legal = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '_' || c == '-';
    };
    if (name.empty()) {
        return invalid_argument("Topic name is invalid: it must not be empty");
    }
    if (name == "." || name == "..") {
        return invalid_argument("Topic name is invalid: it must not be '.' or '..'");
    }
    if (name.size() > topic_name_bytes_max) {
        return invalid_argument(
            "Topic name is invalid: its length is {}, more than {}",
            name.size(),
            topic_name_bytes_max
        );
    }
    if (!std::ranges::all_of(name, legal)) {
        return invalid_argument(
            "Topic name is invalid: only letters, digits, '.', '_' and '-' are allowed"
        );
    }
    return {};
}

bool is_internal_topic(std::string_view name) {
    return name == "__consumer_offsets" || name == "__transaction_state" ||
           name == "__share_group_state";
}

codec::kafka::Uuid topic_id(const catalog::StreamInfo& stream) {
    return codec::kafka::Uuid{.bytes = stream.incarnation};
}

rt::Task<Result<catalog::StreamPtr>> load_topic(
    catalog::Catalog& catalog, std::string name, codec::kafka::Uuid id
) {
    if (!name.empty()) {
        if (!check_topic_name(name).ok()) {
            co_return not_found("no topic has an illegal name");
        }
        co_return co_await catalog.load(
            {.ns = std::string(topic_namespace), .name = std::move(name)}
        );
    }
    if (id.is_zero()) {
        co_return not_found("no topic has an empty name or id");
    }
    Result<catalog::StreamPtr> stream = co_await catalog.load_by_id(id.bytes);
    if (stream.ok() && (*stream)->name.ns != topic_namespace) {
        co_return not_found("topic {}", id.to_string());
    }
    co_return std::move(stream);
}

rt::Task<Result<std::string>> find_collision(catalog::Catalog& catalog, std::string name) {
    if (name.find_first_of("._") == name.npos) {
        co_return std::string();
    }
    const auto same = [](char a, char b) {
        return a == b || ((a == '.' || a == '_') && (b == '.' || b == '_'));
    };
    std::string found;
    for (const auto& stream : LKS_CO_TRY(co_await catalog.list(std::string(topic_namespace)))) {
        const std::string& other = stream->name.name;
        if (other == name) {
            co_return std::string();
        }
        if (std::ranges::equal(other, name, same)) {
            found = other;
        }
    }
    co_return found;
}

}  // namespace lakestream::kafka
