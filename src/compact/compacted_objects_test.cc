// SPDX-License-Identifier: Apache-2.0
// Reading compacted pairs from a store: fetched once for all who ask, damage is named.
#include "compact/compacted_objects.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "base/uuid.h"
#include "catalog/json_records.h"
#include "catalog/keys.h"
#include "compact/local_file.h"
#include "meta/memory_store.h"
#include "objstore/memory_store.h"
#include "objstore/metrics_store.h"
#include "rt/sim/testing.h"
#include "table/testing/memory_file.h"

namespace lakestream::compact {
namespace {

constexpr LogId log_a(7);
constexpr int entries = 10;

std::string large_payload(std::int64_t i) {
    return std::string(100'000, static_cast<char>(i));
}

class CompactedObjectsTest : public testing::Test {
  protected:
    void SetUp() override {
        record_ = write_pair(entries, [](std::int64_t i) { return "entry " + std::to_string(i); });
        ASSERT_TRUE(sim_.run(register_log()).ok());
    }

    /// A pair in the bucket with an entry of one record at each offset.
    index::IndexRecord write_pair(
        std::int64_t count, const std::function<std::string(std::int64_t)>& payload
    ) {
        const auto folder = std::filesystem::path(testing::TempDir()) / "compacted_objects_test";
        std::filesystem::create_directories(folder);
        const std::string uuid = uuid_text(make_uuid(sim_.executor.rng().bytes16()));
        const auto writer =
            loader_.get().value()->write_compacted(folder.string(), uuid, log_a).value();
        for (std::int64_t i = 0; i < count; ++i) {
            EXPECT_TRUE(writer
                            ->add(
                                {.range = {Offset(i), Offset(i + 1)},
                                 .timestamp_ms = 1000,
                                 .cumulative_size = i,
                                 .payload = Bytes::own(payload(i))}
                            )
                            .ok());
        }
        const auto pair = writer->finish().value();
        index::IndexRecord record;
        record.location = "ursa-" + uuid + ".parquet";
        store("ursa-" + uuid + ".index", pair.index_path);
        store(record.location, pair.parquet_path);
        return record;
    }

    void store(const std::string& name, const std::string& path) {
        const Bytes bytes = table::read_local(path);
        ASSERT_TRUE(
            bucket_.put("default/events/" + name, Slices(bytes), objstore::IfExists::fail).ok()
        );
        remove_local_file(path);
    }

    rt::Task<Status> register_log() {
        const auto put = co_await meta::put(
            metadata_,
            {.key = catalog::keys::log_registration(log_a),
             .value = Bytes::own(
                 catalog::log_registration_json("lakestream-native/default/events/partition-0")
             ),
             .partition_key = catalog::keys::log_partition_key(log_a)}
        );
        co_return put.ok() ? Status() : Status(put.error());
    }

    rt::Task<Result<std::vector<log::CompactedPart>>> read(Offset from) {
        co_return co_await read(objects_, from);
    }
    rt::Task<Result<std::vector<log::CompactedPart>>> read(CompactedObjects& objects, Offset from) {
        rt::TaskScope ahead(co_await rt::this_executor());
        auto parts = co_await objects.read(log_a, record_, {Offset(0), end_}, from, 1 << 20, ahead);
        co_await ahead.close();
        co_return parts;
    }

    /// Two readers at once.
    rt::Task<bool> read_twice() {
        rt::Executor& executor = co_await rt::this_executor();
        auto first = rt::submit(executor, read(Offset(0)));
        auto second = rt::submit(executor, read(Offset(4)));
        const auto all = co_await std::move(first);
        const auto some = co_await std::move(second);
        EXPECT_TRUE(all.ok() && some.ok());
        EXPECT_EQ(all->size(), 10U);
        EXPECT_EQ(some->size(), 6U);
        EXPECT_EQ(some->front().payload.view(), "entry 4");
        co_return true;
    }

    std::uint64_t gets() const {
        return counted_.requests(objstore::Operation::get, objstore::Outcome::ok);
    }

    rt::SimTest sim_;
    rt::SimOffloader offloader_{sim_.executor, 1ms};
    metrics::Registry registry_;
    objstore::MemoryBucket bucket_{sim_.clock};
    objstore::MemoryStore inner_{bucket_};
    objstore::MetricsStore counted_{inner_, registry_, "compacted"};
    meta::MemoryMetadata service_{sim_.executor};
    meta::MemoryStore metadata_{service_, sim_.executor};
    TableFilesLoader loader_;
    CompactedObjects objects_{
        {.objects = counted_, .metadata = metadata_, .offloader = offloader_, .loader = loader_},
        1 << 20
    };
    index::IndexRecord record_;
    Offset end_{entries};
};

TEST_F(CompactedObjectsTest, readers_at_the_same_time_share_one_fetch) {
    EXPECT_TRUE(sim_.run(read_twice()));
    EXPECT_EQ(gets(), 3U) << "index, footer, row group";
    EXPECT_TRUE(sim_.run(read_twice()));
    EXPECT_EQ(gets(), 3U) << "they are kept";
}

TEST_F(CompactedObjectsTest, a_missing_file_is_told_by_name_and_looked_for_again) {
    const std::string name = "default/events/" + record_.location;
    const auto kept = bucket_.get(name, std::nullopt);
    ASSERT_TRUE(kept.ok());
    ASSERT_TRUE(bucket_.remove(name).ok());
    const auto missing = sim_.run(read(Offset(0)));
    ASSERT_TRUE(missing.is(ErrorCode::not_found));
    EXPECT_NE(missing.error().message.find(name), std::string::npos);
    ASSERT_TRUE(bucket_.put(name, Slices(*kept), objstore::IfExists::fail).ok());
    EXPECT_TRUE(sim_.run(read(Offset(0))).ok());
}

TEST_F(CompactedObjectsTest, damage_is_named_and_not_kept) {
    const std::string name = "default/events/" + record_.location;
    const Bytes good = bucket_.get(name, std::nullopt).value();
    const auto replace = [&](std::string body) {
        const Bytes bytes = Bytes::own(std::move(body));
        return bucket_.put(name, Slices(bytes), objstore::IfExists::overwrite).ok();
    };
    for (const std::size_t at : {good.view().find("entry 4"), good.size() - 8, good.size() - 1}) {
        std::string bad(good.view());
        bad.at(at) ^= 0x20;
        ASSERT_TRUE(replace(bad));
        CompactedObjects objects({counted_, metadata_, offloader_, loader_}, 1 << 20);
        const auto damaged = sim_.run(read(objects, Offset(0)));
        ASSERT_TRUE(damaged.is(ErrorCode::corrupt)) << at;
        EXPECT_TRUE(damaged.error().message.contains(name));
        EXPECT_TRUE(damaged.error().message.contains("restore"));
        ASSERT_TRUE(replace(std::string(good.view())));
        EXPECT_EQ(sim_.run(read(objects, Offset(0))).value().size(), 10U) << at;
    }
}

rt::Task<void> read_all(
    CompactedObjects& objects, index::IndexRecord record, Offset end, std::uint64_t& most
) {
    rt::TaskScope ahead(co_await rt::this_executor());
    Offset at(0);
    while (at < end) {
        const auto parts =
            (co_await objects.read(log_a, record, {Offset(0), end}, at, 2 << 20, ahead)).value();
        EXPECT_EQ(parts.front().range.begin, at);
        EXPECT_EQ(parts.front().payload, Bytes::own(large_payload(at.v)));
        at = parts.back().range.end;
        most = std::max(most, objects.bytes());
    }
    co_await ahead.close();
}

TEST_F(CompactedObjectsTest, readers_of_large_objects_stay_within_the_bytes) {
    constexpr std::uint64_t bytes_max = 6 << 20;
    constexpr Offset end(100);  // 10 MB: some row groups
    CompactedObjects objects({counted_, metadata_, offloader_, loader_}, bytes_max);
    rt::TaskScope scope(sim_.executor);
    std::uint64_t most = 0;
    for (int i = 0; i < 4; ++i) {
        scope.spawn(read_all(objects, write_pair(end.v, large_payload), end, most));
    }
    sim_.run(scope.close());
    EXPECT_LE(most, bytes_max);
    EXPECT_GT(most, std::uint64_t{2} << 20) << "two row groups at once";
    const std::uint64_t before = gets();
    sim_.run(read_all(objects, write_pair(end.v, large_payload), end, most));
    EXPECT_EQ(gets() - before, 2U + 5) << "index, footer, and each row group once";
}

TEST_F(CompactedObjectsTest, what_comes_next_is_fetched_while_a_reader_takes_what_it_has) {
    end_ = Offset(100);  // 10 MB: 5 row groups
    CompactedObjects objects({counted_, metadata_, offloader_, loader_}, 64 << 20);
    record_ = write_pair(end_.v, large_payload);
    EXPECT_EQ(sim_.run(read(objects, Offset(0))).value().size(), 11U);
    EXPECT_EQ(gets(), 2U + 1) << "1 MiB and as much again are in the first";
    EXPECT_EQ(sim_.run(read(objects, Offset(11))).value().size(), 10U) << "to the group's end";
    EXPECT_EQ(gets(), 2U + 2);
    EXPECT_EQ(sim_.run(read(objects, Offset(21))).value().size(), 11U);
    EXPECT_EQ(gets(), 2U + 2) << "the second was there";
    std::uint64_t most = 0;
    sim_.run(read_all(objects, record_, end_, most));
    EXPECT_EQ(gets(), 2U + 5);
}

TEST_F(CompactedObjectsTest, who_takes_little_of_a_row_group_does_not_hold_all_of_it) {
    constexpr Offset end(100);
    CompactedObjects objects({counted_, metadata_, offloader_, loader_}, 64 << 20);
    record_ = write_pair(end.v, large_payload);
    rt::TaskScope ahead(sim_.executor);
    const auto neighbours = [&](std::uint64_t bytes_max) {
        const auto parts =
            sim_.run(objects.read(log_a, record_, {Offset(0), end}, Offset(0), bytes_max, ahead))
                .value();
        return parts[1].payload.data() - parts[0].payload.data();
    };
    EXPECT_EQ(neighbours(200'000), 100'000) << "copied together, without what is between them";
    EXPECT_EQ(neighbours(600'000), 100'000 + 4) << "as they are stored";
    sim_.run(ahead.close());
}

}  // namespace
}  // namespace lakestream::compact
