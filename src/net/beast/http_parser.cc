// SPDX-License-Identifier: Apache-2.0
// Boost.Beast's request parser behind a small header.

// One of its assertions fails on input: a last chunk whose trailer arrives byte by byte.
#define BOOST_DISABLE_ASSERTS  // NOLINT
#include "net/beast/http_parser.h"

#include <algorithm>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <utility>

namespace lakestream::net {

namespace http = boost::beast::http;

struct HttpParser::Beast {
    explicit Beast(const HttpLimits& limits) {
        parser.eager(true);
        parser.header_limit(limits.header_bytes_max);
        parser.body_limit(limits.body_bytes_max);
    }

    http::request_parser<http::string_body> parser;
};

namespace {

Error fault(HttpFault reason, std::string_view text) {
    Error error = invalid_argument("HTTP request: {}", text);
    error.reason = static_cast<std::uint16_t>(reason);
    return error;
}

Error to_error(const boost::system::error_code& code) {
    if (code == http::error::header_limit) {
        return fault(HttpFault::header_too_large, "the header is too large");
    }
    if (code == http::error::body_limit) {
        return fault(HttpFault::body_too_large, "the body is too large");
    }
    return fault(HttpFault::malformed, code.message());
}

std::string text(boost::beast::string_view view) {
    return {view.data(), view.size()};
}

std::string lower(std::string name) {
    std::ranges::transform(name, name.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    });
    return name;
}

}  // namespace

HttpParser::HttpParser(HttpLimits limits)
    : limits_(limits), beast_(std::make_unique<Beast>(limits)) {}

HttpParser::HttpParser(HttpParser&&) noexcept = default;
HttpParser& HttpParser::operator=(HttpParser&&) noexcept = default;
HttpParser::~HttpParser() = default;

Result<HttpParser::Progress> HttpParser::feed(std::string& buffer) {
    std::size_t taken = 0;
    while (!beast_->parser.is_done()) {
        boost::system::error_code code;
        const std::size_t count = beast_->parser.put(
            boost::asio::const_buffer(buffer.data() + taken, buffer.size() - taken), code
        );
        taken += count;
        if (code && code != http::error::need_more) {
            return to_error(code);
        }
        if (code || count == 0) {
            break;
        }
    }
    buffer.erase(0, taken);
    return beast_->parser.is_done() ? Progress::complete : Progress::needs_more;
}

HttpRequest HttpParser::take() {
    http::request<http::string_body> message = beast_->parser.release();
    beast_ = std::make_unique<Beast>(limits_);
    HttpRequest request{
        .method = text(message.method_string()),
        .target = text(message.target()),
        .keep_alive = message.keep_alive(),
    };
    for (const auto& field : message) {
        auto [at, fresh] =
            request.headers.try_emplace(lower(text(field.name_string())), text(field.value()));
        if (!fresh) {
            at->second += ", " + text(field.value());
        }
    }
    request.body = std::move(message.body());
    return request;
}

}  // namespace lakestream::net
