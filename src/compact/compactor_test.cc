// SPDX-License-Identifier: Apache-2.0
// Compactor over a real log engine, with a catalog and tables that fail and move under it.
#include "compact/compactor.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <span>

#include "base/log.h"
#include "codec/batch_builder.h"
#include "compact/local_file.h"
#include "index/key.h"
#include "log/testing/cluster.h"

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
            co_return unavailable("the store is away");
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
            co_return suspended ? fenced("suspended") : unavailable("the store is away");
        }
        if (range.begin == position) {  // else prepared from elsewhere: the position tells
            EXPECT_EQ(file.rows + unreadable, range.count());
            rows += file.rows;
            position = range.end;
        }
        co_return TablePositions{{log_a, position}};
    }

    Offset position;
    std::int64_t rows = 0;
    int failing_opens = 0;
    int failing_appends = 0;
    bool suspended = false;       // how appends fail
    std::int64_t unreadable = 0;  // records of the next commit that are no rows
};

Bytes batch(int number) {
    codec::BatchBuilder builder;
    const std::string value = "value " + std::to_string(number);
    builder.add(1000, std::nullopt, std::as_bytes(std::span(value)));
    return builder.finish();
}

rt::Task<bool> append_batch(log::Engine& engine, Bytes payload) {
    rt::Executor& executor = co_await rt::this_executor();
    std::vector<log::AppendRequest> requests(1);
    requests[0] = {.log = log_a, .payload = std::move(payload), .records = 1};
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
        auto files = open_spill_folder(folder / "spill");
        ASSERT_TRUE(files.ok());
        files_ = std::move(*files);
        settings_.tables_default = true;
        settings_.compact_bytes = 1;
    }

    void append(int begin, int end) {
        ASSERT_TRUE(cluster_.run(node_.home(), append_batches(*node_.engine, begin, end)));
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
    compactor_.reset();  // killed; and again
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

TEST_F(CompactorTest, a_batch_that_does_not_decode_is_counted_and_passed) {
    append(0, 2);
    const Bytes good = batch(2);
    std::vector<std::byte> bytes(good.begin(), good.end());
    bytes.back() = std::byte{0x7f};  // the header count of its record
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
