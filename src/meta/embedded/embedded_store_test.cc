// SPDX-License-Identifier: Apache-2.0
// What only the embedded store does: restarts, damaged folders, disks that fail, real threads.
#include "meta/embedded/embedded_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "meta/embedded/database.h"
#include "meta/embedded/rocksdb_log.h"
#include "meta/testing/store_under_test.h"
#include "rt/epoll/threads.h"

namespace lakestream::meta {
namespace {

using ::testing::HasSubstr;
using testing::StoreKind;
using testing::StoreUnderTest;
using testing::TempFolder;

// Opens a folder on a loop of its own, so that it can fail.
struct Folder {
    Result<std::unique_ptr<EmbeddedStore>> open() {
        return EmbeddedStore::open(
            {.folder = temp.path() + "/meta"}, sim.executor, offloader, registry
        );
    }

    // A store with `count` records, closed again.
    void fill(int count) {
        auto store = open();
        ASSERT_TRUE(store.ok());
        for (int i = 0; i < count; ++i) {
            ASSERT_TRUE(sim.run(put(**store,
                                    {.key = std::to_string(i), .value = Bytes::copy("value")}))
                            .ok());
        }
    }

    std::filesystem::path file(const std::string& extension) const {
        for (const auto& entry : std::filesystem::directory_iterator(temp.path() + "/meta")) {
            if (entry.path().extension() == extension) {
                return entry.path();
            }
        }
        return {};
    }

    std::string error() {
        auto store = open();
        EXPECT_FALSE(store.ok());
        return store.ok() ? "" : store.error().to_string();
    }

    TempFolder temp;
    rt::SimTest sim;
    metrics::Registry registry;
    rt::SimOffloader offloader{sim.executor, 50us};
};

void flip_byte(const std::filesystem::path& path, std::uintmax_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ 0x40));
}

TEST(EmbeddedStore, CountersAndRecordsSurviveARestart) {
    StoreUnderTest test(StoreKind::embedded);
    const auto write = [&test](Put request) {
        return test.run(put(test.store(), std::move(request))).value();
    };
    write({.key = "k", .value = Bytes::copy("v"), .partition_key = "p", .identity = "me"});
    write({.key = "s", .partition_key = "p", .sequence_deltas = {5, 7}});
    test.reopen();
    const auto record = test.wait(test.store().get({.key = "k"}));
    EXPECT_EQ(record->value.view(), "v");
    EXPECT_EQ(record->version.identity, "me");
    const PutDone next = write({.key = "s", .partition_key = "p", .sequence_deltas = {1, 1}});
    EXPECT_EQ(next.key, "s-00000000000000000006-00000000000000000008");
    EXPECT_EQ(next.version.id, VersionId(2));
}

TEST(EmbeddedStore, Case44SessionsSurviveARestartWithAFullTimeout) {
    StoreUnderTest test(StoreKind::embedded);
    const SessionId session = test.wait(test.store().open_session(4s, "me", nullptr)).value();
    ASSERT_TRUE(test.run(put(test.store(), {.key = "k", .session = session})).ok());
    test.sim.loop.run_for(3s);
    test.reopen();
    test.sim.loop.run_for(3s);
    ASSERT_TRUE(test.wait(test.store().get({.key = "k"})).ok());
    test.sim.loop.run_for(1100ms);
    EXPECT_TRUE(test.wait(test.store().get({.key = "k"})).is(ErrorCode::not_found));
    test.reopen();
    EXPECT_TRUE(test.wait(test.store().close_session(session)).is(ErrorCode::not_found));
}

TEST(EmbeddedStore, ASecondOpenNamesTheFolder) {
    Folder folder;
    const auto first = folder.open();
    ASSERT_TRUE(first.ok());
    const std::string error = folder.error();
    EXPECT_THAT(error, HasSubstr("unavailable"));
    EXPECT_THAT(error, HasSubstr(folder.temp.path()));
    EXPECT_THAT(error, HasSubstr("another lakestream"));
}

TEST(EmbeddedStore, AFolderThatCannotBeMade) {
    Folder folder;
    std::ofstream(folder.temp.path() + "/meta") << "a file";
    EXPECT_THAT(folder.error(), HasSubstr(folder.temp.path() + "/meta"));
}

TEST(EmbeddedStore, ATornTailIsDroppedForItWasNeverAcknowledged) {
    Folder folder;
    folder.fill(10);
    const auto log = folder.file(".log");
    std::filesystem::resize_file(log, std::filesystem::file_size(log) - 3);
    const auto store = folder.open();
    ASSERT_TRUE(store.ok());
    const auto left = folder.sim.run(read_all(**store, {}, 100)).value();
    EXPECT_EQ(left.size(), 9U);
}

TEST(EmbeddedStore, DamageInTheLogStopsTheStart) {
    Folder folder;
    folder.fill(10);
    const auto log = folder.file(".log");
    flip_byte(log, std::filesystem::file_size(log) / 2);
    const std::string error = folder.error();
    EXPECT_THAT(error, HasSubstr("corrupt"));
    EXPECT_THAT(error, HasSubstr(folder.temp.path()));
    EXPECT_TRUE(std::filesystem::exists(log));
    EXPECT_THAT(folder.error(), HasSubstr("corrupt"));  // trying again heals nothing
}

TEST(EmbeddedStore, AMissingFileIsNamed) {
    Folder folder;
    folder.fill(10);
    ASSERT_TRUE(folder.open().ok());  // the log becomes a table
    const auto table = folder.file(".sst");
    std::filesystem::remove(table);
    const std::string error = folder.error();
    EXPECT_THAT(error, HasSubstr("corrupt"));
    EXPECT_THAT(error, HasSubstr(table.filename().string()));
}

TEST(EmbeddedStore, ADamagedTableIsFoundWhenItIsRead) {
    Folder folder;
    folder.fill(10);
    ASSERT_TRUE(folder.open().ok());
    flip_byte(folder.file(".sst"), 20);
    const auto store = folder.open();
    if (store.ok()) {
        const auto all = folder.sim.run(read_all(**store, {}, 100));
        EXPECT_TRUE(all.is(ErrorCode::corrupt));
        EXPECT_THAT(all.error().message, HasSubstr(folder.temp.path()));
        const auto refused = folder.sim.run(put(**store, {.key = "5", .expect = Expect::absent()}));
        EXPECT_TRUE(refused.is(ErrorCode::corrupt));
    } else {
        EXPECT_EQ(store.error().code, ErrorCode::corrupt);
    }
}

TEST(EmbeddedStore, AMissingHeadIsNoReasonToStartAnew) {
    Folder folder;
    folder.fill(10);
    std::filesystem::remove(folder.temp.path() + "/meta/CURRENT");
    EXPECT_THAT(folder.error(), HasSubstr("CURRENT is missing"));
    EXPECT_FALSE(folder.file(".log").empty());
}

TEST(EmbeddedStore, AMissingLogIsNoReasonToForget) {
    Folder folder;
    folder.fill(10);
    std::filesystem::remove(folder.file(".log"));
    EXPECT_THAT(folder.error(), HasSubstr("log (NUMBER.log) is missing"));
    EXPECT_TRUE(folder.file(".log").empty());
}

// RocksDB's own log file ends the process when the disk is full.
TEST(EmbeddedStore, RocksdbWritesNoLogFile) {
    Folder folder;
    folder.fill(10);
    EXPECT_FALSE(std::filesystem::exists(folder.temp.path() + "/meta/LOG"));
}

class RocksdbLines : public ::testing::Test {
  public:
    RocksdbLines() {
        lines().clear();
        log::set_sink(
            [](log::Level, std::string_view module, std::string_view text) noexcept {
                lines().push_back(fmt::format("{} {}", module, text));
            },
            log::Level::warn
        );
    }
    ~RocksdbLines() override {
        log::set_sink(
            [](log::Level, std::string_view, std::string_view) noexcept {}, log::Level::error
        );
    }

  protected:
    static std::vector<std::string>& lines() {
        static std::vector<std::string> all;
        return all;
    }

    embedded::RocksdbLog rocksdb_;
};

TEST_F(RocksdbLines, ThatMatterAreOurs) {
    rocksdb::Warn(&rocksdb_, "%s failed:\n%d", "flush", 7);
    rocksdb::Error(&rocksdb_, "%s", std::string(5000, 'x').c_str());
    rocksdb::Info(&rocksdb_, "of no interest");
    rocksdb::Header(&rocksdb_, "options");
    ASSERT_EQ(lines().size(), 2U);
    EXPECT_EQ(lines()[0], "meta rocksdb says=flush failed: 7");
    EXPECT_LT(lines()[1].size(), 1100U);
}

/// Files that can be made to fail: all of them, with a disk that says it is full, or the log's.
class BreakableFiles final : public rocksdb::FileSystemWrapper {
  public:
    enum class Broken : std::uint8_t { no, full, log };

    explicit BreakableFiles(const std::shared_ptr<rocksdb::FileSystem>& base)
        : FileSystemWrapper(base) {}

    const char* Name() const override { return "breakable"; }

    rocksdb::IOStatus NewWritableFile(
        const std::string& name,
        const rocksdb::FileOptions& options,
        std::unique_ptr<rocksdb::FSWritableFile>* result,
        rocksdb::IODebugContext* debug
    ) override {
        const bool log = name.ends_with(".log");
        if (const auto failure = fails(log); !failure.ok()) {
            return failure;
        }
        auto status = FileSystemWrapper::NewWritableFile(name, options, result, debug);
        if (status.ok()) {
            *result = std::make_unique<File>(*this, log, std::move(*result));
        }
        return status;
    }

    rocksdb::IOStatus GetFreeSpace(
        const std::string& path,
        const rocksdb::IOOptions& options,
        std::uint64_t* free,
        rocksdb::IODebugContext* debug
    ) override {
        const auto status = FileSystemWrapper::GetFreeSpace(path, options, free, debug);
        *free = broken == Broken::full ? 4096 : *free;
        return status;
    }

    rocksdb::IOStatus fails(bool log) const {
        if (broken == Broken::full) {
            return rocksdb::IOStatus::NoSpace("no room left");
        }
        return broken == Broken::log && log ? rocksdb::IOStatus::IOError("bad sector")
                                            : rocksdb::IOStatus::OK();
    }

    Broken broken = Broken::no;

  private:
    class File final : public rocksdb::FSWritableFileOwnerWrapper {
      public:
        File(const BreakableFiles& files, bool log, std::unique_ptr<rocksdb::FSWritableFile>&& base)
            : FSWritableFileOwnerWrapper(std::move(base)), files_(files), log_(log) {}

        rocksdb::IOStatus Sync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug)
            override {
            const auto failure = files_.fails(log_);
            return failure.ok() ? FSWritableFileOwnerWrapper::Sync(options, debug) : failure;
        }

        rocksdb::IOStatus Append(
            const rocksdb::Slice& data,
            const rocksdb::IOOptions& options,
            rocksdb::IODebugContext* debug
        ) override {
            const auto failure = files_.fails(log_);
            return failure.ok() ? FSWritableFileOwnerWrapper::Append(data, options, debug)
                                : failure;
        }

      private:
        const BreakableFiles& files_;
        bool log_;
    };
};

class BreakableStore : public ::testing::Test {
  public:
    using Broken = BreakableFiles::Broken;

    Result<PutDone> append() {
        return folder.sim.run(
            put(*store, {.key = "s", .partition_key = "p", .sequence_deltas = {1}})
        );
    }

    Result<std::vector<Record>> all() { return folder.sim.run(read_all(*store, {}, 10)); }

    Folder folder;
    std::shared_ptr<BreakableFiles> files =
        std::make_shared<BreakableFiles>(rocksdb::FileSystem::Default());
    std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(files);
    embedded::Environment environment{env.get()};
    std::unique_ptr<EmbeddedStore> store =
        EmbeddedStore::open(
            {.folder = folder.temp.path() + "/meta", .environment = &environment},
            folder.sim.executor,
            folder.offloader,
            folder.registry
        )
            .value();
};

TEST_F(BreakableStore, GoesOnWhenTheDiskHasRoomAgain) {
    ASSERT_TRUE(append().ok());
    for (int round = 0; round < 3; ++round) {
        files->broken = Broken::full;
        EXPECT_TRUE(append().is(ErrorCode::outcome_unknown));
        const auto refused = append();
        EXPECT_TRUE(refused.is(ErrorCode::exhausted)) << "nothing of it was tried";
        EXPECT_THAT(refused.error().message, HasSubstr("free some space"));
        EXPECT_TRUE(all().ok()) << "reads go on";
        EXPECT_TRUE(store->write_health().is(ErrorCode::exhausted));
        files->broken = Broken::no;
        const auto next = append();
        ASSERT_TRUE(next.ok()) << next.error().to_string();
        EXPECT_TRUE(store->write_health().ok());
        EXPECT_EQ(all()->back().key, next->key);
        EXPECT_EQ(all()->size(), static_cast<std::size_t>(next->version.id.v + 1));
    }
}

TEST_F(BreakableStore, WithoutWritesAFailureIsForgotten) {
    files->broken = Broken::full;
    EXPECT_FALSE(append().ok());
    folder.sim.loop.run_for(20s);
    EXPECT_TRUE(store->write_health().is(ErrorCode::outcome_unknown));
    folder.sim.loop.run_for(20s);
    EXPECT_TRUE(store->write_health().ok());
}

TEST_F(BreakableStore, AFailedCommitIsFoundOrNotByTheNextWrite) {
    ASSERT_TRUE(append().ok());
    for (int round = 0; round < 3; ++round) {
        files->broken = Broken::log;
        EXPECT_TRUE(append().is(ErrorCode::outcome_unknown));
        EXPECT_FALSE(append().ok());
        files->broken = Broken::no;
        const auto next = append();
        ASSERT_TRUE(next.ok()) << next.error().to_string();
        EXPECT_EQ(all()->back().key, next->key);
        EXPECT_EQ(all()->size(), static_cast<std::size_t>(next->version.id.v + 1));
    }
}

TEST_F(BreakableStore, WaitsForOpenScans) {
    ASSERT_TRUE(append().ok());
    auto scan = store->scan({});
    files->broken = Broken::log;
    EXPECT_TRUE(append().is(ErrorCode::outcome_unknown));
    files->broken = Broken::no;
    EXPECT_TRUE(append().is(ErrorCode::unavailable));
    scan.reset();
    EXPECT_TRUE(append().ok());
}

TEST(EmbeddedStore, AFullQueueThrottles) {
    Folder folder;
    auto store = EmbeddedStore::open(
        {.folder = folder.temp.path() + "/meta", .queue_bytes_max = 1000},
        folder.sim.executor,
        folder.offloader,
        folder.registry
    );
    ASSERT_TRUE(store.ok());
    const auto write = [&store] {
        return (*store)->write(
            ShardId(0),
            {.puts = {{.key = "k", .value = Bytes::own(std::string(700, 'x'))}},
             .deletes = {},
             .ranges = {}}
        );
    };
    auto first = write();
    auto second = write();
    const auto done = [&folder](rt::Future<Result<ShardBatchDone>> future) {
        return folder.sim.run([](auto pending) -> rt::Task<Result<ShardBatchDone>> {
            co_return co_await pending;
        }(std::move(future)));
    };
    const auto refused = done(std::move(second));
    EXPECT_TRUE(refused.is(ErrorCode::throttled));
    EXPECT_GT(refused.error().retry_after, 0ms);
    EXPECT_TRUE(done(std::move(first)).ok());
    EXPECT_TRUE(done(write()).ok());
}

TEST(EmbeddedStore, ClosingCancelsWhatWaits) {
    Folder folder;
    auto store = folder.open();
    ASSERT_TRUE(store.ok());
    auto waiting =
        (*store)->write(ShardId(0), {.puts = {{.key = "k"}}, .deletes = {}, .ranges = {}});
    store->reset();
    const auto answer = folder.sim.run([](auto pending) -> rt::Task<Result<ShardBatchDone>> {
        co_return co_await pending;
    }(std::move(waiting)));
    EXPECT_TRUE(answer.is(ErrorCode::cancelled));
    folder.sim.loop.run_for(1s);
    EXPECT_TRUE(folder.open().ok());
}

rt::Task<Status> append_many(MetadataStore& store, std::string prefix, int count) {
    for (int i = 0; i < count; ++i) {
        const auto done = LKS_CO_TRY(
            co_await put(store, {.key = prefix, .partition_key = "p", .sequence_deltas = {1}})
        );
        const auto found = LKS_CO_TRY(co_await store.get({.key = done.key}));
        if (found.version.id != done.version.id) {
            co_return corrupt("{} is not what was written", done.key);
        }
    }
    co_return Status();
}

TEST(EmbeddedStore, RealThreadsShareIt) {
    constexpr int tasks = 8;
    constexpr int writes = 50;
    const TempFolder temp;
    const rt::SystemClock clock;
    metrics::Registry registry;
    rt::ThreadPool pool("meta", 3, rt::ThreadPriority::normal);
    rt::LoopThreads loops(clock, 2);
    auto store = EmbeddedStore::open({.folder = temp.path()}, loops[0], pool, registry).value();
    std::atomic<int> finished{0};
    std::atomic<int> failed{0};
    const auto watch = [](rt::Task<Status> task, std::atomic<int>& ends, std::atomic<int>& bad
                       ) -> rt::Task<bool> {
        const Status status = co_await std::move(task);
        bad += status.ok() ? 0 : 1;
        ++ends;
        co_return true;
    };
    for (int i = 0; i < tasks; ++i) {
        const auto started = rt::submit(
            loops[static_cast<std::size_t>(i % 2)],
            watch(append_many(*store, i % 4 == 0 ? "a" : "b", writes), finished, failed)
        );
    }
    while (finished.load() < tasks) {
        std::this_thread::yield();
    }
    EXPECT_EQ(failed.load(), 0);
    store.reset();
    auto again = EmbeddedStore::open({.folder = temp.path()}, loops[0], pool, registry).value();
    std::atomic<bool> checked{false};
    std::vector<std::string> keys;
    const auto read = rt::submit(
        loops[0],
        [](MetadataStore& from, std::vector<std::string>& out, std::atomic<bool>& done
        ) -> rt::Task<bool> {
            out = (co_await from.list({})).value_or(std::vector<std::string>());
            done = true;
            co_return true;
        }(*again, keys, checked)
    );
    while (!checked.load()) {
        std::this_thread::yield();
    }
    EXPECT_EQ(keys.size(), static_cast<std::size_t>(tasks * writes));
    EXPECT_EQ(keys.back(), "b-00000000000000000300");
}

}  // namespace
}  // namespace lakestream::meta
