// SPDX-License-Identifier: Apache-2.0
// From a log's registration to its stream.
#include "catalog/log_owner.h"

#include <charconv>
#include <string>
#include <utility>

#include "base/format.h"
#include "catalog/json_records.h"
#include "catalog/keys.h"

namespace lakestream::catalog {

Result<LogOwner> parse_mapping_key(std::string_view key) {
    constexpr std::string_view root = "lakestream-native/";
    constexpr std::string_view partition = "/partition-";
    const std::size_t number = key.rfind(partition);
    if (key.starts_with(root) && number != key.npos && number > root.size()) {
        const std::string_view stream = key.substr(root.size(), number - root.size());
        const std::string_view digits = key.substr(number + partition.size());
        const std::size_t slash = stream.rfind('/');  // a namespace may contain slashes
        std::int32_t value = 0;
        std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (slash != stream.npos && slash > 0 && slash + 1 < stream.size() && value >= 0) {
            StreamName name{
                std::string(stream.substr(0, slash)), std::string(stream.substr(slash + 1))
            };
            // One key for one partition: no other way to write its number.
            if (keys::mapping_key(name, static_cast<std::size_t>(value)) == key) {
                return LogOwner{std::move(name), value};
            }
        }
    }
    return corrupt("'{}' names no partition of a stream", key);
}

rt::Task<Result<LogOwner>> find_log_owner(meta::MetadataStore& store, LogId log) {
    const meta::Record record =
        LKS_CO_TRY(co_await store.get({.key = keys::log_registration(log)}));
    const std::string key = LKS_CO_TRY(parse_log_registration(record.value.view()));
    if (key.empty()) {
        co_return not_found("log {} belongs to no stream", log);
    }
    co_return parse_mapping_key(key);
}

}  // namespace lakestream::catalog
