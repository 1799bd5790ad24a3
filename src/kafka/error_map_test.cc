// SPDX-License-Identifier: Apache-2.0
// What clients do with our errors follows from the code they become.
#include "kafka/error_map.h"

#include <gtest/gtest.h>

#include "base/result.h"
#include "log/engine.h"

namespace lakestream::kafka {
namespace {

TEST(ErrorMap, what_may_succeed_later_is_retriable_for_producers) {
    for (const ErrorCode code :
         {ErrorCode::throttled,
          ErrorCode::exhausted,
          ErrorCode::unsupported,  // a read-only file system
          ErrorCode::already_exists,
          ErrorCode::out_of_range,
          ErrorCode::not_found,
          ErrorCode::unavailable,
          ErrorCode::deadline_exceeded,
          ErrorCode::outcome_unknown,
          ErrorCode::cancelled,
          ErrorCode::conflict,
          ErrorCode::lease_lost,
          ErrorCode::corrupt}) {
        EXPECT_TRUE(codec::kafka::is_retriable(append_to_kafka(Error{.code = code})))
            << to_string(code);
    }
}

TEST(ErrorMap, a_store_that_refuses_is_no_fault_of_the_client) {
    EXPECT_EQ(append_to_kafka(unsupported("read-only")), KafkaError::not_enough_replicas);
    EXPECT_EQ(to_kafka(unsupported("no right")), KafkaError::kafka_storage_error);
    EXPECT_TRUE(codec::kafka::is_retriable(to_kafka(unsupported("no right"))));
}

TEST(ErrorMap, codes_that_let_a_producer_renumber_need_a_final_verdict) {
    for (int code = 0; code <= static_cast<int>(ErrorCode::internal); ++code) {
        const KafkaError error = append_to_kafka(Error{.code = static_cast<ErrorCode>(code)});
        EXPECT_NE(error, KafkaError::out_of_order_sequence_number);
        EXPECT_NE(error, KafkaError::unknown_producer_id);
        EXPECT_NE(error, KafkaError::invalid_producer_epoch);
        EXPECT_NE(error, KafkaError::none);
    }
    const auto with = [](ErrorCode code, log::AppendReason reason) {
        return append_to_kafka(Error{.code = code, .reason = static_cast<std::uint16_t>(reason)});
    };
    using log::AppendReason;
    EXPECT_EQ(
        with(ErrorCode::invalid_argument, AppendReason::out_of_order_sequence),
        KafkaError::out_of_order_sequence_number
    );
    EXPECT_EQ(
        with(ErrorCode::invalid_argument, AppendReason::unknown_producer_id),
        KafkaError::unknown_producer_id
    );
    EXPECT_EQ(
        with(ErrorCode::fenced, AppendReason::invalid_producer_epoch),
        KafkaError::invalid_producer_epoch
    );
}

TEST(ErrorMap, damage_is_told_to_consumers_and_not_retried) {
    EXPECT_EQ(to_kafka(corrupt("object")), KafkaError::corrupt_message);
    EXPECT_EQ(to_kafka(unavailable("store")), KafkaError::kafka_storage_error);
}

}  // namespace
}  // namespace lakestream::kafka
