// SPDX-License-Identifier: Apache-2.0
// Entries on their way: from the call that brought them to the verdict that answers them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "log/engine.h"
#include "log/fold.h"
#include "rt/memory.h"

namespace lakestream::log {

/// Collects the answers of one append call. Shared by the entries still on their way and by the
/// list that watches its deadline; each may be on another shard, so completion takes a lock.
class AppendCall {
  public:
    AppendCall(std::size_t entries, Deadline deadline)
        : deadline_(deadline), results_(entries), open_(entries) {}

    rt::Future<std::vector<Result<Appended>>> future() { return promise_.future(); }
    Deadline deadline() const noexcept { return deadline_; }

    /// Answer one entry; later answers of the same entry are ignored.
    void complete(std::size_t entry, Result<Appended> result) {
        const std::scoped_lock lock(mutex_);
        if (open_ == 0 || results_[entry].has_value()) {
            return;
        }
        results_[entry].emplace(std::move(result));
        if (--open_ == 0) {
            answer();
        }
    }

    /// The deadline has passed: what is open has an unknown outcome, for it may still be published.
    void expire() {
        const std::scoped_lock lock(mutex_);
        if (open_ == 0) {
            return;
        }
        for (std::optional<Result<Appended>>& result : results_) {
            if (!result.has_value()) {
                result.emplace(outcome_unknown("the append was not settled before its deadline"));
            }
        }
        open_ = 0;
        answer();
    }

    bool done() const {
        const std::scoped_lock lock(mutex_);
        return open_ == 0;
    }

  private:
    void answer() {
        std::vector<Result<Appended>> all;
        all.reserve(results_.size());
        for (std::optional<Result<Appended>>& result : results_) {
            all.push_back(std::move(*result));
        }
        promise_.set(std::move(all));
    }

    const Deadline deadline_;
    mutable std::mutex mutex_;
    std::vector<std::optional<Result<Appended>>> results_;
    std::size_t open_;
    rt::Promise<std::vector<Result<Appended>>> promise_;
};

/// One entry between `append` and its answer.
struct PendingEntry {
    AppendRequest request;
    std::shared_ptr<AppendCall> call;
    std::size_t slot = 0;  // in the call
    MonoTime received;     // for its age
    WallTime arrived;      // for the object's date
    rt::MemoryAccount::Reservation memory;

    void answer(Result<Appended> result) {
        call->complete(slot, std::move(result));
        memory.release();
    }
};

/// Payload in the open segments of all shards, and how much of it the flusher waits for.
/// Thread-safe: either who adds sees that it is enough, or who waits does.
class OpenBytes {
  public:
    std::uint64_t bytes() const noexcept { return bytes_.load(); }

    /// Whether this makes it enough.
    [[nodiscard]] bool add(std::uint64_t bytes) noexcept {
        const std::uint64_t before = bytes_.fetch_add(bytes);
        const std::uint64_t wanted = wanted_.load();
        return before < wanted && before + bytes >= wanted;
    }
    void sub(std::uint64_t bytes) noexcept { bytes_.fetch_sub(bytes); }

    /// If not, the one whose bytes make it so will tell.
    bool reaches(std::uint64_t wanted) noexcept {
        wanted_.store(wanted);
        return bytes_.load() >= wanted;
    }

  private:
    std::atomic<std::uint64_t> bytes_ = 0;
    std::atomic<std::uint64_t> wanted_ = 0;
};

/// What one flush holds of one log. Made on the log's home shard, built and published on the
/// flusher's, settled on the home shard again: handed over by messages, never shared.
struct Section {
    LogId log;
    std::size_t home = 0;  // shard
    std::vector<PendingEntry> entries;
    std::int64_t records = 0;
    std::uint64_t bytes = 0;
    WallTime max_created;  // M of the log when it was sealed

    // Once it is part of an object:
    std::string location;
    WallTime object_date;
    Bytes index_value;

    // Once it was sent for the first time, and for good:
    std::optional<WriterStamp> writer;
    bool in_doubt = false;  // a put of it was not answered: it may still be applied

    void fail(const Error& error) {
        for (PendingEntry& entry : entries) {
            entry.answer(error);
        }
        entries.clear();
    }
};

using SectionPtr = std::unique_ptr<Section>;

}  // namespace lakestream::log
