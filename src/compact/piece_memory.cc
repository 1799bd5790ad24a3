// SPDX-License-Identifier: Apache-2.0
// Counting bytes of pieces.
#include "compact/piece_memory.h"

#include <mutex>

#include "base/assert.h"

namespace lakestream::compact {

namespace internal {

struct PieceLedger {
    explicit PieceLedger(std::uint64_t max) : bytes_max(max) {}

    const std::uint64_t bytes_max;
    std::mutex mutex;  // of what follows
    std::uint64_t used = 0;
    std::optional<rt::Promise<bool>> waiter;

    /// Added are `more - less`.
    void change(std::uint64_t more, std::uint64_t less) {
        std::optional<rt::Promise<bool>> woken;
        {
            const std::scoped_lock lock(mutex);
            LKS_ASSERT(used >= less);
            used = used - less + more;
            woken = std::exchange(waiter, std::nullopt);
        }
        if (woken.has_value()) {
            woken->set(true);
        }
    }
};

}  // namespace internal

Room::~Room() {
    if (ledger_ != nullptr) {
        ledger_->change(0, bytes_);
    }
}

void Room::resize(std::uint64_t bytes) {
    ledger_->change(bytes, std::exchange(bytes_, bytes));
}

PieceMemory::PieceMemory(std::uint64_t bytes_max)
    : ledger_(std::make_shared<internal::PieceLedger>(bytes_max)) {}

std::optional<Room> PieceMemory::take_locked(std::uint64_t bytes) {
    std::uint64_t& used = ledger_->used;
    const std::uint64_t max = ledger_->bytes_max;
    if (used == 0 || (used <= max && bytes <= max - used)) {
        used += bytes;
        return Room(ledger_, bytes);
    }
    return std::nullopt;
}

std::optional<Room> PieceMemory::try_take(std::uint64_t bytes) {
    const std::scoped_lock lock(ledger_->mutex);
    return take_locked(bytes);
}

std::variant<Room, rt::Future<bool>> PieceMemory::take(std::uint64_t bytes) {
    const std::scoped_lock lock(ledger_->mutex);
    if (auto room = take_locked(bytes)) {
        return std::move(*room);
    }
    return ledger_->waiter.emplace().future();
}

void PieceMemory::changed() {
    ledger_->change(0, 0);
}

std::uint64_t PieceMemory::used() const {
    const std::scoped_lock lock(ledger_->mutex);
    return ledger_->used;
}

}  // namespace lakestream::compact
