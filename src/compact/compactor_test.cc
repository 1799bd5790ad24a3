// SPDX-License-Identifier: Apache-2.0
// Compactor over a real log engine, with a catalog and tables that fail and move under it.
#include "compact/compactor.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <span>

#include "base/endian.h"
#include "base/log.h"
#include "codec/batch_builder.h"
#include "codec/crc32c.h"
#include "compact/local_file.h"
#include "index/key.h"
#include "log/testing/cluster.h"
#include "table/whole_pair.h"

namespace lakestream::compact {
namespace {

constexpr LogId log_a(7);

const bool quiet = [] {
    log::set_sink(
        [](log::Level, std::string_view, std::string_view) noexcept {}, log::Level::error
    );
    return true;
}();

/// One stream of one log.
class OneStream final : public catalog::Catalog {
  public:
    OneStream() {
        catalog::StreamInfo info;
        info.name = {"default", "events"};
        info.logs = {log_a};
        stream = std::make_shared<const catalog::StreamInfo>(std::move(info));
    }

    rt::Task<Result<catalog::StreamPtr>> create(catalog::StreamSpec) override {
        co_return unsupported("not here");
    }
    rt::Task<Result<catalog::StreamPtr>> load(catalog::StreamName) override {
        if (failing_loads > 0) {
            --failing_loads;
            co_return unavailable("the store is away");
        }
        co_return stream;
    }
    rt::Task<Result<catalog::StreamPtr>> load_by_id(std::array<std::byte, 16>) override {
        co_return stream;
    }
    rt::Task<Result<std::vector<catalog::StreamPtr>>> list(std::string) override {
        co_return std::vector{stream};
    }
    rt::Task<Result<catalog::StreamPtr>> change_properties(
        catalog::StreamName, std::array<std::byte, 16>, catalog::PropertiesChange
    ) override {
        co_return unsupported("not here");
    }
    rt::Task<Result<catalog::StreamPtr>> grow(
        catalog::StreamName, std::array<std::byte, 16>, std::uint32_t
    ) override {
        co_return unsupported("not here");
    }
    rt::Task<Status> drop(catalog::StreamName, std::optional<std::array<std::byte, 16>>) override {
        co_return unsupported("not here");
    }
    rt::Task<Result<std::int64_t>> allocate_producer_ids(std::int64_t) override {
        co_return unsupported("not here");
    }

    catalog::StreamPtr stream;
    int failing_loads = 0;
};

/// A table that counts rows and holds every commit to its position.
class CountingTable final : public TableSink {
  public:
    rt::Task<Result<TablePositions>> open(catalog::StreamPtr) override {
        if (failing_opens > 0) {
            --failing_opens;
            co_return failure();
        }
        co_return TablePositions{{log_a, position}};
    }
    rt::Task<Result<TablePositions>> append(
        catalog::StreamPtr, table::DataFile file, std::map<LogId, OffsetRange> ranges
    ) override {
        remove_local_file(file.path);
        const OffsetRange range = ranges.at(log_a);
        if (failing_appends > 0) {
            --failing_appends;
            co_return failure();
        }
        if (range.begin == position) {  // else prepared from elsewhere: the position tells
            EXPECT_EQ(file.rows + unreadable, range.count());
            rows += file.rows;
            position = range.end;
        }
        co_return TablePositions{{log_a, position}};
    }

    Error failure() const {
        return read_only   ? unsupported("the file system is read-only")
               : suspended ? fenced("suspended")
                           : unavailable("the store is away");
    }

    Offset position;
    std::int64_t rows = 0;
    int failing_opens = 0;
    int failing_appends = 0;
    bool suspended = false;  // how they fail
    bool read_only = false;
    std::int64_t unreadable = 0;  // records of the next commit that are no rows
};

Bytes batch(int number, std::int64_t timestamp = 1000) {
    codec::BatchBuilder builder;
    const std::string value = "value " + std::to_string(number);
    builder.add(timestamp, std::nullopt, std::as_bytes(std::span(value)));
    return builder.finish();
}

/// An entry of one batch for each of the timestamps.
Bytes batches(const std::vector<std::int64_t>& timestamps) {
    Slices all;
    for (const std::int64_t timestamp : timestamps) {
        all.append(batch(0, timestamp));
    }
    return all.join();
}

/// Give a changed batch the CRC of its bytes, as its client would.
void seal(std::vector<std::byte>& bytes) {
    constexpr std::size_t crc_at = 17;
    const auto covered = std::span(bytes).subspan(crc_at + sizeof(std::uint32_t));
    store_be(bytes.data() + crc_at, codec::crc32c(covered));
}

rt::Task<bool> append_batch(log::Engine& engine, Bytes payload, std::int32_t records = 1) {
    rt::Executor& executor = co_await rt::this_executor();
    std::vector<log::AppendRequest> requests(1);
    requests[0] = {.log = log_a, .payload = std::move(payload), .records = records};
    co_return (co_await engine.append(std::move(requests), executor.now() + 30s)).front().ok();
}

rt::Task<bool> append_batches(log::Engine& engine, int begin, int end) {
    for (int i = begin; i < end; ++i) {
        if (!co_await append_batch(engine, batch(i))) {
            co_return false;
        }
    }
    co_return true;
}

class CompactorTest : public testing::Test {
  protected:
    void SetUp() override {
        const auto folder = std::filesystem::path(testing::TempDir()) / "compactor_test";
        scratch_ = (folder / "scratch").string();
        std::filesystem::create_directories(scratch_);
        spill_folder_ = folder / "spill";
        auto files = open_spill_folder(spill_folder_);
        ASSERT_TRUE(files.ok());
        files_ = std::move(*files);
        settings_.tables_default = true;
        settings_.compact_bytes = 1;
    }

    /// And started again: its spill is empty.
    void kill() {
        compactor_.reset();
        auto files = open_spill_folder(spill_folder_);
        ASSERT_TRUE(files.ok());
        files_ = std::move(*files);
    }

    void append(int begin, int end) {
        ASSERT_TRUE(cluster_.run(node_.home(), append_batches(*node_.engine, begin, end)));
    }

    /// Append one entry and make a compacted object of it.
    void compact_one(Bytes entry, std::int32_t records) {
        ASSERT_TRUE(
            cluster_.run(node_.home(), append_batch(*node_.engine, std::move(entry), records))
        );
        rounds(3);
    }

    std::vector<table::CompactedEntry> load_pair(const std::string& location) {
        const std::string stem = "default/events/" + location.substr(0, location.rfind('.'));
        const auto load = [&](std::string_view ending) {
            return cluster_
                .run(node_.home(), compacted_.get(stem + std::string(ending), std::nullopt))
                .value();
        };
        auto pair = table::WholePair::open(**loader_.get(), load(".parquet"), load(".index"));
        return pair->read(Offset(0), 1 << 20).value();
    }

    /// The cursor as another compactor has left it. Index records stay raw: nobody here minds.
    void set_cursor(Offset cursor) {
        const auto put = cluster_.run(node_.home(), put_state(cursor));
        ASSERT_TRUE(put.ok());
    }

    Compactor& compactor() {
        if (compactor_ == nullptr) {
            compactor_ = std::make_unique<Compactor>(
                settings_,
                Compactor::Seams{
                    .executor = node_.home(),
                    .offloader = offloader_,
                    .engine = *node_.engine,
                    .view = *node_.engine,
                    .catalog = catalog_,
                    .metadata = node_.flaky_metadata,
                    .wal = node_.flaky_objects,
                    .compacted = compacted_,
                    .tables = table_,
                    .loader = loader_,
                    .spill = *files_,
                    .scratch_folder = scratch_,
                    .metrics = metrics_,
                }
            );
        }
        return *compactor_;
    }

    void rounds(int count) {
        for (int i = 0; i < count; ++i) {
            static_cast<void>(cluster_.run(node_.home(), compactor().round(Compactor::Cut::flush)));
        }
    }

    rt::Task<Status> put_state(Offset cursor) {
        const auto put = co_await meta::put(
            node_.client,
            {.key = state_key(log_a),
             .value = encode_state({.cursor = cursor, .intent = {}}),
             .partition_key = index::partition_key(log_a)}
        );
        co_return put.ok() ? Status() : Status(put.error());
    }

    log::TestCluster cluster_{1};
    log::TestCluster::Node& node_ = cluster_.add_node(1);
    rt::SimOffloader offloader_{static_cast<rt::SimExecutor&>(node_.home()), 1ms};
    objstore::MemoryBucket compacted_bucket_{node_.clock};
    objstore::MemoryStore compacted_{compacted_bucket_};
    OneStream catalog_;
    CountingTable table_;
    TableFilesLoader loader_;
    metrics::Registry metrics_;
    std::string scratch_;
    std::filesystem::path spill_folder_;
    std::unique_ptr<SpillFiles> files_;
    CompactorSettings settings_;
    std::unique_ptr<Compactor> compactor_;
};

TEST_F(CompactorTest, rows_reach_the_table_and_the_log_is_compacted_behind_it) {
    append(0, 10);
    rounds(3);
    EXPECT_EQ(table_.rows, 10);
    EXPECT_EQ(compactor().metrics().compacted.value(), 1U);
    append(10, 15);
    rounds(3);
    EXPECT_EQ(table_.rows, 15);
}

TEST_F(CompactorTest, the_first_round_is_small_so_that_a_short_life_gets_on) {
    settings_.first_round_bytes = 1;
    append(0, 10);
    rounds(1);
    EXPECT_EQ(table_.rows, 1) << "one object, and committed";
    kill();
    rounds(1);
    EXPECT_EQ(table_.rows, 2);
    rounds(10);
    EXPECT_EQ(table_.rows, 10);
}

TEST_F(CompactorTest, a_table_that_opens_late_gets_what_was_compacted_before) {
    append(0, 10);
    set_cursor(Offset(6));
    table_.failing_opens = 2;  // when the stream is adopted, and at the first commit
    rounds(5);
    EXPECT_EQ(table_.rows, 10);
}

TEST_F(CompactorTest, a_stream_that_could_not_be_loaded_is_tried_again) {
    append(0, 10);
    static_cast<void>(cluster_.run(node_.home(), node_.engine->take_grown()));  // as after a start
    catalog_.failing_loads = 2;
    rounds(5);
    EXPECT_EQ(table_.rows, 10);
}

TEST_F(CompactorTest, a_position_where_no_chunk_begins_is_gone_on_from) {
    append(0, 5);
    table_.failing_appends = 1;
    rounds(1);
    // Another committer had it all, and cut it elsewhere; and another compactor is at 4.
    table_.position = Offset(3);
    set_cursor(Offset(4));
    rounds(5);
    EXPECT_EQ(table_.rows, 2);
    // By hand, back to the begin.
    table_.failing_appends = 1;
    append(5, 6);
    rounds(1);
    table_.position = Offset(0);
    table_.rows = 0;
    rounds(5);
    EXPECT_EQ(table_.rows, 6);
}

TEST_F(CompactorTest, another_compactor_that_is_ahead_is_followed) {
    append(0, 5);
    rounds(2);
    append(5, 10);
    table_.position = Offset(10);  // all of it by another
    set_cursor(Offset(10));
    append(10, 12);
    rounds(5);
    EXPECT_EQ(table_.rows, 5 + 2);
}

TEST_F(CompactorTest, a_table_that_cannot_go_on_leaves_the_spill_to_others_and_goes_on_later) {
    settings_.spill_segment_bytes = 1;
    append(0, 5);
    table_.failing_appends = 1;
    rounds(1);
    EXPECT_GT(compactor().metrics().spill_bytes.value(), 0) << "kept for the next attempt";
    table_.failing_appends = 1;
    table_.suspended = true;
    rounds(1);
    EXPECT_EQ(compactor().metrics().spill_bytes.value(), 0);
    rounds(3);
    EXPECT_EQ(table_.rows, 5);
}

TEST_F(CompactorTest, what_the_spill_has_not_kept_is_brought_in_again) {
    append(0, 5);
    table_.failing_appends = 1;
    rounds(1);
    for (const auto& file : std::filesystem::directory_iterator(spill_folder_)) {
        std::fstream damaged(file.path(), std::ios::in | std::ios::out | std::ios::binary);
        damaged.seekp(40).put('!');
    }
    rounds(6);
    EXPECT_EQ(table_.rows, 5);
    EXPECT_EQ(compactor().metrics().table_unreadable.value(), 0U);
    EXPECT_EQ(compactor().metrics().compacted_bytes.value(), 5 * batch(0).size());
}

TEST_F(CompactorTest, a_batch_whose_crc_is_wrong_goes_nowhere) {
    append(0, 2);
    const Bytes good = batch(2);
    std::vector<std::byte> bytes(good.begin(), good.end());
    bytes.back() ^= std::byte{1};  // as a damaged object without a checksum of its own
    ASSERT_TRUE(
        cluster_.run(node_.home(), append_batch(*node_.engine, Bytes::own(std::move(bytes))))
    );
    rounds(5);
    EXPECT_EQ(table_.rows, 2);
    EXPECT_EQ(table_.position, Offset(2)) << "nothing passes it";
    EXPECT_EQ(compactor().metrics().table_unreadable.value(), 0U);
}

TEST_F(CompactorTest, a_suspended_table_does_not_hold_up_the_compaction_of_its_logs) {
    settings_.table_file_bytes_max = 1;  // what is caught up with comes in many portions
    settings_.spill_segment_bytes = 1;
    append(0, 5);
    table_.suspended = true;
    table_.failing_opens = 1000;
    rounds(2);
    append(5, 10);
    rounds(5);
    EXPECT_EQ(compactor().metrics().compacted_bytes.value(), 10 * batch(0).size());
    EXPECT_EQ(compactor().metrics().spill_bytes.value(), 0);
    EXPECT_EQ(table_.rows, 0);
    table_.failing_opens = 0;  // taken over by hand
    append(10, 12);
    rounds(30);
    EXPECT_EQ(table_.rows, 12);
}

TEST_F(CompactorTest, a_table_that_opens_but_takes_nothing_leaves_time_for_compaction) {
    settings_.compact_bytes = 1 << 20;
    settings_.compact_age = 3min;
    append(0, 5);
    table_.suspended = true;
    table_.failing_appends = 1000;
    for (int i = 0; i < 20; ++i) {
        static_cast<void>(cluster_.run(node_.home(), compactor().round(Compactor::Cut::due)));
        cluster_.loop.run_for(30s);
    }
    EXPECT_EQ(compactor().metrics().compacted.value(), 1U);
    EXPECT_EQ(table_.failing_appends, 1000 - 2) << "at the start and after 5 minutes";
}

TEST_F(CompactorTest, a_table_whose_store_was_read_only_goes_on_soon_after) {
    settings_.table_interval = 1s;
    append(0, 5);
    table_.read_only = true;
    table_.failing_appends = 1;
    for (int i = 0; i < 20; ++i) {
        static_cast<void>(cluster_.run(node_.home(), compactor().round(Compactor::Cut::due)));
        cluster_.loop.run_for(2s);
    }
    EXPECT_EQ(table_.rows, 5);
}

TEST_F(CompactorTest, a_batch_that_does_not_decode_is_counted_and_passed) {
    append(0, 2);
    const Bytes good = batch(2);
    std::vector<std::byte> bytes(good.begin(), good.end());
    bytes.back() = std::byte{0x7f};  // the header count of its record
    seal(bytes);
    ASSERT_TRUE(
        cluster_.run(node_.home(), append_batch(*node_.engine, Bytes::own(std::move(bytes))))
    );
    table_.unreadable = 1;
    rounds(3);
    EXPECT_EQ(table_.rows, 2);
    EXPECT_EQ(table_.position, Offset(3));
    EXPECT_EQ(compactor().metrics().table_unreadable.value(), 1U);
    EXPECT_EQ(compactor().metrics().compacted.value(), 1U) << "consumers get what was written";
}

rt::Task<std::vector<OffsetRange>> newest_of(log::Engine& engine) {
    std::vector<OffsetRange> ranges;
    const auto hints = co_await engine.find_max_timestamp(log_a);
    for (const log::TimestampHint& hint : *hints) {
        ranges.push_back(hint.range);
    }
    co_return ranges;
}

TEST_F(CompactorTest, compacted_records_say_their_newest_timestamp) {
    settings_.tables_default = false;
    compact_one(batches({20, 50, 10}), 3);
    compact_one(batches({40}), 1);
    compact_one(batches({-1, 30}), 2);
    EXPECT_EQ(compactor().metrics().compacted.value(), 3U);
    // The engine reads index records only: what it points to is what would have to be read.
    const auto newest = [&] { return cluster_.run(node_.home(), newest_of(*node_.engine)); };
    const auto find = [&](std::int64_t timestamp, Offset from) {
        const auto hint =
            cluster_.run(node_.home(), node_.engine->find_timestamp(log_a, timestamp, from));
        return hint.value().has_value() ? hint.value()->range : OffsetRange();
    };
    EXPECT_EQ(newest(), (std::vector<OffsetRange>{{Offset(0), Offset(3)}}));
    EXPECT_EQ(find(50, Offset(0)), (OffsetRange{Offset(0), Offset(3)}));
    EXPECT_EQ(find(51, Offset(0)), OffsetRange());
    EXPECT_EQ(find(31, Offset(3)), (OffsetRange{Offset(3), Offset(4)}));
    EXPECT_EQ(find(31, Offset(4)), OffsetRange());
    compact_one(batches({90}).slice(0, 30), 1);  // no batch: nobody knows
    EXPECT_EQ(newest(), (std::vector<OffsetRange>{{Offset(0), Offset(3)}, {Offset(6), Offset(7)}}));
    EXPECT_EQ(find(1000, Offset(0)), (OffsetRange{Offset(6), Offset(7)}));
}

/// The log's index records.
rt::Task<std::vector<log::WalkRecord>> records_of(log::NodeEngine& engine) {
    co_return (co_await engine.walk(log_a, Offset(0), 10'000)).value();
}

TEST_F(CompactorTest, small_objects_beside_each_other_become_one) {
    settings_.tables_default = false;
    settings_.compact_bytes = 1 << 20;
    settings_.merge_objects = 4;
    for (int i = 0; i < 3; ++i) {
        compact_one(batches({10 * i, 5}), 2);
    }
    rounds(5);
    EXPECT_EQ(compactor().metrics().merges.value(), 0U);
    compact_one(batches({1}), 1);
    rounds(5);
    EXPECT_EQ(compactor().metrics().merges.value(), 1U);
    const auto records = cluster_.run(node_.home(), records_of(*node_.engine));
    ASSERT_EQ(records.size(), 1U);
    EXPECT_EQ(records[0].range, (OffsetRange{Offset(0), Offset(7)}));
    const auto& value = records[0].value;
    EXPECT_EQ(value.entry_size_bytes, compactor().metrics().merged_bytes.value());
    EXPECT_EQ(value.entry_size_bytes, records[0].cumulative);
    EXPECT_EQ(value.extension->max_timestamp, 20);
    EXPECT_EQ(value.extension->crc32c, voids_checksum(records[0].range, {}));
    // The same entries, their times and sizes.
    const auto pair = load_pair(value.location);
    EXPECT_EQ(pair.at(0).range, (OffsetRange{Offset(0), Offset(2)}));
    EXPECT_EQ(pair.at(3).range, (OffsetRange{Offset(6), Offset(7)}));
    EXPECT_EQ(pair.at(3).cumulative_size, records[0].cumulative);
    EXPECT_EQ(pair.at(3).payload, batches({1}));
    EXPECT_EQ(pair.size(), 4U);
    // Smaller ones follow on their own.
    for (int i = 0; i < 4; ++i) {
        compact_one(batches({1}), 1);
    }
    rounds(5);
    EXPECT_EQ(compactor().metrics().merges.value(), 2U);
    EXPECT_EQ(cluster_.run(node_.home(), records_of(*node_.engine)).size(), 2U);
}

/// What cleaning does before it deletes pairs: the state as it is, in a new version.
rt::Task<Status> pass_generation(meta::MetadataStore& store) {
    const StoredState now = LKS_CO_TRY(co_await load_state(store, log_a));
    const auto put = co_await meta::put(
        store,
        {.key = state_key(log_a),
         .value = encode_state(now.state),
         .expect = meta::Expect::any(),
         .partition_key = index::partition_key(log_a)}
    );
    co_return put.ok() ? Status() : Status(put.error());
}

TEST_F(CompactorTest, cleaning_in_between_costs_it_no_pair) {
    settings_.tables_default = false;
    compact_one(batches({1}), 1);
    for (std::int64_t i = 2; i < 5; ++i) {
        ASSERT_TRUE(cluster_.run(node_.home(), pass_generation(node_.client)).ok());
        const std::size_t files = compacted_bucket_.size();
        compact_one(batches({1}), 1);
        EXPECT_EQ(compactor().metrics().compacted.value(), i);
        EXPECT_EQ(compacted_bucket_.size(), files + 2);
    }
}

TEST_F(CompactorTest, small_objects_are_found_after_a_start) {
    settings_.tables_default = false;
    settings_.compact_bytes = 1 << 20;
    settings_.merge_objects = 0;
    for (int i = 0; i < 8; ++i) {
        compact_one(batches({1}), 1);
    }
    kill();
    settings_.merge_objects = 8;
    rounds(3);
    EXPECT_EQ(compactor().metrics().merges.value(), 1U);
    EXPECT_EQ(cluster_.run(node_.home(), records_of(*node_.engine)).size(), 1U);
}

TEST_F(CompactorTest, a_damaged_object_is_not_merged_and_others_of_its_log_go_on) {
    settings_.tables_default = false;
    settings_.compact_bytes = 1 << 20;
    settings_.merge_objects = 2;
    compact_one(batches({1}), 1);
    const auto records = cluster_.run(node_.home(), records_of(*node_.engine));
    const std::string name = "default/events/" + records.at(0).value.location;
    auto stored = cluster_.run(node_.home(), compacted_.get(name, std::nullopt));
    std::vector<std::byte> damaged(stored->begin(), stored->end());
    damaged[60] ^= std::byte{1};
    ASSERT_TRUE(
        cluster_
            .run(
                node_.home(),
                compacted_.put(
                    name, Slices(Bytes::own(std::move(damaged))), objstore::IfExists::overwrite
                )
            )
            .ok()
    );
    compact_one(batches({1}), 1);
    rounds(3);
    EXPECT_EQ(compactor().metrics().merges.value(), 0U);
    EXPECT_GT(compactor().metrics().failures.value(), 0U);
    EXPECT_EQ(cluster_.run(node_.home(), records_of(*node_.engine)).size(), 2U);
    EXPECT_TRUE(std::filesystem::is_empty(scratch_)) << "nothing is left of it";
    compact_one(batches({1}), 1);
    EXPECT_EQ(compactor().metrics().compacted.value(), 3U);
}

TEST_F(CompactorTest, a_compacted_object_ends_before_its_offsets_pass_32_bits) {
    settings_.tables_default = false;
    constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(cluster_.run(node_.home(), append_batch(*node_.engine, batch(i), most)));
    }
    rounds(6);
    EXPECT_EQ(compactor().metrics().compacted.value(), 3U);
}

TEST_F(CompactorTest, what_one_object_cannot_take_does_not_wait_again) {
    settings_.compact_bytes = 1 << 20;
    settings_.compact_bytes_max = 1;  // one index record in each object
    append(0, 5);
    rounds(1);
    cluster_.loop.run_for(settings_.compact_age);
    for (int i = 0; i < 6; ++i) {
        static_cast<void>(cluster_.run(node_.home(), compactor().round(Compactor::Cut::due)));
    }
    EXPECT_EQ(compactor().metrics().compacted.value(), 5U);
}

TEST_F(CompactorTest, a_full_spill_is_emptied_and_filled_again) {
    settings_.spill_bytes_max = 200;
    settings_.spill_segment_bytes = 100;
    settings_.compact_age = 1h;
    settings_.compact_bytes = 1 << 20;
    append(0, 30);
    table_.failing_appends = 3;
    for (int i = 0; i < 40; ++i) {
        static_cast<void>(cluster_.run(node_.home(), compactor().round(Compactor::Cut::due)));
        cluster_.loop.run_for(61s);
    }
    EXPECT_EQ(table_.rows, 30);
}

}  // namespace
}  // namespace lakestream::compact
