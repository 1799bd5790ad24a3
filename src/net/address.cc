// SPDX-License-Identifier: Apache-2.0
// Parsing and printing of network addresses.
#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

#include "net/net.h"

namespace lakestream::net {

namespace {

constexpr std::size_t host_bytes_max = 253;  // RFC 1035's longest name

bool is_ipv6(const std::string& text) {
    in6_addr address{};
    return inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

bool is_name(std::string_view text) {
    constexpr auto allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '-' || c == '_';
    };
    return !text.empty() && text.size() <= host_bytes_max && std::ranges::all_of(text, allowed);
}

}  // namespace

Result<Address> Address::parse(std::string_view text) {
    const auto wrong = [text](std::string_view why) {
        return invalid_argument(
            "address '{}': {}; expected HOST:PORT, as 127.0.0.1:9092 or [::1]:9092", text, why
        );
    };
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) {
        return wrong("has no port");
    }
    std::string host(text.substr(0, colon));
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
        if (!is_ipv6(host)) {
            return wrong("has no IPv6 address in its brackets");
        }
    } else if (!is_name(host)) {
        return wrong("has no valid host");
    }
    const std::string_view digits = text.substr(colon + 1);
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (error != std::errc() || end != digits.data() + digits.size()) {
        return wrong("has a port that is no number from 0 to 65535");
    }
    return Address{std::move(host), port};
}

std::string Address::to_string() const {
    return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                               : fmt::format("[{}]:{}", host, port);
}

}  // namespace lakestream::net
