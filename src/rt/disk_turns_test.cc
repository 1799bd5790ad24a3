// SPDX-License-Identifier: Apache-2.0
// Turns on a disk: reads are free without writes, one at a time beside one, and never stuck.
#include "rt/disk_turns.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

namespace lakestream::rt {
namespace {

/// Nobody waits so long.
constexpr std::chrono::hours ever(1);

void wait_for_waiting(const DiskTurns& turns, std::size_t count) {
    while (turns.waiting() != count) {
        std::this_thread::yield();
    }
}

TEST(DiskTurns, WithoutWritesReadsDoNotWait) {
    DiskTurns turns(ever);
    const auto a = turns.read();
    const auto b = turns.read();
    const auto late = turns.write();
    EXPECT_EQ(turns.waiting(), 0U);
}

TEST(DiskTurns, BesideAWriteReadsAreOneAtATime) {
    DiskTurns turns(ever);
    std::optional<DiskTurns::Turn> write(turns.write());
    std::optional<DiskTurns::Turn> first(turns.read());
    std::atomic<int> reading = 0;
    std::atomic<int> most = 0;
    std::vector<std::thread> readers;
    for (int i = 0; i < 4; ++i) {
        readers.emplace_back([&] {
            for (int round = 0; round < 100; ++round) {
                const auto turn = turns.read();
                const int now = ++reading;
                most = std::max(most.load(), now);
                --reading;
            }
        });
    }
    wait_for_waiting(turns, 4);
    EXPECT_EQ(most, 0);
    first.reset();
    for (std::thread& reader : readers) {
        reader.join();
    }
    EXPECT_EQ(most, 1);
}

TEST(DiskTurns, TheEndOfTheLastWriteFreesAll) {
    DiskTurns turns(ever);
    std::optional<DiskTurns::Turn> one(turns.write());
    std::optional<DiskTurns::Turn> other(turns.write());
    const auto first = turns.read();
    std::vector<std::thread> readers;
    for (int i = 0; i < 3; ++i) {
        readers.emplace_back([&] { const auto turn = turns.read(); });
    }
    wait_for_waiting(turns, 3);
    one.reset();
    EXPECT_EQ(turns.waiting(), 3U);
    other.reset();
    for (std::thread& reader : readers) {
        reader.join();
    }
}

TEST(DiskTurns, AReadDoesNotWaitForWritesWithoutEnd) {
    DiskTurns turns(std::chrono::milliseconds(1));
    const auto write = turns.write();
    const auto first = turns.read();
    const auto second = turns.read();
    EXPECT_EQ(turns.waiting(), 0U);
}

}  // namespace
}  // namespace lakestream::rt
