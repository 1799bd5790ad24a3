// SPDX-License-Identifier: Apache-2.0
// The spill against a map of what was put in, over a folder.
#include "compact/spill.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "base/result.h"
#include "rt/rng.h"

namespace lakestream::compact {
namespace {

std::string fresh_folder(const char* name) {
    return (std::filesystem::path(testing::TempDir()) / name).string();
}

std::vector<SpilledEntry> random_entries(rt::Rng& rng, Offset begin, OffsetRange& range) {
    std::vector<SpilledEntry> entries;
    Offset at = begin;
    for (std::uint64_t i = rng.between(0, 4); i > 0; --i) {
        const OffsetRange one{at, at + static_cast<std::int64_t>(rng.between(1, 5))};
        at = one.end + static_cast<std::int64_t>(rng.below(2));  // a void now and then
        std::string payload(rng.below(300), static_cast<char>('a' + i));
        entries.push_back({one, at.v * 10, wall_from_ms(at.v), Bytes::own(std::move(payload))});
    }
    range = {begin, at + 1};
    return entries;
}

TEST(Spill, gives_back_what_it_was_given_in_order_and_frees_the_disk) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        rt::Rng rng(seed);
        const std::string folder = fresh_folder("spill");
        auto files = open_spill_folder(folder);
        ASSERT_TRUE(files.ok());
        Spill spill(**files, 1000);
        std::map<LogId, std::vector<SpilledEntry>> expected;
        std::map<LogId, Offset> ends;
        for (int i = 0; i < 100; ++i) {
            const LogId log(static_cast<std::int64_t>(rng.below(4)));
            OffsetRange range;
            const auto entries = random_entries(rng, ends[log], range);
            ASSERT_TRUE(spill.add(log, range, entries).ok());
            expected[log].insert(expected[log].end(), entries.begin(), entries.end());
            ends[log] = range.end;
        }
        for (const auto& [log, entries] : expected) {
            EXPECT_EQ(spill.end_of(log, Offset(0)), ends[log]);
            std::size_t at = 0;
            for (const Chunk& chunk : spill.chunks(log, Offset(0))) {
                const auto loaded = spill.load(chunk);
                ASSERT_TRUE(loaded.ok());
                for (const SpilledEntry& entry : *loaded) {
                    EXPECT_EQ(entry.range, entries[at].range);
                    EXPECT_EQ(entry.cumulative, entries[at].cumulative);
                    EXPECT_EQ(entry.payload, entries[at].payload);
                    ++at;
                }
            }
            EXPECT_EQ(at, entries.size());
            spill.drop_before(log, ends[log]);
            EXPECT_TRUE(spill.chunks(log, Offset(0)).empty());
        }
        EXPECT_EQ(spill.bytes(), 0U);
        EXPECT_TRUE(std::filesystem::is_empty(folder));
    }
}

TEST(Spill, chunks_of_one_log_may_come_in_any_order) {
    auto files = open_spill_folder(fresh_folder("spill_order"));
    Spill spill(**files, 1 << 20);
    const auto add = [&](std::int64_t begin, std::int64_t end) {
        const OffsetRange range{Offset(begin), Offset(end)};
        ASSERT_TRUE(spill.add(LogId(1), range, {{range, end, WallTime(), Bytes::copy("x")}}).ok());
    };
    add(5, 9);
    EXPECT_EQ(spill.end_of(LogId(1), Offset(0)), Offset(0));
    add(0, 5);
    EXPECT_EQ(spill.end_of(LogId(1), Offset(0)), Offset(9));
    add(12, 13);
    EXPECT_EQ(spill.end_of(LogId(1), Offset(0)), Offset(9));
}

TEST(Spill, what_comes_twice_is_kept_once_and_its_disk_is_freed) {
    auto files = open_spill_folder(fresh_folder("spill_twice"));
    Spill spill(**files, 10);  // a segment for each chunk
    const auto add = [&](std::int64_t begin) {
        const OffsetRange range{Offset(begin), Offset(begin + 5)};
        const Bytes payload = Bytes::copy("0123456789");
        ASSERT_TRUE(spill.add(LogId(1), range, {{range, 0, WallTime(), payload}}).ok());
    };
    add(5);
    const std::uint64_t once = spill.bytes();
    add(5);
    EXPECT_EQ(spill.bytes(), once);
    add(0);
    spill.drop_from(LogId(1), Offset(5));
    EXPECT_EQ(spill.bytes(), once);
    EXPECT_EQ(spill.end_of(LogId(1), Offset(0)), Offset(5));
    spill.drop_before(LogId(1), Offset(5));
    EXPECT_EQ(spill.bytes(), 0U);
}

/// A disk that takes only the first half of some writes.
class FullDisk final : public SpillFiles {
  public:
    explicit FullDisk(SpillFiles& inner) : inner_(inner) {}

    Status append(std::uint64_t segment, const Bytes& bytes) override {
        if (failing) {
            static_cast<void>(inner_.append(segment, bytes.slice(0, bytes.size() / 2)));
            return exhausted("full");
        }
        return inner_.append(segment, bytes);
    }
    Result<Bytes> read(std::uint64_t segment, std::uint64_t begin, std::uint64_t count) override {
        return inner_.read(segment, begin, count);
    }
    void remove(std::uint64_t segment) override { inner_.remove(segment); }

    bool failing = false;

  private:
    SpillFiles& inner_;
};

SpilledEntry entry_of(std::int64_t begin, char fill) {
    return {{Offset(begin), Offset(begin + 1)}, 0, WallTime(), Bytes::own(std::string(100, fill))};
}

TEST(Spill, half_a_write_shifts_nothing_behind_it) {
    const std::string folder = fresh_folder("spill_full");
    auto files = open_spill_folder(folder);
    FullDisk disk(**files);
    Spill spill(disk, 1 << 20);
    const LogId log(1);
    const auto add = [&](std::int64_t begin, char fill) {
        const SpilledEntry entry = entry_of(begin, fill);
        return spill.add(log, entry.range, {entry}).ok();
    };
    ASSERT_TRUE(add(0, 'a'));
    disk.failing = true;
    EXPECT_FALSE(add(1, 'b'));
    EXPECT_FALSE(add(1, 'b'));
    disk.failing = false;
    ASSERT_TRUE(add(1, 'b'));
    ASSERT_TRUE(add(2, 'c'));
    std::string read;
    for (const Chunk& chunk : spill.chunks(log, Offset(0))) {
        const auto loaded = spill.load(chunk);
        ASSERT_TRUE(loaded.ok()) << loaded.error().message;
        read += loaded->front().payload.view().front();
    }
    EXPECT_EQ(read, "abc");
    spill.drop_before(log, Offset(3));
    EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(Spill, bytes_that_changed_on_disk_are_not_given_back) {
    const std::string folder = fresh_folder("spill_damaged");
    auto files = open_spill_folder(folder);
    Spill spill(**files, 1 << 20);
    const SpilledEntry entry = entry_of(0, 'a');
    ASSERT_TRUE(spill.add(LogId(1), entry.range, {entry}).ok());
    std::filesystem::path file = std::filesystem::directory_iterator(folder)->path();
    std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(60).put('b');
    EXPECT_TRUE(spill.load(spill.chunks(LogId(1), Offset(0)).front()).is(ErrorCode::corrupt));
}

}  // namespace
}  // namespace lakestream::compact
