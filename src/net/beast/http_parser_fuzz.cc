// SPDX-License-Identifier: Apache-2.0
// Any bytes, cut at any place: the same requests or a refusal, within the limits.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/assert.h"
#include "net/beast/http_parser.h"

namespace lakestream::net {
namespace {

constexpr HttpLimits limits{.header_bytes_max = 256, .body_bytes_max = 64};

struct Parsed {
    std::vector<std::string> bodies;
    bool header_too_large = false;
};

/// The requests in `text`, fed in pieces of `step` bytes.
Parsed parse(const std::string& text, std::size_t step) {
    Parsed parsed;
    HttpParser parser(limits);
    std::string buffer;
    for (std::size_t at = 0; at < text.size(); at += step) {
        buffer += text.substr(at, step);
        while (true) {
            const auto progress = parser.feed(buffer);
            if (!progress.ok()) {
                parsed.header_too_large = progress.error().reason ==
                                          static_cast<std::uint16_t>(HttpFault::header_too_large);
                return parsed;
            }
            if (*progress == HttpParser::Progress::needs_more) {
                break;
            }
            parsed.bodies.push_back(parser.take().body);
            LKS_ASSERT(parsed.bodies.back().size() <= limits.body_bytes_max);
        }
    }
    return parsed;
}

}  // namespace
}  // namespace lakestream::net

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const auto whole = lakestream::net::parse(text, text.size() + 1);
    const auto bytewise = lakestream::net::parse(text, 1);
    // The limit of a header is a few bytes lower while its end has not come.
    LKS_ASSERT(bytewise.header_too_large || bytewise.bodies == whole.bodies);
    return 0;
}
