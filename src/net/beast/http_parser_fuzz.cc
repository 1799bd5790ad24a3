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

/// Bodies of the requests in `text`, fed in pieces of `step` bytes.
std::vector<std::string> parse(const std::string& text, std::size_t step) {
    std::vector<std::string> bodies;
    HttpParser parser(limits);
    std::string buffer;
    for (std::size_t at = 0; at < text.size(); at += step) {
        buffer += text.substr(at, step);
        while (true) {
            const auto progress = parser.feed(buffer);
            if (!progress.ok()) {
                return bodies;
            }
            if (*progress == HttpParser::Progress::needs_more) {
                break;
            }
            bodies.push_back(parser.take().body);
            LKS_ASSERT(bodies.back().size() <= limits.body_bytes_max);
        }
    }
    return bodies;
}

}  // namespace
}  // namespace lakestream::net

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const auto whole = lakestream::net::parse(text, text.size() + 1);
    LKS_ASSERT(whole == lakestream::net::parse(text, 1));
    return 0;
}
