// SPDX-License-Identifier: Apache-2.0
// HttpParser: HTTP/1.1 requests from bytes. No sockets: the caller reads and writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"

namespace lakestream::net {

struct HttpLimits {
    std::uint32_t header_bytes_max = 16 << 10;  // request line included
    std::uint64_t body_bytes_max = 1 << 20;
};

struct HttpRequest {
    std::string method;  // as sent: GET, HEAD, …
    std::string target;  // path and query, not decoded
    std::map<std::string, std::string>
        headers;  // names in lower case; repeated ones joined by ", "
    std::string body;
    bool keep_alive = false;  // the client's wish, by version and Connection header
};

/// Distinctions below `invalid_argument` (Error::reason).
enum class HttpFault : std::uint16_t {
    none = 0,
    malformed,
    header_too_large,
    body_too_large,
};

/// One connection's requests, one after the other. Holds at most one request.
class HttpParser {
  public:
    enum class Progress : bool { needs_more, complete };

    explicit HttpParser(HttpLimits limits);
    HttpParser(HttpParser&&) noexcept;
    HttpParser& operator=(HttpParser&&) noexcept;
    ~HttpParser();

    /// Take what is understood from the front of `buffer`; the rest must come again with more
    /// behind it. Errors: `invalid_argument` (HttpFault); the connection cannot go on.
    Result<Progress> feed(std::string& buffer);
    /// The complete request; the parser is ready for the next.
    HttpRequest take();

  private:
    struct Beast;

    HttpLimits limits_;
    std::unique_ptr<Beast> beast_;
};

}  // namespace lakestream::net
