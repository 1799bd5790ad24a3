// SPDX-License-Identifier: Apache-2.0
// HTTP/1.0, so that the body ends where the connection does.
#include "cli/http_get.h"

#include <array>

#include "base/format.h"
#include "cli/session.h"
#include "cli/text.h"

namespace lakestream::cli {

namespace {

constexpr std::size_t answer_bytes_max = 64 << 20;
constexpr std::size_t chunk_bytes = 64 << 10;

rt::Task<Result<std::string>> read_all(net::Stream& stream, Deadline deadline) {
    std::string text;
    std::vector<std::byte> chunk(chunk_bytes);
    while (text.size() < answer_bytes_max) {
        const std::size_t count = LKS_CO_TRY(co_await stream.read_some(chunk, deadline));
        if (count == 0) {
            co_return text;
        }
        text.append(reinterpret_cast<const char*>(chunk.data()), count);
    }
    co_return exhausted("an answer of more than {} bytes", answer_bytes_max);
}

rt::Task<Result<std::string>> exchange(
    net::Network& network, net::Address address, std::string request
) {
    const Deadline deadline = (co_await rt::this_executor()).now() + patience;
    auto stream = LKS_CO_TRY(co_await network.connect(std::move(address), deadline));
    Status sent = co_await stream->write(Slices(Bytes::own(std::move(request))), deadline);
    auto answer = sent.ok() ? co_await read_all(*stream, deadline) : sent.error();
    stream->close();
    co_return answer;
}

}  // namespace

Result<HttpAnswer> parse_http_answer(std::string_view text) {
    constexpr std::string_view blank = "\r\n\r\n";
    const std::size_t space = text.find(' ');
    const std::size_t end = text.find(blank);
    if (!text.starts_with("HTTP/1.") || end == std::string_view::npos || space > end) {
        return corrupt("this is no HTTP answer");
    }
    const auto status = parse_integer(text.substr(space + 1, 3));
    if (!status.ok()) {
        return corrupt("this is no HTTP answer");
    }
    return HttpAnswer{
        .status = static_cast<int>(*status), .body = std::string(text.substr(end + blank.size()))
    };
}

Result<HttpAnswer> http_get(const std::string& address, std::string_view path) {
    Session session;
    net::Address where = LKS_TRY(net::Address::parse(address));
    std::string request = fmt::format("GET {} HTTP/1.0\r\nHost: {}\r\n\r\n", path, address);
    auto text = session.run(exchange(session.network(), std::move(where), std::move(request)));
    if (!text.ok()) {
        return std::move(text).error().with_context(
            fmt::format("http://{}{}: is a node with this http.listen running?", address, path)
        );
    }
    auto answer = parse_http_answer(*text);
    if (!answer.ok()) {
        return std::move(answer).error().with_context(fmt::format("http://{}{}", address, path));
    }
    return answer;
}

}  // namespace lakestream::cli
