// SPDX-License-Identifier: Apache-2.0
// Builds and reads the keys of groups.
#include "kafka/groups/keys.h"

#include <charconv>

#include "base/format.h"
#include "catalog/keys.h"

namespace lakestream::kafka::groups::keys {

namespace {

constexpr std::string_view root = "/lks/group";
constexpr std::string_view empty_id = "%";
constexpr std::size_t old_epoch_digits = 20;

bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

template <class Number>
std::optional<Number> number(std::string_view text, int base = 10) {
    Number value{};
    const char* const begin = text.data();
    const char* const end = begin + text.size();
    const auto [stopped, error] = std::from_chars(begin, end, value, base);
    return error == std::errc() && stopped == end ? std::optional(value) : std::nullopt;
}

std::optional<std::string> decode_id(std::string_view text) {
    std::string id;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            id.push_back(text[i]);
            continue;
        }
        const auto byte = number<std::uint8_t>(text.substr(i + 1, 2), 16);
        if (text.size() - i < 3 || !byte.has_value()) {
            return std::nullopt;
        }
        id.push_back(static_cast<char>(*byte));
        i += 2;
    }
    return id;
}

}  // namespace

std::string group(std::string_view id) {
    std::string key = fmt::format("{}/", root);
    for (const char c : id) {
        if (is_plain(c)) {
            key.push_back(c);
        } else {
            fmt::format_to(std::back_inserter(key), "%{:02X}", static_cast<std::uint8_t>(c));
        }
    }
    return id.empty() ? key.append(empty_id) : key;
}

std::string epoch(std::string_view group_key) {
    return fmt::format("{}/epoch", group_key);
}

std::string offset(std::string_view group_key, const OffsetKey& offset) {
    return fmt::format("{}/c:{}:{}", group_key, offset.topic, offset.partition);
}

std::optional<std::string> group_id(std::string_view key) {
    if (!key.starts_with(root) || !key.substr(root.size()).starts_with('/')) {
        return std::nullopt;
    }
    const std::string_view rest = key.substr(root.size() + 1);
    if (rest.empty() || rest.find('/') != std::string_view::npos) {
        return std::nullopt;
    }
    return rest == empty_id ? std::optional(std::string()) : decode_id(rest);
}

std::optional<OffsetKey> offset_of(std::string_view group_key, std::string_view key) {
    const std::string prefix = fmt::format("{}/c:", group_key);
    const std::size_t colon = key.rfind(':');
    if (!key.starts_with(prefix) || colon < prefix.size()) {
        return std::nullopt;
    }
    const auto partition = number<std::int32_t>(key.substr(colon + 1));
    if (!partition.has_value()) {
        return std::nullopt;
    }
    return OffsetKey{
        .topic = std::string(key.substr(prefix.size(), colon - prefix.size())),
        .partition = *partition,
    };
}

bool is_old_epoch(std::string_view group_key, std::string_view key) {
    const std::string prefix = fmt::format("{}/e", group_key);
    return key.starts_with(prefix) && key.size() == prefix.size() + old_epoch_digits &&
           number<std::uint64_t>(key.substr(prefix.size())).has_value();
}

meta::Range all_groups(meta::KeyOrder order) {
    return catalog::keys::children(order, root);
}

meta::Range of_group(meta::KeyOrder order, std::string_view group_key) {
    meta::Range range = catalog::keys::children(order, group_key);
    range.partition_key = std::string(group_key);
    return range;
}

}  // namespace lakestream::kafka::groups::keys
