// SPDX-License-Identifier: Apache-2.0
// PieceCache: pieces of stored objects in memory, kept or being fetched, within so many bytes.
#pragma once

#include <cstdint>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/metrics.h"
#include "base/result.h"
#include "compact/piece_memory.h"
#include "rt/shared_semaphore.h"
#include "rt/single_flight.h"
#include "rt/task.h"

namespace lakestream::compact {

/// Fetched once for all who ask at the same time, kept by last use. A piece holds the `Room` it was
/// given before it was fetched, so what left the cache counts until its last user drops it. Errors
/// are not kept. Thread-safe.
///
/// Who holds a piece must not wait for room here, or all holders may wait for each other.
template <class Piece>
class PieceCache {
  public:
    using Key = std::pair<std::string, int>;  // an object and a part of it
    using Ptr = std::shared_ptr<Piece>;       // shared by the cache and those who use it

    explicit PieceCache(std::uint64_t bytes_max)
        : memory_(bytes_max), ahead_bytes_max_(bytes_max / 4) {}
    PieceCache(const PieceCache&) = delete;
    PieceCache& operator=(const PieceCache&) = delete;

    /// What is kept, what another fetches, or what `fetch` ends with.
    rt::Task<Result<Ptr>> get(Key key, rt::Task<Result<Ptr>> fetch) {
        if (Ptr kept = find(key, Use::wanted)) {
            hits_.add();
            co_return kept;
        }
        auto fetched = co_await flights_.run(key, fetch_new(key, std::move(fetch), Use::wanted));
        find(key, Use::wanted);  // it may have been on its way before it was asked for
        co_return fetched;
    }

    /// Room for a piece that is about to be fetched, in the order of asking; those that are kept
    /// make way, the least used first. More than all is given when nothing else has any.
    rt::Task<Room> reserve(std::uint64_t bytes) {
        const auto turn = co_await turns_.acquire(1);
        while (true) {
            auto taken = memory_.take(bytes);
            if (auto* const room = std::get_if<Room>(&taken)) {
                co_return std::move(*room);
            }
            if (!drop_oldest()) {
                co_await std::get<rt::Future<bool>>(taken);
            }
        }
    }

    /// Room for a piece that nobody has asked for yet, if there is some without waiting; none also
    /// for one that is kept or being fetched. All of those have a quarter of the bytes. When one of
    /// them had to leave unused, there are too many readers for it: then there is no room for any,
    /// until some were fetched that had been asked for. What gets room goes on to `get_ahead`.
    std::optional<Room> reserve_ahead(const Key& key, std::uint64_t bytes) {
        {
            const std::scoped_lock lock(mutex_);
            if (doubt_ > 0 || ahead_bytes_ + bytes > ahead_bytes_max_ || by_key_.contains(key) ||
                flights_.running(key) || turns_.used() > 0) {
                return std::nullopt;
            }
            ahead_bytes_ += bytes;
        }
        while (true) {
            if (auto room = memory_.try_take(bytes)) {
                return room;
            }
            if (!drop_oldest()) {
                const std::scoped_lock lock(mutex_);
                ahead_bytes_ -= bytes;
                return std::nullopt;
            }
        }
    }

    /// `fetch` holds the room of `bytes`. What goes wrong is told to who asks for the piece.
    rt::Task<void> get_ahead(Key key, std::uint64_t bytes, rt::Task<Result<Ptr>> fetch) {
        static_cast<void>(co_await flights_.run(key, fetch_new(key, std::move(fetch), Use::ahead)));
        const std::scoped_lock lock(mutex_);
        ahead_bytes_ -= bytes;
    }

    /// The piece is damaged: the next one who asks fetches it again.
    void forget(const Key& key) {
        Kept dropped;  // freed without the lock
        const std::scoped_lock lock(mutex_);
        if (const auto found = by_key_.find(key); found != by_key_.end()) {
            take_out(dropped, found->second);
        }
    }

    /// Bytes of all pieces, and of those being fetched.
    std::uint64_t bytes() const { return memory_.used(); }
    /// Pieces that were kept, and those that were fetched.
    const metrics::Counter& hits() const noexcept { return hits_; }
    const metrics::Counter& misses() const noexcept { return misses_; }

  private:
    enum class Use : std::uint8_t { wanted, ahead };

    struct Entry {
        Key key;
        Ptr piece;
        std::uint64_t ahead_bytes = 0;  // until somebody asks for it
    };
    using Kept = std::list<Entry>;

    static constexpr std::uint64_t doubt_misses = 64;

    Ptr find(const Key& key, Use use) {
        const std::scoped_lock lock(mutex_);
        const auto found = by_key_.find(key);
        if (found == by_key_.end()) {
            return nullptr;
        }
        Entry& entry = *found->second;
        kept_.splice(kept_.begin(), kept_, found->second);
        if (use == Use::wanted) {
            ahead_bytes_ -= std::exchange(entry.ahead_bytes, 0);
        }
        return entry.piece;
    }

    rt::Task<Result<Ptr>> fetch_new(Key key, rt::Task<Result<Ptr>> fetch, Use use) {
        if (Ptr kept = find(key, use)) {  // since it was looked for
            co_return kept;
        }
        misses_.add();
        const Ptr piece = LKS_CO_TRY(co_await std::move(fetch));
        {
            const std::scoped_lock lock(mutex_);
            const std::uint64_t ahead = use == Use::ahead ? piece->room.bytes() : 0;
            kept_.push_front({key, piece, ahead});
            by_key_.insert_or_assign(std::move(key), kept_.begin());
            ahead_bytes_ += ahead;
            doubt_ -= use == Use::wanted && doubt_ > 0 ? 1 : 0;
        }
        memory_.changed();  // it can make way
        co_return piece;
    }

    bool drop_oldest() {
        Kept dropped;  // freed without the lock
        const std::scoped_lock lock(mutex_);
        if (kept_.empty()) {
            return false;
        }
        doubt_ = kept_.back().ahead_bytes > 0 ? doubt_misses : doubt_;
        take_out(dropped, std::prev(kept_.end()));
        return true;
    }

    /// Under the mutex.
    void take_out(Kept& to, typename Kept::iterator entry) {
        ahead_bytes_ -= entry->ahead_bytes;
        by_key_.erase(entry->key);
        to.splice(to.begin(), kept_, entry);
    }

    PieceMemory memory_;
    const std::uint64_t ahead_bytes_max_;
    rt::SharedSemaphore turns_{1};
    rt::SingleFlight<Key, Ptr> flights_;
    std::mutex mutex_;  // of what follows
    Kept kept_;         // the latest used first
    std::map<Key, typename Kept::iterator> by_key_;
    std::uint64_t ahead_bytes_ = 0;  // fetched and being fetched before somebody asked
    std::uint64_t doubt_ = 0;        // misses until pieces are fetched ahead again
    metrics::Counter hits_;
    metrics::Counter misses_;
};

}  // namespace lakestream::compact
