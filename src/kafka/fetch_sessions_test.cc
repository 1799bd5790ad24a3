// SPDX-License-Identifier: Apache-2.0
// KIP-227's rules: epochs, changes, order, eviction.
#include "kafka/fetch_sessions.h"

#include <gtest/gtest.h>

namespace lakestream::kafka {
namespace {

using codec::kafka::FetchRequest;

FetchRequest full(std::int32_t partitions, std::int32_t epoch = 0, std::int32_t id = 0) {
    FetchRequest request{.session_id = id, .session_epoch = epoch};
    request.topics.push_back({.topic = "t", .partitions = {}});
    for (std::int32_t i = 0; i < partitions; ++i) {
        request.topics[0].partitions.push_back({.partition = i});
    }
    return request;
}

FetchRequest next(std::int32_t id, std::int32_t epoch) {
    return FetchRequest{.session_id = id, .session_epoch = epoch};
}

class Sessions : public ::testing::Test {
  protected:
    std::int32_t make(std::int32_t partitions) {
        FetchPlan plan = sessions_.open(full(partitions), 11, time_);
        answer(plan);
        return plan.session_id;
    }

    /// Which partitions are in the answer.
    std::vector<std::int32_t> answer(FetchPlan& plan, std::int32_t with_records = -1) {
        return answer(plan, [&](const FetchTarget& target) {
            return FetchOutcome{
                .high_watermark = 10,
                .log_start = 0,
                .has_records = target.partition == with_records,
            };
        });
    }

    template <class OutcomeOf>
    std::vector<std::int32_t> answer(FetchPlan& plan, OutcomeOf outcome_of) {
        std::vector<std::int32_t> sent;
        const auto add = [&](const FetchTarget& target) { sent.push_back(target.partition); };
        sessions_.answer(plan, time_, rng_, outcome_of, add);
        return sent;
    }

    /// Of a request that is answered if it may be.
    KafkaError error(const FetchRequest& request) {
        FetchPlan plan = sessions_.open(request, 11, time_);
        if (plan.error == KafkaError::none) {
            answer(plan);
        }
        return plan.error;
    }

    MonoTime time_{1h};
    rt::Rng rng_{1};
    FetchSessions sessions_{
        {.sessions_max = 3, .partitions_max = 20, .age_min = 2min}, {.index = 1, .count = 4}
    };
};

TEST_F(Sessions, ids_are_positive_and_of_the_slot) {
    const std::int32_t id = make(1);
    EXPECT_GT(id, 0);
    EXPECT_EQ(id % 4, 1);
}

TEST_F(Sessions, a_full_request_without_a_session_makes_none) {
    FetchPlan plan = sessions_.open(full(2, -1), 11, time_);
    EXPECT_EQ(answer(plan), (std::vector<std::int32_t>{0, 1}));
    EXPECT_EQ(plan.session_id, 0);
    EXPECT_EQ(sessions_.sessions(), 0);
}

TEST_F(Sessions, epochs_count_and_a_final_one_ends) {
    const std::int32_t id = make(2);
    EXPECT_EQ(error(next(id, 2)), KafkaError::invalid_fetch_session_epoch);
    EXPECT_EQ(error(next(id, 1)), KafkaError::none);
    EXPECT_EQ(error(next(id, 1)), KafkaError::invalid_fetch_session_epoch);
    EXPECT_EQ(error(next(id, 2)), KafkaError::none);
    EXPECT_EQ(error(next(id + 4, 3)), KafkaError::fetch_session_id_not_found);
    EXPECT_EQ(error(full(1, -1, id)), KafkaError::none);
    EXPECT_EQ(error(next(id, 3)), KafkaError::fetch_session_id_not_found);
    EXPECT_EQ(sessions_.partitions(), 0);
}

TEST_F(Sessions, by_name_and_by_id_do_not_mix) {
    const std::int32_t id = make(1);
    EXPECT_EQ(
        sessions_.open(next(id, 1), 13, time_).error, KafkaError::fetch_session_topic_id_error
    );
}

TEST_F(Sessions, who_had_records_goes_to_the_end) {
    const std::int32_t id = make(3);
    FetchPlan plan = sessions_.open(next(id, 1), 11, time_);
    EXPECT_EQ(answer(plan, 0), (std::vector<std::int32_t>{0}));
    plan = sessions_.open(next(id, 2), 11, time_);
    EXPECT_EQ(plan.reads->partitions().size(), 3);
    EXPECT_EQ(plan.reads->partitions().front().target.partition, 1);
    EXPECT_EQ(plan.reads->partitions().back().target.partition, 0);
}

TEST_F(Sessions, an_error_is_repeated_and_the_next_answer_is_sent) {
    const std::int32_t id = make(1);
    const auto included = [&](std::int32_t epoch, FetchOutcome outcome) {
        FetchPlan plan = sessions_.open(next(id, epoch), 11, time_);
        return !answer(plan, [&](const FetchTarget&) { return outcome; }).empty();
    };
    const FetchOutcome failed{.error = KafkaError::kafka_storage_error};
    const FetchOutcome good{.high_watermark = 10, .log_start = 0};
    EXPECT_FALSE(included(1, good));
    EXPECT_TRUE(included(2, failed));
    EXPECT_TRUE(included(3, failed));
    EXPECT_TRUE(included(4, good));
    EXPECT_FALSE(included(5, good));
    EXPECT_TRUE(included(6, {.high_watermark = 11, .log_start = 0}));
    EXPECT_TRUE(included(7, {.high_watermark = 11, .log_start = 2}));
}

TEST_F(Sessions, one_that_becomes_empty_ends) {
    const std::int32_t id = make(1);
    FetchRequest request = next(id, 1);
    request.forgotten_topics_data.push_back({.topic = "t", .partitions = {0, 7}});
    const FetchPlan plan = sessions_.open(request, 11, time_);
    EXPECT_EQ(plan.error, KafkaError::none);
    EXPECT_TRUE(plan.reads->partitions().empty());
    EXPECT_EQ(sessions_.sessions(), 0);
    EXPECT_EQ(sessions_.partitions(), 0);
}

TEST_F(Sessions, young_ones_are_safe_from_smaller_and_equal_newcomers) {
    const std::int32_t first = make(2);
    make(2);
    make(2);
    EXPECT_EQ(make(5), 0);  // all are younger than two minutes
    time_ += 3min;
    EXPECT_EQ(error(next(first, 1)), KafkaError::none);  // used again
    EXPECT_NE(make(1), 0);                               // in place of an unused one
    EXPECT_EQ(error(next(first, 2)), KafkaError::none);
    EXPECT_EQ(sessions_.sessions(), 3);
}

TEST_F(Sessions, an_old_small_one_gives_way_to_a_larger) {
    const std::int32_t small = make(1);
    const std::int32_t large = make(6);
    time_ += 90s;
    EXPECT_EQ(error(next(small, 1)), KafkaError::none);
    EXPECT_EQ(error(next(large, 1)), KafkaError::none);
    const std::int32_t young = make(1);
    time_ += 60s;
    EXPECT_EQ(make(1), 0);
    EXPECT_NE(make(3), 0);
    EXPECT_EQ(error(next(small, 2)), KafkaError::fetch_session_id_not_found);
    EXPECT_EQ(error(next(large, 2)), KafkaError::none);
    EXPECT_EQ(error(next(young, 1)), KafkaError::none);
}

TEST_F(Sessions, one_that_would_grow_beyond_the_limit_ends_and_no_other) {
    const std::int32_t other = make(5);
    const std::int32_t id = make(5);
    FetchRequest request = full(10, 1, id);
    EXPECT_EQ(error(request), KafkaError::none);  // five more
    EXPECT_EQ(sessions_.partitions(), 15);
    request = full(16, 2, id);
    EXPECT_EQ(error(request), KafkaError::fetch_session_id_not_found);
    EXPECT_EQ(sessions_.partitions(), 5);
    EXPECT_EQ(error(next(other, 1)), KafkaError::none);
    EXPECT_EQ(make(16), 0);  // served all the same
    EXPECT_NE(make(15), 0);
    // One that is changed without growing goes on, however full it is.
    EXPECT_EQ(error(full(5, 2, other)), KafkaError::none);
}

TEST_F(Sessions, names_that_no_topic_has_are_not_kept) {
    FetchRequest request = full(1);
    request.topics[0].topic = std::string(250, 'x');
    FetchPlan plan = sessions_.open(request, 11, time_);
    EXPECT_EQ(answer(plan), (std::vector<std::int32_t>{0}));
    EXPECT_EQ(plan.session_id, 0);
    request.session_id = make(1);
    request.session_epoch = 1;
    EXPECT_EQ(error(request), KafkaError::fetch_session_id_not_found);
    EXPECT_EQ(sessions_.partitions(), 0);
}

TEST_F(Sessions, one_serves_one_request_at_a_time) {
    const std::int32_t id = make(2);
    FetchPlan plan = sessions_.open(next(id, 1), 11, time_);
    EXPECT_EQ(error(next(id, 2)), KafkaError::invalid_fetch_session_epoch);
    answer(plan);
    EXPECT_EQ(error(next(id, 2)), KafkaError::none);
}

TEST_F(Sessions, one_that_is_given_up_while_it_is_read_is_still_answered) {
    const std::int32_t id = make(2);
    FetchPlan plan = sessions_.open(next(id, 1), 11, time_);
    EXPECT_EQ(error(full(1, -1, id)), KafkaError::none);
    EXPECT_EQ(sessions_.partitions(), 0);
    EXPECT_EQ(answer(plan, 1), (std::vector<std::int32_t>{1}));
    EXPECT_EQ(error(next(id, 2)), KafkaError::fetch_session_id_not_found);
}

TEST_F(Sessions, a_topic_is_kept_once_and_forgotten_with_its_last_partition) {
    const std::int32_t id = make(3);
    FetchPlan plan = sessions_.open(next(id, 1), 11, time_);
    const auto& kept = plan.reads->partitions();
    EXPECT_EQ(kept.front().target.topic, kept.back().target.topic);
    answer(plan);
    FetchRequest request = next(id, 2);
    request.topics.push_back({.topic = "u", .partitions = {{.partition = 0}}});
    request.forgotten_topics_data.push_back({.topic = "t", .partitions = {0, 1, 2}});
    plan = sessions_.open(request, 11, time_);
    ASSERT_EQ(plan.reads->partitions().size(), 1);
    EXPECT_EQ(plan.reads->partitions().front().target.topic->name, "u");
    EXPECT_EQ(answer(plan), (std::vector<std::int32_t>{0}));
}

TEST_F(Sessions, partitions_of_all_are_bounded) {
    make(15);
    EXPECT_EQ(make(6), 0);
    EXPECT_NE(make(5), 0);
    time_ += 3min;
    EXPECT_NE(make(18), 0);
    EXPECT_EQ(sessions_.partitions(), 18);
    EXPECT_EQ(make(21), 0);
}

}  // namespace
}  // namespace lakestream::kafka
