// SPDX-License-Identifier: Apache-2.0
// MemoryAccount: how many bytes a part of the node holds, as a tree with limits.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace lakestream::rt {

/// Thread-safe. A reservation counts in its account and in all above; it is refused when any of
/// them would pass its limit. Accounts live as long as the node; children never outlive parents.
class MemoryAccount {
  public:
    /// Bytes counted until it is dropped. Move-only.
    class Reservation {
      public:
        Reservation() = default;
        Reservation(Reservation&& other) noexcept
            : account_(std::exchange(other.account_, nullptr)), bytes_(other.bytes_) {}
        Reservation& operator=(Reservation&& other) noexcept {
            std::swap(account_, other.account_);
            std::swap(bytes_, other.bytes_);
            return *this;
        }
        Reservation(const Reservation&) = delete;
        Reservation& operator=(const Reservation&) = delete;
        ~Reservation() { release(); }

        void release() noexcept {
            if (account_ != nullptr) {
                std::exchange(account_, nullptr)->sub(bytes_);
            }
        }

        std::uint64_t bytes() const noexcept { return account_ != nullptr ? bytes_ : 0; }

      private:
        friend MemoryAccount;
        Reservation(MemoryAccount& account, std::uint64_t bytes)
            : account_(&account), bytes_(bytes) {}

        MemoryAccount* account_ = nullptr;
        std::uint64_t bytes_ = 0;
    };

    MemoryAccount(std::string name, std::uint64_t limit, MemoryAccount* parent = nullptr)
        : name_(std::move(name)), limit_(limit), parent_(parent) {}
    MemoryAccount(const MemoryAccount&) = delete;
    MemoryAccount& operator=(const MemoryAccount&) = delete;

    /// None when a limit on the way up would be passed; the refusal is counted.
    std::optional<Reservation> try_reserve(std::uint64_t bytes) {
        if (!add(bytes)) {
            refused_.fetch_add(1, std::memory_order_relaxed);
            return std::nullopt;
        }
        return Reservation(*this, bytes);
    }

    const std::string& name() const noexcept { return name_; }
    std::uint64_t limit() const noexcept { return limit_; }
    std::uint64_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
    std::uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }

  private:
    bool add(std::uint64_t bytes) noexcept {
        const std::uint64_t before = used_.fetch_add(bytes, std::memory_order_relaxed);
        if (before + bytes > limit_ || (parent_ != nullptr && !parent_->add(bytes))) {
            used_.fetch_sub(bytes, std::memory_order_relaxed);
            return false;
        }
        return true;
    }

    void sub(std::uint64_t bytes) noexcept {
        for (MemoryAccount* account = this; account != nullptr; account = account->parent_) {
            account->used_.fetch_sub(bytes, std::memory_order_relaxed);
        }
    }

    std::string name_;
    std::uint64_t limit_;
    MemoryAccount* parent_;
    std::atomic<std::uint64_t> used_{0};
    std::atomic<std::uint64_t> refused_{0};
};

}  // namespace lakestream::rt
