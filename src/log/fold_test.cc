// SPDX-License-Identifier: Apache-2.0
// The rules of the fold, one by one, and its stored form.
#include "log/fold.h"

#include <gtest/gtest.h>

#include "codec/record_batch.h"
#include "codec/testing/golden.h"
#include "rt/rng.h"

namespace lakestream::log {
namespace {

constexpr WallTime noon = wall_from_ms(1'782'900'000'000);

/// Builds records that join each other.
class Prefix {
  public:
    FoldState state;

    std::vector<EntryVerdict> add(
        std::optional<WriterStamp> writer,
        std::vector<FoldEntry> entries,
        WallTime created = noon,
        std::optional<WallTime> date = noon
    ) {
        std::int64_t count = 0;
        for (const FoldEntry& entry : entries) {
            count += entry.records;
        }
        return fold(
            state,
            FoldRecord{
                .range = {state.end, state.end + count},
                .created = created,
                .writer = writer,
                .object_date = date,
                .entries = std::move(entries),
            }
        );
    }

    Verdict one(
        std::optional<WriterStamp> writer,
        FoldEntry entry,
        WallTime created = noon,
        std::optional<WallTime> date = noon
    ) {
        return add(writer, {entry}, created, date).at(0).verdict;
    }
};

WriterStamp writer(std::uint64_t number, std::uint64_t id = 0xabc) {
    return {.writer = id, .birth = noon, .number = number};
}

FoldEntry plain(std::int32_t records = 1) {
    return {.records = records, .producer = {}};
}

FoldEntry idempotent(
    std::int32_t sequence, std::int32_t records = 1, std::int16_t epoch = 0, std::int64_t id = 7
) {
    return {.records = records, .producer = ProducerStamp{id, epoch, sequence}};
}

TEST(WriterStamp, identity_round_trips_and_foreign_ones_are_none) {
    const WriterStamp stamp = writer(12);
    EXPECT_EQ(stamp.to_identity(), "lks/abc/1782900000000/12");
    EXPECT_EQ(WriterStamp::parse(stamp.to_identity()), stamp);
    for (const char* text :
         {"", "lks", "lks/", "lks/abc/1/", "lks/xyz/1/2", "lks/abc/1/2/3", "ursa/abc/1/2"}) {
        EXPECT_EQ(WriterStamp::parse(text), std::nullopt) << text;
    }
}

TEST(Fold, v0_a_record_published_after_the_window_is_void) {
    Prefix log;
    EXPECT_EQ(log.one(writer(0), plain(), noon + publish_window), Verdict::valid);
    EXPECT_EQ(log.one(writer(0, 2), plain(), noon + publish_window + 1ms), Verdict::published_late);
}

TEST(Fold, v0_judges_by_the_running_maximum) {
    Prefix log;
    EXPECT_EQ(log.one({}, plain(), noon + 2 * publish_window), Verdict::valid);
    EXPECT_EQ(log.one(writer(0), plain(), noon), Verdict::published_late);
}

TEST(Fold, v1_a_number_counts_once_and_in_order) {
    Prefix log;
    EXPECT_EQ(log.one(writer(1), plain()), Verdict::out_of_order_write);
    EXPECT_EQ(log.one(writer(0), plain()), Verdict::valid);
    EXPECT_EQ(log.one(writer(0), plain()), Verdict::resent);
    EXPECT_EQ(log.one(writer(2), plain()), Verdict::out_of_order_write);
    EXPECT_EQ(log.one(writer(1), plain()), Verdict::valid);
    EXPECT_EQ(log.state.landed(writer(1)), Offset(4));
    EXPECT_EQ(log.state.landed(writer(2)), std::nullopt);
    EXPECT_EQ(
        log.state.voids, (std::vector<OffsetRange>{{Offset(0), Offset(1)}, {Offset(2), Offset(4)}})
    );
    EXPECT_EQ(log.state.void_at(Offset(3)), (OffsetRange{Offset(3), Offset(4)}));
    EXPECT_TRUE(log.state.void_at(Offset(4)).empty());
}

TEST(Fold, v1_a_forgotten_writer_never_begins_again) {
    Prefix log;
    EXPECT_EQ(log.one(writer(0), plain()), Verdict::valid);
    const WallTime later = noon + publish_window + 1ms;
    EXPECT_EQ(log.one(writer(0, 9), plain(), later, later), Verdict::out_of_order_write);
    EXPECT_TRUE(log.state.writers.empty());
    EXPECT_EQ(log.one(writer(0), plain(), later, later), Verdict::out_of_order_write);
}

TEST(Fold, v2_sequences_follow_and_duplicates_are_found) {
    Prefix log;
    EXPECT_EQ(log.one({}, idempotent(3)), Verdict::unknown_producer);
    EXPECT_EQ(log.one({}, idempotent(0, 5)), Verdict::valid);
    EXPECT_EQ(log.one({}, idempotent(6)), Verdict::out_of_order_sequence);
    EXPECT_EQ(log.one({}, idempotent(5, 2)), Verdict::valid);
    const auto again = log.add({}, {idempotent(0, 5)});
    EXPECT_EQ(again.at(0).verdict, Verdict::duplicate);
    EXPECT_EQ(again.at(0).offset, Offset(1));
    EXPECT_EQ(log.one({}, idempotent(0, 4)), Verdict::out_of_order_sequence);
    for (std::int32_t i = 7; i < 12; ++i) {
        EXPECT_EQ(log.one({}, idempotent(i)), Verdict::valid);
    }
    EXPECT_EQ(log.one({}, idempotent(0, 5)), Verdict::out_of_order_sequence);
}

TEST(Fold, v2_epochs_rise_and_start_at_zero) {
    Prefix log;
    EXPECT_EQ(log.one({}, idempotent(0)), Verdict::valid);
    EXPECT_EQ(log.one({}, idempotent(1, 1, 1)), Verdict::out_of_order_sequence);
    EXPECT_EQ(log.one({}, idempotent(0, 1, 1)), Verdict::valid);
    EXPECT_EQ(log.one({}, idempotent(1, 1, 0)), Verdict::old_epoch);
    EXPECT_EQ(log.one({}, idempotent(1, 1, 1)), Verdict::valid);
}

TEST(Fold, v2_sequences_wrap) {
    constexpr std::int32_t last = std::numeric_limits<std::int32_t>::max();
    EXPECT_EQ(codec::sequence_after(last, 1), 0);
    EXPECT_EQ(codec::sequence_after(last - 1, 3), 1);
    Prefix log;
    EXPECT_EQ(log.one({}, idempotent(0, last)), Verdict::valid);
    EXPECT_EQ(log.one({}, idempotent(last, 3)), Verdict::valid);
    EXPECT_EQ(log.one({}, idempotent(2)), Verdict::valid);
}

TEST(Fold, v2_producers_are_forgotten_only_when_idle_and_outnumbered) {
    Prefix log;
    EXPECT_EQ(log.one({}, idempotent(0, 1, 0, -5)), Verdict::valid);
    const WallTime later = noon + producer_idle_max + 1ms;
    EXPECT_EQ(log.one({}, idempotent(1, 1, 0, -5), later), Verdict::valid);
    const WallTime much_later = later + producer_idle_max + 1ms;
    for (std::int64_t id = 0; id < static_cast<std::int64_t>(producers_kept_min); ++id) {
        EXPECT_TRUE(log.state.producers.contains(-5)) << id;
        EXPECT_EQ(log.one({}, idempotent(0, 1, 0, id), much_later), Verdict::valid);
    }
    EXPECT_FALSE(log.state.producers.contains(-5));
    EXPECT_EQ(log.state.producers.size(), producers_kept_min);
}

TEST(Fold, v2_no_more_producers_than_one_record_holds) {
    Prefix log;
    const auto count = static_cast<std::int64_t>(producers_kept_max);
    for (std::int64_t id = 0; id < count; ++id) {
        EXPECT_EQ(log.one({}, idempotent(0, 1, 0, id)), Verdict::valid);
    }
    EXPECT_EQ(log.one({}, idempotent(1, 1, 0, 0)), Verdict::valid) << "now the most recent";
    EXPECT_EQ(log.one({}, idempotent(0, 1, 0, count)), Verdict::valid);
    EXPECT_EQ(log.state.producers.size(), producers_kept_max);
    EXPECT_EQ(log.one({}, idempotent(1, 1, 0, 1)), Verdict::unknown_producer) << "the oldest";
    EXPECT_EQ(log.one({}, idempotent(2, 1, 0, 0)), Verdict::valid);
    EXPECT_LT(encode_fold(log.state).size(), 2U << 20);
}

TEST(Fold, entries_of_one_record_are_judged_one_by_one) {
    Prefix log;
    const auto verdicts = log.add(
        writer(0), {idempotent(0, 2), plain(3), idempotent(9), idempotent(2), idempotent(0, 2)}
    );
    EXPECT_EQ(verdicts[0].verdict, Verdict::valid);
    EXPECT_EQ(verdicts[1].verdict, Verdict::valid);
    EXPECT_EQ(verdicts[2].verdict, Verdict::out_of_order_sequence);
    EXPECT_EQ(verdicts[3].verdict, Verdict::valid);
    EXPECT_EQ(verdicts[4].verdict, Verdict::duplicate);
    EXPECT_EQ(verdicts[4].offset, Offset(0));
    EXPECT_EQ(verdicts[3].offset, Offset(6));
}

FoldRecord random_record(rt::Rng& rng, Offset end, WallTime now) {
    FoldRecord record;
    record.created = now - std::chrono::milliseconds(rng.below(2000));
    record.object_date = now - std::chrono::minutes(rng.below(40));
    if (rng.chance(9, 10)) {
        record.writer = writer(rng.below(6), rng.below(3));
    }
    std::int64_t count = 0;
    for (std::uint64_t i = rng.between(1, 4); i > 0; --i) {
        const auto records = static_cast<std::int32_t>(rng.between(1, 3));
        record.entries.push_back(
            rng.chance(1, 4) ? plain(records)
                             : idempotent(
                                   static_cast<std::int32_t>(rng.below(8)),
                                   records,
                                   static_cast<std::int16_t>(rng.below(2)),
                                   static_cast<std::int64_t>(rng.below(3))
                               )
        );
        count += records;
    }
    record.range = {end, end + count};
    return record;
}

TEST(Fold, a_snapshot_taken_anywhere_goes_on_to_the_same_state) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        rt::Rng rng(seed);
        FoldState whole;
        FoldState resumed;
        WallTime now = noon;
        for (int i = 0; i < 40; ++i) {
            now += std::chrono::minutes(rng.below(10));
            const FoldRecord record = random_record(rng, whole.end, now);
            fold(whole, record);
            fold(resumed, record);
            if (rng.chance(1, 3)) {
                auto stored = decode_fold(encode_fold(resumed));
                ASSERT_TRUE(stored.ok()) << stored.error().to_string();
                resumed = std::move(*stored);
            }
            ASSERT_EQ(whole, resumed) << "seed " << seed << " step " << i;
        }
    }
}

TEST(Fold, forgotten_voids_change_no_verdict) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        rt::Rng rng(seed);
        FoldState whole;
        FoldState trimmed;
        WallTime now = noon;
        for (int i = 0; i < 40; ++i) {
            now += std::chrono::minutes(rng.below(10));
            const FoldRecord record = random_record(rng, whole.end, now);
            const auto verdicts = fold(whole, record);
            const auto same = fold(trimmed, record);
            for (std::size_t entry = 0; entry < verdicts.size(); ++entry) {
                ASSERT_EQ(verdicts[entry].verdict, same[entry].verdict);
                ASSERT_EQ(verdicts[entry].offset, same[entry].offset);
            }
            if (rng.chance(1, 3)) {
                const auto end = static_cast<std::uint64_t>(trimmed.end.v);
                trimmed.forget_voids(Offset(static_cast<std::int64_t>(rng.below(end + 1))));
                trimmed = decode_fold(encode_fold(trimmed)).value();
            }
            const OffsetRange known{trimmed.voids_from, whole.end};
            ASSERT_EQ(whole.voids_in(known), trimmed.voids);
            FoldState forgetful = whole;
            forgetful.forget_voids(trimmed.voids_from);
            ASSERT_EQ(forgetful, trimmed) << "seed " << seed << " step " << i;
        }
    }
}

TEST(FoldSnapshot, of_version_1_has_all_voids) {
    const FoldState state{
        .end = Offset(9), .voids = {{Offset(2), Offset(3)}, {Offset(5), Offset(9)}}
    };
    const auto stored = codec::from_hex(
        "01"
        "00000002"
        "0000000000000009"
        "0000000000000000"
        "00"
        "00"
        "02"
        "0000000000000002"
        "0000000000000003"
        "0000000000000005"
        "0000000000000009"
    );
    EXPECT_EQ(decode_fold(stored).value(), state);
    EXPECT_EQ(decode_fold(encode_fold(state)).value(), state);
    EXPECT_LT(encode_fold(state).size(), stored.size());
}

TEST(FoldSnapshot, refuses_voids_that_are_not_in_it) {
    FoldState state{.end = Offset(9), .voids = {{Offset(2), Offset(3)}}};
    state.voids_from = Offset(10);
    EXPECT_TRUE(decode_fold(encode_fold(state)).is(ErrorCode::corrupt));
    state.voids_from = Offset(1);
    EXPECT_EQ(decode_fold(encode_fold(state)).value(), state);
    state.voids = {{Offset(2), Offset(10)}};
    EXPECT_TRUE(decode_fold(encode_fold(state)).is(ErrorCode::corrupt));
    state.voids = {{Offset(2), Offset(2)}};
    EXPECT_TRUE(decode_fold(encode_fold(state)).is(ErrorCode::corrupt));
}

TEST(FoldSnapshot, refuses_an_end_before_0) {
    EXPECT_TRUE(decode_fold(encode_fold({.end = Offset(-1)})).is(ErrorCode::corrupt));
    EXPECT_TRUE(decode_fold(encode_fold({.end = Offset(0)})).ok());
}

TEST(FoldSnapshot, refuses_damage_and_unknown_rules) {
    Prefix log;
    log.add(writer(0), {idempotent(0), idempotent(5)});
    const Bytes stored = encode_fold(log.state);
    for (std::size_t size = 0; size < stored.size(); ++size) {
        EXPECT_FALSE(decode_fold(stored.slice(0, size)).ok()) << size;
    }
    std::vector<std::byte> newer(stored.begin(), stored.end());
    newer[4] = std::byte{fold_rule_version + 1};
    EXPECT_TRUE(decode_fold(Bytes::own(std::move(newer))).is(ErrorCode::unsupported));
}

TEST(FoldSnapshot, refuses_a_writer_that_is_there_twice) {
    FoldState state;
    state.writers[1] = {};
    state.writers[2] = {};
    const Bytes stored = encode_fold(state);
    std::vector<std::byte> bytes(stored.begin(), stored.end());
    constexpr std::size_t second_id_ends = 47;
    ASSERT_EQ(bytes.at(second_id_ends), std::byte{2});
    bytes[second_id_ends] = std::byte{1};
    EXPECT_TRUE(decode_fold(Bytes::own(std::move(bytes))).is(ErrorCode::corrupt));
}

}  // namespace
}  // namespace lakestream::log
