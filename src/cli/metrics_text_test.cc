// SPDX-License-Identifier: Apache-2.0
// Scrapes, HTTP answers, rows and progress.
#include "cli/metrics_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/http_get.h"
#include "cli/progress.h"
#include "cli/rows.h"
#include "cli/text.h"

namespace lakestream::cli {
namespace {

TEST(MetricsText, SumsByLabel) {
    const auto samples = parse_metrics(
        "# HELP a_total Words.\n# TYPE a_total counter\n"
        "a_total{operation=\"put\",store=\"w\\\"\\\\\\n\"} 3\n"
        "a_total{operation=\"get\",store=\"c\"} 4\n\nb_seconds 0.25\n"
        "c_bucket{le=\"+Inf\"} +Inf"
    );
    ASSERT_TRUE(samples.ok());
    ASSERT_EQ(samples->size(), 4);
    EXPECT_EQ(samples->front().labels.at("store"), "w\"\\\n");
    EXPECT_EQ(sum_of(*samples, "a_total"), 7);
    EXPECT_EQ(sum_of(*samples, "a_total", "operation", "put"), 3);
    EXPECT_EQ(sum_of(*samples, "a_total", "colour", "put"), 0);
    EXPECT_EQ(sum_of(*samples, "b_seconds"), 0.25);
    EXPECT_TRUE(has_metric(*samples, "b_seconds"));
    EXPECT_FALSE(has_metric(*samples, "b"));
}

TEST(MetricsText, RefusesWhatIsNoSample) {
    for (const std::string_view wrong :
         {"a", "a{", "a{b", "a{b=\"", "a{b=\"c", "a{b=\"c\"", "a{b=\"c\"}", "a{b=\"c\"}x", "a b"}) {
        EXPECT_TRUE(parse_metrics(wrong).is(ErrorCode::corrupt)) << wrong;
    }
}

TEST(HttpAnswer, IsStatusAndBody) {
    const auto answer = parse_http_answer("HTTP/1.1 503 Busy\r\nA: b\r\n\r\nbody\r\n\r\nmore");
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->status, 503);
    EXPECT_EQ(answer->body, "body\r\n\r\nmore");
    for (const std::string_view wrong :
         {"",
          "HTTP/1.1",
          "HTTP/1.1 200 OK\r\n",
          "SSH-2.0 200 x\r\n\r\n",
          "HTTP/1.1 x00 OK\r\n\r\n",
          "HTTP/1.1\r\n\r\n "}) {
        EXPECT_TRUE(parse_http_answer(wrong).is(ErrorCode::corrupt)) << wrong;
    }
}

std::string printed(RecordFormat format) {
    testing::internal::CaptureStdout();
    Rows rows(format, {"name", "log_end", "parts"});
    EXPECT_TRUE(rows.add({"orders", 7, {1, 2}}).ok());
    EXPECT_TRUE(rows.add({"x", nullptr, nlohmann::json::array()}).ok());
    EXPECT_TRUE(rows.finish().ok());
    EXPECT_TRUE(flush_lines().ok());
    return testing::internal::GetCapturedStdout();
}

TEST(Progress, IsABarWhenTheTotalIsKnown) {
    EXPECT_EQ(Progress::text(3, 12, "objects"), "[#####               ]  25% 3/12 objects");
    EXPECT_EQ(Progress::text(13, 12, "MB"), "[####################] 100% 13/12 MB");
    EXPECT_EQ(Progress::text(3, 0, "MB"), "3 MB");
}

TEST(Progress, StaysSilentWithoutATerminal) {
    testing::internal::CaptureStderr();
    {
        Progress progress("objects", 2);
        const rt::SystemClock clock;
        for (const MonoTime end = clock.mono_now() + 150ms; clock.mono_now() < end;) {
            progress.show(1);
        }
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Rows, AreColumnsOrObjects) {
    EXPECT_EQ(
        printed(RecordFormat::text),
        "NAME    LOG-END  PARTS\n"
        "orders  7        1,2\n"
        "x       -        -\n"
    );
    EXPECT_EQ(
        printed(RecordFormat::json),
        "{\"name\":\"orders\",\"log_end\":7,\"parts\":[1,2]}\n"
        "{\"name\":\"x\",\"log_end\":null,\"parts\":[]}\n"
    );
}

}  // namespace
}  // namespace lakestream::cli
