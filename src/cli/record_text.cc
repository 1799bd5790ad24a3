// SPDX-License-Identifier: Apache-2.0
// By hand on the way out, since a million records a second go through it.
#include "cli/record_text.h"

#include <fmt/compile.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "cli/text.h"
#include "codec/base64.h"

namespace lakestream::cli {

using nlohmann::json;

namespace {

std::string_view view_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_plain(char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\';
}

void append_quoted(std::string& out, std::string_view text) {
    out += '"';
    while (!text.empty()) {
        std::size_t plain = 0;
        while (plain < text.size() && is_plain(text[plain])) {
            ++plain;
        }
        out += text.substr(0, plain);
        text.remove_prefix(plain);
        if (text.empty()) {
            break;
        }
        switch (text.front()) {
            case '"': out += "\\\""; break;
            case '\\': out += "\\\\"; break;
            case '\n': out += "\\n"; break;
            case '\r': out += "\\r"; break;
            case '\t': out += "\\t"; break;
            default: fmt::format_to(std::back_inserter(out), "\\u{:04x}", text.front());
        }
        text.remove_prefix(1);
    }
    out += '"';
}

/// `"NAME":TEXT`, or `"NAME_base64":`, or null.
void append_field(std::string& out, std::string_view name, const codec::NullableBytes& bytes) {
    const std::string_view text = bytes.has_value() ? view_of(*bytes) : std::string_view();
    const bool readable = is_utf8(text);
    out += '"';
    out += name;
    out += readable ? "\":" : "_base64\":";
    if (!bytes.has_value()) {
        out += "null";
    } else if (readable) {
        append_quoted(out, text);
    } else {
        append_quoted(out, codec::base64_encode(*bytes));
    }
}

/// The bytes that `NAME` or `NAME_base64` says; nothing for null or neither.
Result<std::optional<std::string>> bytes_of(const json& object, const std::string& name) {
    if (const auto coded = object.find(name + "_base64"); coded != object.end()) {
        const auto bytes =
            codec::base64_decode(coded->is_string() ? coded->get<std::string>() : "?");
        if (!bytes.ok()) {
            return invalid_argument("{}_base64 is not Base64", name);
        }
        return std::optional(std::string(bytes->view()));
    }
    const auto text = object.find(name);
    if (text == object.end() || text->is_null()) {
        return std::optional<std::string>();
    }
    return std::optional(text->is_string() ? text->get<std::string>() : text->dump());
}

template <class T>
Result<std::optional<T>> number_of(const json& object, const std::string& name) {
    const auto number = object.find(name);
    if (number == object.end()) {
        return std::optional<T>();
    }
    if (!number->is_number_integer()) {
        return invalid_argument("{} is not a number", name);
    }
    return std::optional(number->get<T>());
}

}  // namespace

void append_text(std::string& out, const codec::Record& record, bool keyed) {
    if (keyed) {
        out += view_of(record.key.value_or(std::span<const std::byte>()));
        out += '\t';
    }
    out += view_of(record.value.value_or(std::span<const std::byte>()));
    out += '\n';
}

void append_json(std::string& out, const RecordPlace& place, const codec::Record& record) {
    out += "{\"topic\":";
    append_quoted(out, place.topic);
    fmt::format_to(
        std::back_inserter(out),
        FMT_COMPILE(",\"partition\":{},\"offset\":{},\"timestamp\":{},"),
        place.partition,
        place.offset.v,
        record.timestamp
    );
    append_field(out, "key", record.key);
    out += ',';
    append_field(out, "value", record.value);
    if (!record.headers.empty()) {
        char separator = '[';
        out += ",\"headers\":";
        for (const codec::RecordHeader& header : record.headers) {
            out += separator;
            out += '{';
            append_field(out, "key", std::as_bytes(std::span(header.key)));
            out += ',';
            append_field(out, "value", header.value);
            out += '}';
            separator = ',';
        }
        out += ']';
    }
    out += "}\n";
}

Result<InputRecord> parse_json_record(std::string_view line) {
    const json object = json::parse(line, nullptr, false);
    if (!object.is_object()) {
        return invalid_argument("this is no JSON object");
    }
    InputRecord record;
    record.partition = LKS_TRY(number_of<std::int32_t>(object, "partition"));
    record.timestamp = LKS_TRY(number_of<std::int64_t>(object, "timestamp"));
    record.key = LKS_TRY(bytes_of(object, "key"));
    record.value = LKS_TRY(bytes_of(object, "value"));
    if (!object.contains("value") && !object.contains("value_base64")) {
        return invalid_argument("it has no value");
    }
    const auto headers = object.find("headers");
    if (headers == object.end()) {
        return record;
    }
    if (!headers->is_array()) {
        return invalid_argument("headers is no list");
    }
    for (const json& header : *headers) {
        if (!header.is_object()) {
            return invalid_argument("a header is no object");
        }
        auto key = LKS_TRY(bytes_of(header, "key"));
        auto value = LKS_TRY(bytes_of(header, "value"));
        record.headers.emplace_back(std::move(key).value_or(""), std::move(value));
    }
    return record;
}

}  // namespace lakestream::cli
