// SPDX-License-Identifier: Apache-2.0
// Reading compacted pairs from a store: fetched once for all who ask, damage is named.
#include "compact/compacted_objects.h"

#include <gtest/gtest.h>

#include <filesystem>

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

class CompactedObjectsTest : public testing::Test {
  protected:
    void SetUp() override {
        const auto folder = std::filesystem::path(testing::TempDir()) / "compacted_objects_test";
        std::filesystem::create_directories(folder);
        const auto files = loader_.get();
        ASSERT_TRUE(files.ok());
        const std::string uuid = uuid_text(make_uuid(sim_.executor.rng().bytes16()));
        const auto writer = (*files)->write_compacted(folder.string(), uuid, log_a);
        ASSERT_TRUE(writer.ok());
        for (std::int64_t i = 0; i < entries; ++i) {
            ASSERT_TRUE((*writer)
                            ->add(
                                {.range = {Offset(i), Offset(i + 1)},
                                 .timestamp_ms = 1000,
                                 .cumulative_size = i,
                                 .payload = Bytes::own("entry " + std::to_string(i))}
                            )
                            .ok());
        }
        const auto pair = (*writer)->finish();
        ASSERT_TRUE(pair.ok());
        record_.location = "ursa-" + uuid + ".parquet";
        store("ursa-" + uuid + ".index", pair->index_path);
        store(record_.location, pair->parquet_path);
        ASSERT_TRUE(sim_.run(register_log()).ok());
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
        co_return co_await objects_.read(
            log_a, record_, {Offset(0), Offset(entries)}, from, 1 << 20
        );
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
};

TEST_F(CompactedObjectsTest, readers_at_the_same_time_share_one_fetch) {
    EXPECT_TRUE(sim_.run(read_twice()));
    EXPECT_EQ(gets(), 2U) << "one for each file of the pair";
    EXPECT_TRUE(sim_.run(read_twice()));
    EXPECT_EQ(gets(), 2U) << "it is kept";
}

TEST_F(CompactedObjectsTest, a_missing_file_is_damage_of_all_who_ask_and_is_looked_for_again) {
    const std::string name = "default/events/" + record_.location;
    const auto kept = bucket_.get(name, std::nullopt);
    ASSERT_TRUE(kept.ok());
    ASSERT_TRUE(bucket_.remove(name).ok());
    const auto missing = sim_.run(read(Offset(0)));
    ASSERT_TRUE(missing.is(ErrorCode::corrupt));
    EXPECT_NE(missing.error().message.find(name), std::string::npos);
    ASSERT_TRUE(bucket_.put(name, Slices(*kept), objstore::IfExists::fail).ok());
    EXPECT_TRUE(sim_.run(read(Offset(0))).ok());
}

}  // namespace
}  // namespace lakestream::compact
