// SPDX-License-Identifier: Apache-2.0
// The folder store against crashes, full disks, missing rights and decay.
#include "objstore/local/local_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <thread>

#include "codec/crc32c.h"
#include "objstore/budget_store.h"
#include "objstore/cache_store.h"
#include "objstore/local/folder.h"
#include "objstore/metrics_store.h"
#include "objstore/retry_store.h"
#include "objstore/testing/temp_folder.h"
#include "rt/epoll/threads.h"
#include "rt/scope.h"

namespace lakestream::objstore {
namespace {

namespace fs = std::filesystem;
using local::Folder;

constexpr WallTime now = wall_from_ms(2'000'000'000'000);

Slices bytes_of(std::string_view text) {
    return Slices(Bytes::copy(text));
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, std::string_view text) {
    std::ofstream(path, std::ios::binary) << text;
}

std::unique_ptr<Folder> open_folder(const std::string& path) {
    auto folder = Folder::open(path, now, 99);
    EXPECT_TRUE(folder.ok()) << folder.error().to_string();
    return std::move(*folder);
}

/// Files below `path`, temporaries left out.
std::vector<std::string> files_of(const std::string& path) {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
        const std::string name = fs::relative(entry.path(), path);
        if (entry.is_regular_file() && !name.starts_with(reserved_folder)) {
            files.push_back(name);
        }
    }
    std::ranges::sort(files);
    return files;
}

std::string attribute_of(const std::string& path) {
    std::array<char, 32> value{};
    const ssize_t size =
        getxattr(path.c_str(), local::checksum_attribute, value.data(), value.size());
    return size < 0 ? "none" : std::string(value.data(), static_cast<std::size_t>(size));
}

std::string checksum_of(std::string_view body) {
    return fmt::format("{}", codec::crc32c(std::as_bytes(std::span(body))));
}

TEST(LocalStore, FilesAreAsOtherEnginesReadThem) {
    const TempFolder temp;
    auto folder = open_folder(temp.path());
    ASSERT_TRUE(folder->put("2026/07/01/x", bytes_of("123456789"), IfExists::fail, 1).ok());
    EXPECT_EQ(files_of(temp.path()), std::vector<std::string>{"2026/07/01/x"});
    EXPECT_EQ(read_file(temp.path() + "/2026/07/01/x"), "123456789");
    EXPECT_EQ(attribute_of(temp.path() + "/2026/07/01/x"), "3808858755");  // e3069283
    EXPECT_TRUE(fs::is_empty(temp.path() + "/.lks-tmp"));
    ASSERT_TRUE(folder->remove("2026/07/01/x").ok());
    EXPECT_FALSE(fs::exists(temp.path() + "/2026"));  // folders that became empty go as well
    ASSERT_TRUE(folder->put("2026/07/01/y", bytes_of("1"), IfExists::overwrite, 2).ok());
}

TEST(LocalStore, BytesAreTheSameWithAndWithoutThePageCache) {
    const TempFolder temp;
    const std::string path = temp.path() + "/x";
    constexpr std::size_t mib = 1 << 20;
    for (const std::size_t size :
         {std::size_t{1},
          std::size_t{4095},
          std::size_t{4096},
          std::size_t{4097},
          mib,
          mib + 1,
          2 * mib + 4097}) {
        std::string body(size, 'a');
        Slices parts;
        for (std::size_t at = 0; at < size;) {
            const std::size_t count = std::min(size - at, at % 70'001 + 1);
            body[at] = static_cast<char>(at);
            parts.append(Bytes::copy(std::string_view(body).substr(at, count)));
            at += count;
        }
        for (const local::Io written : {local::Io::cached, local::Io::direct}) {
            const Status made = local::write_new(path, local::source_of(parts), written);
            ASSERT_TRUE(made.ok()) << made.error().to_string();
            EXPECT_EQ(attribute_of(path), checksum_of(body));
            EXPECT_EQ(read_file(path), body);
            EXPECT_TRUE(
                local::write_new(path, local::source_of(parts), written).is(ErrorCode::unavailable)
            );
            for (const local::Io read : {local::Io::cached, local::Io::direct}) {
                const auto file = local::open_file(path, O_RDONLY, read);
                ASSERT_TRUE(file.ok());
                for (const std::size_t begin : {std::size_t{0}, size / 3, size - 1, size}) {
                    const auto bytes = local::read_at(*file, {begin, size}, read, path, nullptr);
                    ASSERT_TRUE(bytes.ok()) << bytes.error().to_string();
                    EXPECT_EQ(bytes->view(), std::string_view(body).substr(begin));
                }
                EXPECT_TRUE(
                    local::read_at(*file, {0, size + 1}, read, path, nullptr).is(ErrorCode::corrupt)
                );
            }
            fs::remove(path);
        }
    }
}

TEST(LocalStore, AReadTakesItsTurnForEachPiece) {
    const TempFolder temp;
    const auto folder = open_folder(temp.path());
    const std::string text(600 << 10, 'x');  // three pieces
    ASSERT_TRUE(folder->put("a", bytes_of(text), IfExists::fail, 1).ok());
    rt::DiskTurns turns(std::chrono::hours(1));
    std::optional<rt::DiskTurns::Turn> write(turns.write());
    std::optional<rt::DiskTurns::Turn> other_read(turns.read());
    Result<Bytes> got = not_found("not read yet");
    std::thread reader([&] { got = folder->get("a", std::nullopt, &turns); });
    while (turns.waiting() != 1) {
        std::this_thread::yield();
    }
    other_read.reset();
    reader.join();
    EXPECT_EQ(got.value().view(), text);
}

TEST(LocalStore, DecayIsFoundByWholeReads) {
    const TempFolder temp;
    auto folder = open_folder(temp.path());
    ASSERT_TRUE(folder->put("x", bytes_of("hello"), IfExists::fail, 1).ok());
    write_file(temp.path() + "/x", "hellO");
    const auto decayed = folder->get("x", std::nullopt);
    ASSERT_TRUE(decayed.is(ErrorCode::corrupt));
    EXPECT_NE(decayed.error().message.find(temp.path() + "/x has CRC32C"), std::string::npos);
    EXPECT_TRUE(folder->get("x", ByteRange{0, 5}).ok());
    for (const std::string& wrong :
         {std::string(), std::string("12 apples"), std::string(20, '1')}) {
        setxattr(
            (temp.path() + "/x").c_str(), local::checksum_attribute, wrong.data(), wrong.size(), 0
        );
        EXPECT_TRUE(folder->get("x", std::nullopt).is(ErrorCode::corrupt)) << wrong;
    }
    // None says nothing: another engine wrote the file, or a copy left the attribute behind.
    removexattr((temp.path() + "/x").c_str(), local::checksum_attribute);
    EXPECT_TRUE(folder->get("x", std::nullopt).ok());
}

TEST(LocalStore, OldTemporariesAreSweptAndYoungOnesStay) {
    const TempFolder temp;
    open_folder(temp.path());
    write_file(temp.path() + "/.lks-tmp/old", "x");
    struct stat status;
    ASSERT_EQ(stat((temp.path() + "/.lks-tmp/old").c_str(), &status), 0);
    const WallTime written = wall_from_ms(status.st_mtim.tv_sec * 1000);
    ASSERT_TRUE(Folder::open(temp.path(), written + 59min, 1).ok());
    EXPECT_TRUE(fs::exists(temp.path() + "/.lks-tmp/old"));
    ASSERT_TRUE(Folder::open(temp.path(), written + 62min, 2).ok());
    EXPECT_TRUE(fs::is_empty(temp.path() + "/.lks-tmp"));
}

TEST(LocalStore, OpenMakesTheFolderAndSaysWhyItCannot) {
    const TempFolder temp;
    EXPECT_TRUE(Folder::open(temp.path() + "/a/b/c/", now, 1).ok());
    EXPECT_TRUE(fs::is_directory(temp.path() + "/a/b/c"));
    write_file(temp.path() + "/file", "x");
    const auto file = Folder::open(temp.path() + "/file", now, 1);
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.code(), ErrorCode::invalid_argument) << file.error().to_string();
    EXPECT_TRUE(Folder::open("", now, 1).is(ErrorCode::invalid_argument));
}

/// Another user's eyes, for a while: root may write anywhere.
class AsNobody {
  public:
    AsNobody() {
        if (geteuid() == 0) {
            EXPECT_EQ(seteuid(65534), 0);
        }
    }
    AsNobody(const AsNobody&) = delete;
    AsNobody& operator=(const AsNobody&) = delete;
    ~AsNobody() {
        if (getuid() == 0) {
            EXPECT_EQ(seteuid(0), 0);
        }
    }
};

TEST(LocalStore, NoRightToWrite) {
    const TempFolder temp;
    auto folder = open_folder(temp.path() + "/objects");
    ASSERT_TRUE(folder->put("d/x", bytes_of("hello"), IfExists::fail, 1).ok());
    fs::permissions(temp.path(), fs::perms(0755));
    fs::permissions(temp.path() + "/objects/.lks-tmp", fs::perms(0555));
    fs::permissions(temp.path() + "/objects/d", fs::perms(0555));
    {
        const AsNobody nobody;
        const auto reopened = Folder::open(temp.path() + "/objects", now, 2);
        ASSERT_TRUE(reopened.is(ErrorCode::unsupported));
        EXPECT_NE(
            reopened.error().message.find(temp.path() + "/objects/.lks-tmp"), std::string::npos
        );
        EXPECT_TRUE(Folder::open(temp.path() + "/new", now, 2).is(ErrorCode::unsupported));
        EXPECT_TRUE(folder->put("d/y", bytes_of("x"), IfExists::fail, 3).is(ErrorCode::unsupported)
        );
        EXPECT_TRUE(folder->remove("d/x").is(ErrorCode::unsupported));
        EXPECT_TRUE(folder->get("d/x", std::nullopt).ok());
    }
    EXPECT_EQ(folder->list("", "", 10)->objects.size(), 1U);
}

/// A small file system, or a limit on file sizes where one may not be mounted.
class SmallDisk {
  public:
    explicit SmallDisk(const std::string& path) : path_(path) {
        mounted_ = mount("none", path.c_str(), "tmpfs", 0, "size=1m") == 0;
        if (!mounted_) {
            signal(SIGXFSZ, SIG_IGN);
            getrlimit(RLIMIT_FSIZE, &before_);
            const rlimit small{1 << 20, before_.rlim_max};
            setrlimit(RLIMIT_FSIZE, &small);
        }
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;
    ~SmallDisk() {
        if (mounted_) {
            EXPECT_EQ(umount2(path_.c_str(), MNT_DETACH), 0);
        } else {
            setrlimit(RLIMIT_FSIZE, &before_);
        }
    }

  private:
    std::string path_;
    bool mounted_;
    rlimit before_{};
};

TEST(LocalStore, FullDiskIsExhaustedAndLeavesNothing) {
    const TempFolder temp;
    const SmallDisk disk(temp.path());
    auto folder = open_folder(temp.path());
    ASSERT_TRUE(folder->put("small", bytes_of("hello"), IfExists::fail, 1).ok());
    const std::string large(2 << 20, 'x');
    const Status full = folder->put("d/large", bytes_of(large), IfExists::fail, 2);
    ASSERT_TRUE(full.is(ErrorCode::exhausted));
    EXPECT_NE(full.error().message.find(temp.path()), std::string::npos);
    EXPECT_EQ(files_of(temp.path()), std::vector<std::string>{"small"});
    EXPECT_TRUE(fs::is_empty(temp.path() + "/.lks-tmp"));
    EXPECT_TRUE(folder->put("again", bytes_of("hello"), IfExists::fail, 3).ok());
}

/// Run `work` in a child that is killed at its `stop`th system call stop; true when it ended first.
bool run_until_stop(const std::function<void()>& work, int stop) {
    const pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        raise(SIGSTOP);
        work();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    for (int i = 0; i < stop; ++i) {
        EXPECT_EQ(ptrace(PTRACE_SYSCALL, child, nullptr, nullptr), 0);
        waitpid(child, &status, 0);
        if (WIFEXITED(status)) {
            EXPECT_EQ(WEXITSTATUS(status), 0);
            return true;
        }
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return false;
}

/// Everything under a final name is whole, and has the right checksum.
void expect_whole(const std::string& path, const std::vector<std::string>& bodies) {
    for (const std::string& name : files_of(path)) {
        const std::string body = read_file(path + "/" + name);
        EXPECT_NE(std::ranges::find(bodies, body), bodies.end()) << name;
        EXPECT_EQ(attribute_of(path + "/" + name), checksum_of(body)) << name;
    }
}

/// Kill `work` at every system call it makes, each time on a folder prepared anew.
int kill_everywhere(
    const std::function<void(Folder&)>& prepare,
    const std::function<void(Folder&)>& work,
    const std::vector<std::string>& bodies
) {
    // What survives a kill is what the kernel has; in memory, syncing it costs no time.
    const std::string parent = fs::is_directory("/dev/shm") ? "/dev/shm" : "/tmp";
    for (int stop = 1; stop < 1000; ++stop) {
        const TempFolder temp(parent);
        auto folder = open_folder(temp.path());
        prepare(*folder);
        const bool ended = run_until_stop([&] { work(*folder); }, stop);
        expect_whole(temp.path(), bodies);
        // The next process goes on where the dead one stopped.
        auto next = open_folder(temp.path());
        EXPECT_TRUE(next->put("d/e/x", bytes_of(bodies[0]), IfExists::overwrite, 77).ok());
        EXPECT_EQ(next->get("d/e/x", std::nullopt)->view(), bodies[0]);
        expect_whole(temp.path(), bodies);
        if (ended || testing::Test::HasFailure()) {
            return stop;
        }
    }
    return 0;
}

TEST(LocalStoreKilled, WhileCreating) {
    const std::string body(100'000, 'a');
    const int stops = kill_everywhere(
        [](Folder&) {},
        [&](Folder& folder) {
            if (!folder.put("d/e/x", bytes_of(body), IfExists::fail, 5).ok()) {
                _exit(1);
            }
        },
        {body}
    );
    EXPECT_GT(stops, 20);
}

TEST(LocalStoreKilled, WhileOverwriting) {
    const std::string first(1000, 'a');
    const std::string second(100'000, 'b');
    const int stops = kill_everywhere(
        [&](Folder& folder) {
            ASSERT_TRUE(folder.put("d/e/x", bytes_of(first), IfExists::fail, 4).ok());
        },
        [&](Folder& folder) {
            if (!folder.put("d/e/x", bytes_of(second), IfExists::overwrite, 5).ok()) {
                _exit(1);
            }
        },
        {second, first}
    );
    EXPECT_GT(stops, 20);
}

TEST(LocalStoreKilled, WhileRemoving) {
    const std::string body(1000, 'a');
    const int stops = kill_everywhere(
        [&](Folder& folder) {
            ASSERT_TRUE(folder.put("d/e/x", bytes_of(body), IfExists::fail, 4).ok());
        },
        [&](Folder& folder) {
            if (!folder.remove("d/e/x").ok()) {
                _exit(1);
            }
        },
        {body}
    );
    EXPECT_GT(stops, 5);
}

rt::Task<bool> churn(ObjectStore& store, int worker) {
    for (int i = 0; i < 30; ++i) {
        // Folders are made and removed under each other's feet.
        const std::string name = fmt::format("{}/{}/{}", i % 3, i % 2, worker);
        const std::string body = fmt::format("{} of {}", i, worker);
        if (!(co_await store.put(name, bytes_of(body), IfExists::fail)).ok()) {
            co_return false;
        }
        const Result<Bytes> read = co_await store.get(name, std::nullopt);
        if (!read.ok() || read->view() != body) {
            co_return false;
        }
        std::vector<std::string> names{name};
        const std::vector<Status> removed = co_await store.remove(std::move(names));
        if (!removed[0].ok()) {
            co_return false;
        }
    }
    co_return true;
}

rt::Task<bool> churn_and_count(ObjectStore& store, int worker, std::atomic<int>& left) {
    const bool good = co_await churn(store, worker);
    left.fetch_sub(good ? 1 : 1000);
    left.notify_all();
    co_return good;
}

TEST(LocalStore, ManyLoopsAndThreadsShareAFolder) {
    const TempFolder temp;
    const rt::SystemClock clock;
    rt::ThreadPool pool("files", 4, rt::ThreadPriority::normal);
    rt::DiskTurns turns;
    auto store = LocalStore::open(
        temp.path(), {.gets = pool, .others = pool}, clock, 1, {.turns = &turns, .puts_first = true}
    );
    ASSERT_TRUE(store.ok());
    rt::MemoryAccount account("cache", 100);
    metrics::Registry registry;
    BudgetStore budget(**store, {.concurrent_max = 2});
    RetryStore retry(budget, {});
    MetricsStore counted(retry, registry, "test");
    CacheStore cache(counted, account);
    constexpr int workers = 6;
    std::atomic<int> left = workers;
    {
        rt::LoopThreads loops(clock, 2);
        for (int worker = 0; worker < workers; ++worker) {
            static_cast<void>(rt::submit(
                loops[static_cast<std::size_t>(worker % 2)], churn_and_count(cache, worker, left)
            ));
        }
        for (int seen = left; seen > 0; seen = left) {
            left.wait(seen);
        }
    }
    EXPECT_EQ(left, 0);
    EXPECT_EQ(counted.requests(Operation::put, Outcome::ok), workers * 30U);
    EXPECT_TRUE(files_of(temp.path()).empty());
}

}  // namespace
}  // namespace lakestream::objstore
