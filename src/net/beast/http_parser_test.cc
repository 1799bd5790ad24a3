// SPDX-License-Identifier: Apache-2.0
// Requests whole, in pieces, one after the other, and what is none.
#include "net/beast/http_parser.h"

#include <gtest/gtest.h>

namespace lakestream::net {
namespace {

using Progress = HttpParser::Progress;

constexpr std::string_view post =
    "POST /x?y=1 HTTP/1.1\r\nHost: a\r\nAccept: 1\r\nACCEPT: 2\r\nContent-Length: 5\r\n\r\nhello";

void expect_post(const HttpRequest& request) {
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.target, "/x?y=1");
    EXPECT_EQ(request.headers.at("accept"), "1, 2");
    EXPECT_EQ(request.headers.at("host"), "a");
    EXPECT_EQ(request.body, "hello");
    EXPECT_TRUE(request.keep_alive);
}

TEST(HttpParser, reads_a_request_cut_anywhere) {
    for (std::size_t cut = 0; cut <= post.size(); ++cut) {
        HttpParser parser({});
        std::string buffer(post.substr(0, cut));
        ASSERT_EQ(
            parser.feed(buffer).value(),
            cut == post.size() ? Progress::complete : Progress::needs_more
        );
        buffer += post.substr(cut);
        if (cut < post.size()) {
            ASSERT_EQ(parser.feed(buffer).value(), Progress::complete) << cut;
        }
        EXPECT_TRUE(buffer.empty());
        expect_post(parser.take());
    }
}

TEST(HttpParser, reads_requests_one_after_the_other) {
    HttpParser parser({});
    std::string buffer = std::string(post) + "GET / HTTP/1.0\r\n\r\n" + std::string(post);
    ASSERT_EQ(parser.feed(buffer).value(), Progress::complete);
    expect_post(parser.take());
    ASSERT_EQ(parser.feed(buffer).value(), Progress::complete);
    const HttpRequest second = parser.take();
    EXPECT_EQ(second.method, "GET");
    EXPECT_FALSE(second.keep_alive);
    ASSERT_EQ(parser.feed(buffer).value(), Progress::complete);
    expect_post(parser.take());
}

TEST(HttpParser, reads_a_chunked_body_byte_by_byte) {
    HttpParser parser({});
    std::string buffer;
    Progress progress = Progress::needs_more;
    for (const char c : std::string_view("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
                                         "3\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: x\r\n\r\n")) {
        ASSERT_EQ(progress, Progress::needs_more);
        buffer += c;
        progress = parser.feed(buffer).value();
    }
    ASSERT_EQ(progress, Progress::complete);
    EXPECT_EQ(parser.take().body, "abcde");
}

TEST(HttpParser, refuses_what_is_no_request) {
    for (const std::string& bad : {
             std::string("GET\r\n\r\n"),
             std::string("GET / HTTP/2.0\r\n\r\n"),
             std::string("GET / HTTP/1.1\r\nno colon\r\n\r\n"),
             std::string("G\0T / HTTP/1.1\r\n\r\n", 18),
             std::string("GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"),
             std::string("GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"),
             std::string("GET / HTTP/1.1\r\nContent-Length: 3\r\n"
                         "Transfer-Encoding: chunked\r\n\r\n"),
             std::string("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
             std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 15),
         }) {
        HttpParser parser({});
        std::string buffer = bad;
        const auto progress = parser.feed(buffer);
        ASSERT_FALSE(progress.ok()) << bad;
        EXPECT_EQ(progress.error().reason, static_cast<std::uint16_t>(HttpFault::malformed)) << bad;
    }
}

TEST(HttpParser, refuses_what_is_too_large_before_it_is_there) {
    HttpParser long_header({.header_bytes_max = 100});
    std::string buffer = "GET /" + std::string(200, 'x');
    EXPECT_EQ(
        long_header.feed(buffer).error().reason,
        static_cast<std::uint16_t>(HttpFault::header_too_large)
    );
    HttpParser long_body({.body_bytes_max = 100});
    buffer = "POST / HTTP/1.1\r\nContent-Length: 2147483648\r\n\r\n";
    EXPECT_EQ(
        long_body.feed(buffer).error().reason, static_cast<std::uint16_t>(HttpFault::body_too_large)
    );
    HttpParser long_chunks({.body_bytes_max = 4});
    buffer = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n";
    EXPECT_EQ(
        long_chunks.feed(buffer).error().reason,
        static_cast<std::uint16_t>(HttpFault::body_too_large)
    );
}

}  // namespace
}  // namespace lakestream::net
