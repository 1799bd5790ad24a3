// SPDX-License-Identifier: Apache-2.0
// Results: propagation, context, and codes that each have a name of their own.
#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

namespace lakestream {
namespace {

Result<std::unique_ptr<int>> half(int number) {
    if (number % 2 != 0) {
        return invalid_argument("{} is odd", number);
    }
    return std::make_unique<int>(number / 2);
}

Result<int> quarter(int number) {
    const std::unique_ptr<int> once = LKS_TRY(half(number));
    return *LKS_TRY(half(*once));
}

Status check(int number) {
    LKS_TRY(quarter(number));
    return {};
}

TEST(Result, an_error_leaves_the_function_and_a_value_is_moved_out) {
    EXPECT_EQ(quarter(12).value(), 3);
    EXPECT_TRUE(check(12).ok());
    const auto odd = quarter(6);
    ASSERT_TRUE(odd.is(ErrorCode::invalid_argument));
    EXPECT_FALSE(odd.is(ErrorCode::not_found));
    EXPECT_EQ(odd.error().message, "3 is odd");
    EXPECT_EQ(check(6).error(), odd.error());
}

TEST(Result, context_goes_in_front_and_keeps_the_rest) {
    Error error = throttled("slow down");
    error.retry_after = std::chrono::milliseconds(7);
    error.reason = 3;
    const Error longer = Error(error).with_context("object x");
    EXPECT_EQ(longer.to_string(), "throttled: object x: slow down");
    EXPECT_EQ(longer.retry_after, error.retry_after);
    EXPECT_EQ(longer.reason, error.reason);
}

TEST(Result, every_code_has_its_own_name) {
    std::set<std::string_view> names;
    constexpr int codes = static_cast<int>(ErrorCode::internal) + 1;
    for (int code = 0; code < codes; ++code) {
        names.insert(to_string(static_cast<ErrorCode>(code)));
    }
    EXPECT_EQ(names.size(), static_cast<std::size_t>(codes));
}

}  // namespace
}  // namespace lakestream
