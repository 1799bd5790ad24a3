// SPDX-License-Identifier: Apache-2.0
// PieceMemory: who holds how many bytes of a cache, and who waits for them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "rt/future.h"

namespace lakestream::compact {

namespace internal {
struct PieceLedger;
}

/// Bytes that count until it is dropped, on any thread. Move-only.
class Room {
  public:
    Room() = default;
    Room(Room&& other) noexcept
        : ledger_(std::move(other.ledger_)), bytes_(std::exchange(other.bytes_, 0)) {}
    Room& operator=(Room&& other) noexcept {
        std::swap(ledger_, other.ledger_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    ~Room();

    /// Once it is known better: at once, also beyond the limit, where the next ones wait for it.
    void resize(std::uint64_t bytes);
    std::uint64_t bytes() const noexcept { return bytes_; }

  private:
    friend class PieceMemory;
    Room(std::shared_ptr<internal::PieceLedger> ledger, std::uint64_t bytes)
        : ledger_(std::move(ledger)), bytes_(bytes) {}

    std::shared_ptr<internal::PieceLedger> ledger_;
    std::uint64_t bytes_ = 0;
};

/// Thread-safe. One at a time may wait: PieceCache queues the others. Its rooms may outlive it.
class PieceMemory {
  public:
    explicit PieceMemory(std::uint64_t bytes_max);

    /// Room, if it is there.
    std::optional<Room> try_take(std::uint64_t bytes);
    /// Room; or, when there is too little, what completes when there may be more.
    std::variant<Room, rt::Future<bool>> take(std::uint64_t bytes);
    /// Wake who waits, to look again.
    void changed();
    std::uint64_t used() const;

  private:
    std::optional<Room> take_locked(std::uint64_t bytes);

    std::shared_ptr<internal::PieceLedger> ledger_;  // shared with its rooms
};

}  // namespace lakestream::compact
