// SPDX-License-Identifier: Apache-2.0
// A process that writes is killed at a random moment, again and again: what it was told is there,
// no batch is torn, nothing counts twice (conformance cases 44 and 64).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "meta/embedded/embedded_store.h"
#include "meta/testing/store_under_test.h"
#include "rt/epoll/threads.h"
#include "rt/rng.h"

namespace lakestream::meta {
namespace {

using testing::TempFolder;

constexpr const char* folder_variable = "LKS_KILL_TEST_FOLDER";
constexpr int ack_fd = 3;
constexpr int window = 8;

std::string number(std::uint64_t n) {
    return fmt::format("{:020}", n);
}

// Batch n appends n to two sequences, moves one marker and overwrites one record.
ShardBatch batch_of(std::uint64_t n, SessionId session) {
    const auto value = [n] { return Bytes::own(std::to_string(n)); };
    ShardBatch batch;
    batch.puts = {
        {.key = "one", .value = value(), .partition_key = "p", .sequence_deltas = {1, 3}},
        {.key = "two", .value = value(), .partition_key = "q", .sequence_deltas = {1}},
        {.key = "last", .value = value()},
        {.key = "marker/" + number(n)},
        {.key = "ephemeral", .value = value(), .session = session},
    };
    batch.deletes = {{.key = "marker/" + number(n - 1)}};
    return batch;
}

rt::Task<bool> write_forever(MetadataStore& store) {
    const auto session = co_await store.open_session(2s, "child", nullptr);
    const auto last = co_await store.get({.key = "last"});
    std::uint64_t next = last.ok() ? std::stoull(std::string(last->value.view())) + 1 : 1;
    std::uint64_t answered = next;
    std::deque<rt::Future<Result<ShardBatchDone>>> pending;
    while (true) {
        while (pending.size() < window) {
            pending.push_back(store.write(ShardId(0), batch_of(next++, *session)));
        }
        const auto done = co_await pending.front();
        pending.pop_front();
        if (!done.ok() || write(ack_fd, &answered, sizeof(answered)) != sizeof(answered)) {
            co_return false;
        }
        ++answered;
    }
}

// The child: this test program again, with only this test, until it is killed.
TEST(EmbeddedKill, DISABLED_Child) {
    const char* const folder = std::getenv(folder_variable);
    ASSERT_NE(folder, nullptr);
    const rt::SystemClock clock;
    metrics::Registry registry;
    rt::ThreadPool pool("meta", 2, rt::ThreadPriority::normal);
    rt::LoopThreads loops(clock, 1);
    auto store = EmbeddedStore::open({.folder = folder}, loops[0], pool, registry).value();
    const auto writing = rt::submit(loops[0], write_forever(*store));
    while (true) {
        pause();
    }
}

class Child {
  public:
    explicit Child(const std::string& folder) {
        std::array<int, 2> ends{};
        EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
        const std::string variable = std::string(folder_variable) + "=" + folder;
        std::string self = "/proc/self/exe";
        std::string filter = "--gtest_filter=EmbeddedKill.DISABLED_Child";
        std::string disabled = "--gtest_also_run_disabled_tests";
        std::array<char*, 4> arguments{self.data(), filter.data(), disabled.data(), nullptr};
        pid_ = fork();
        if (pid_ == 0) {
            dup2(ends[1], ack_fd);
            fcntl(ack_fd, F_SETFD, 0);
            const int nowhere = open("/dev/null", O_WRONLY);
            dup2(nowhere, STDOUT_FILENO);
            setenv(folder_variable, folder.c_str(), 1);
            execv(self.c_str(), arguments.data());
            _exit(127);
        }
        close(ends[1]);
        acks_ = ends[0];
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() { close(acks_); }

    // The next batch that the child was told is durable; 0 at the end.
    std::uint64_t next_ack() const {
        std::uint64_t ack = 0;
        return read(acks_, &ack, sizeof(ack)) == sizeof(ack) ? ack : 0;
    }

    // The last batch acknowledged before the end.
    std::uint64_t kill_now(std::uint64_t acked) const {
        kill(pid_, SIGKILL);
        while (const std::uint64_t ack = next_ack()) {
            acked = ack;
        }
        int status = 0;
        EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
        EXPECT_TRUE(WIFSIGNALED(status));
        return acked;
    }

  private:
    pid_t pid_ = -1;
    int acks_ = -1;
};

/// The folder after a kill, opened in virtual time.
class Survey {
  public:
    explicit Survey(const std::string& folder)
        : store_(
              EmbeddedStore::open({.folder = folder}, sim_.executor, offloader_, registry_).value()
          ) {}

    void check(std::uint64_t acked) {
        const auto ones = records("one-", "one.");
        const auto twos = records("two-", "two.");
        ASSERT_GE(ones.size(), acked);
        ASSERT_LE(ones.size(), acked + window);
        ASSERT_EQ(twos.size(), ones.size()) << "a batch is torn";
        for (std::size_t i = 0; i < ones.size(); ++i) {
            const std::uint64_t n = i + 1;
            ASSERT_EQ(ones[i].key, "one-" + number(n) + "-" + number(3 * n));
            ASSERT_EQ(twos[i].key, "two-" + number(n));
            ASSERT_EQ(ones[i].value.view(), std::to_string(n));
            ASSERT_EQ(twos[i].version.id.v, ones[i].version.id.v + 1);
            ASSERT_TRUE(i == 0 || ones[i].version.id > twos[i - 1].version.id);
        }
        const auto markers = records("marker/", "marker//");
        ASSERT_EQ(markers.size(), 1U) << "a batch is torn";
        EXPECT_EQ(markers[0].key, "marker/" + number(ones.size()));
        EXPECT_EQ(records("last", "lasu")[0].value.view(), std::to_string(ones.size()));
        EXPECT_EQ(records("ephemeral", "f")[0].value.view(), std::to_string(ones.size()));
        sim_.loop.run_for(2100ms);
        EXPECT_TRUE(records("ephemeral", "f").empty()) << "nobody keeps the session alive";
    }

  private:
    std::vector<Record> records(std::string begin, std::string end) {
        Range range{.begin = std::move(begin), .end = std::move(end)};
        return sim_.run(read_all(*store_, std::move(range), 10'000'000)).value();
    }

    rt::SimTest sim_;
    metrics::Registry registry_;
    rt::SimOffloader offloader_{sim_.executor, 10us};
    std::unique_ptr<EmbeddedStore> store_;
};

TEST(EmbeddedKill, NothingAcknowledgedIsLostAndNoBatchIsTorn) {
    constexpr int rounds = 20;
    const TempFolder folder;
    rt::Rng rng(20);
    std::uint64_t last = 0;
    for (int round = 0; round < rounds && !HasFatalFailure(); ++round) {
        SCOPED_TRACE(round);
        const Child child(folder.path());
        std::uint64_t acked = last;
        for (std::uint64_t wanted = rng.between(1, 200); wanted > 0; --wanted) {
            const std::uint64_t ack = child.next_ack();
            ASSERT_GT(ack, acked) << "the child failed";
            acked = ack;
        }
        acked = child.kill_now(acked);
        Survey(folder.path()).check(acked);
        last = acked;
    }
}

}  // namespace
}  // namespace lakestream::meta
