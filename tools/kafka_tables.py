# SPDX-License-Identifier: Apache-2.0
"""The C++ of Kafka's two tables, errors and API keys, for gen_kafka.py."""

from kafka_model import BANNER, NAMESPACE, range_literal, snake

ERRORS_H = """#pragma once

#include <cstdint>
#include <string_view>

namespace @NAMESPACE@ {

/// What a response says about one request, topic or partition. Peers may send others.
enum class ErrorCode : std::int16_t {
@CODES@
};

/// The code's name as Kafka's documentation writes it; UNKNOWN for a code not listed.
std::string_view to_string(ErrorCode code) noexcept;

/// Whether a client may send the same request again and expect another answer.
bool is_retriable(ErrorCode code) noexcept;

/// Whether a client has to ask for metadata before it tries again.
bool refreshes_metadata(ErrorCode code) noexcept;

}  // namespace @NAMESPACE@
"""

ERRORS_CC = """#include "codec/kafka/gen/errors.h"

namespace @NAMESPACE@ {

std::string_view to_string(ErrorCode code) noexcept {
    switch (code) {
@NAMES@
    }
    return "UNKNOWN";
}

bool is_retriable(ErrorCode code) noexcept {
    switch (code) {
@RETRIABLE@
            return true;
        default: return false;
    }
}

bool refreshes_metadata(ErrorCode code) noexcept {
    switch (code) {
@REFRESHES@
            return true;
        default: return false;
    }
}

}  // namespace @NAMESPACE@
"""

API_KEYS_H = """#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "codec/kafka/version_range.h"

namespace @NAMESPACE@ {

enum class ApiKey : std::int16_t {
@KEYS@
};

/// What Kafka itself says about one API.
struct ApiInfo {
    ApiKey key;
    std::string_view name;  // as Kafka writes it: ListOffsets
    // Released ones; the codec may know one more that is not to be advertised.
    VersionRange versions;
    VersionRange flexible_versions;  // empty: never flexible
};

/// Every API, by ascending key.
std::span<const ApiInfo> all_apis() noexcept;

/// One API; null if Kafka has none with this key.
const ApiInfo* find_api(std::int16_t key) noexcept;

/// Version of the header in front of a request: 2 if its version is flexible, else 1. A version
/// newer than we know counts as flexible.
int request_header_version(const ApiInfo& api, std::int16_t version) noexcept;

/// Version of the header in front of a response: 1 if the version is flexible, else 0; always 0 for
/// ApiVersions, whose asker does not know yet what we speak.
int response_header_version(const ApiInfo& api, std::int16_t version) noexcept;

}  // namespace @NAMESPACE@
"""

API_KEYS_CC = """#include "codec/kafka/gen/api_keys.h"

#include <algorithm>
#include <array>

namespace @NAMESPACE@ {

namespace {

constexpr std::array<ApiInfo, @COUNT@> apis{{
@ROWS@
}};

bool is_flexible(const ApiInfo& api, std::int16_t version) noexcept {
    return !api.flexible_versions.empty() && version >= api.flexible_versions.first;
}

}  // namespace

std::span<const ApiInfo> all_apis() noexcept { return apis; }

const ApiInfo* find_api(std::int16_t key) noexcept {
    const auto wanted = static_cast<ApiKey>(key);
    const auto* found = std::ranges::lower_bound(apis, wanted, {}, &ApiInfo::key);
    return found != apis.end() && found->key == wanted ? found : nullptr;
}

int request_header_version(const ApiInfo& api, std::int16_t version) noexcept {
    return is_flexible(api, version) ? 2 : 1;
}

int response_header_version(const ApiInfo& api, std::int16_t version) noexcept {
    return is_flexible(api, version) && api.key != ApiKey::api_versions ? 1 : 0;
}

}  // namespace @NAMESPACE@
"""


def filled(what, template, **parts):
    """The template as lines, with each @PART@ replaced."""
    text = BANNER.format(what=what) + template.replace("@NAMESPACE@", NAMESPACE)
    for name, value in parts.items():
        text = text.replace(f"@{name}@", value)
    return text.rstrip("\n").split("\n")


def errors_files(errors):
    """errors.h and errors.cc, each as a list of lines."""

    def cases(key):
        return "\n".join(
            f"        case ErrorCode::{error['name'].lower()}:" for error in errors if error[key]
        )

    codes = [f"    {error['name'].lower()} = {error['code']}," for error in errors]
    names = [
        f'        case ErrorCode::{error["name"].lower()}: return "{error["name"]}";'
        for error in errors
    ]
    header = filled("Kafka's error codes.", ERRORS_H, CODES="\n".join(codes))
    source = filled(
        "Names and kinds of Kafka's error codes.",
        ERRORS_CC,
        NAMES="\n".join(names),
        RETRIABLE=cases("retriable"),
        REFRESHES=cases("refreshes_metadata"),
    )
    return header, source


def api_keys_files(requests):
    """api_keys.h and api_keys.cc, each as a list of lines."""
    keys, rows = [], []
    for request in requests:
        name = request["name"].removesuffix("Request")
        low, high = request["versions"]
        released = [low, high - 1] if request.get("unstable_latest") else [low, high]
        versions = range_literal(released if released[0] <= released[1] else [])
        flexible = range_literal(request["flexible"])
        keys.append(f"    {snake(name)} = {request['key']},")
        rows.append(f'    {{ApiKey::{snake(name)}, "{name}", {versions}, {flexible}}},')
    what = "Kafka's API keys and the versions of each."
    header = filled(what, API_KEYS_H, KEYS="\n".join(keys))
    source = filled(
        "The table of Kafka's APIs.", API_KEYS_CC, COUNT=str(len(rows)), ROWS="\n".join(rows)
    )
    return header, source
