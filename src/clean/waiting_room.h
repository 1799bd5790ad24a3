// SPDX-License-Identifier: Apache-2.0
// WaitingRoom: objects that nobody refers to wait here until readers have forgotten them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/time.h"

namespace lakestream::clean {

/// An object is ripe when a pass found it free, a later one finds it free again, and the readers'
/// grace lies between. One found in use in between begins anew. Lost with the process: then it
/// waits again. Memory: about 150 bytes an object, at most `objects_max`; more come next time.
class WaitingRoom {
  public:
    explicit WaitingRoom(Duration grace, std::size_t objects_max = 200'000)
        : grace_(grace), objects_max_(objects_max) {}

    /// A pass found it free. Whether it is ripe.
    bool found_free(const std::string& name, MonoTime now) {
        const auto known = since_.find(name);
        if (known != since_.end()) {
            known->second.seen = pass_;
            return known->second.pass < pass_ && now - known->second.since >= grace_;
        }
        if (since_.size() < objects_max_) {
            since_.emplace(name, Wait{now, pass_, pass_});
        } else {
            turned_away_ = pass_;
        }
        return false;
    }

    void begin_pass() { ++pass_; }
    /// Everything was looked at once since the last call: forget what was not found free.
    void end_round() {
        std::erase_if(since_, [this](const auto& each) { return each.second.seen <= round_; });
        before_ = std::exchange(round_, pass_);
    }
    void forget(const std::string& name) { since_.erase(name); }
    /// Whether another round is wanted: for what is here, or for what found no place in this one.
    bool waits() const { return !since_.empty() || turned_away_ > before_; }
    std::size_t size() const { return since_.size(); }

  private:
    struct Wait {
        MonoTime since;
        std::uint64_t pass = 0;  // the first that found it free
        std::uint64_t seen = 0;  // the last
    };

    const Duration grace_;
    const std::size_t objects_max_;
    std::uint64_t pass_ = 0;
    std::uint64_t round_ = 0;        // the pass with which the last round ended
    std::uint64_t before_ = 0;       // and the one before it
    std::uint64_t turned_away_ = 0;  // the last pass that found no place for one
    std::map<std::string, Wait> since_;
};

}  // namespace lakestream::clean
