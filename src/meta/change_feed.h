// SPDX-License-Identifier: Apache-2.0
// ChangeFeed: hands the changes of a store to its subscribers, each on its own executor, in order.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "meta/metadata_store.h"
#include "rt/executor.h"

namespace lakestream::meta {

/// Thread-safe. A subscriber that falls behind by more than `queue_max` batches loses them and is
/// told of the gap, before the batches that follow it.
class ChangeFeed {
  public:
    static constexpr std::size_t queue_max = 4096;

    /// Every batch published after this call reaches the handler, until the subscription is
    /// dropped. Dropped on `executor`: no call comes after that.
    std::unique_ptr<Subscription> subscribe(rt::Executor& executor, SubscribeHandler handler);

    /// Calls order the batches of a shard. Cost: a message for each subscriber that is idle.
    void publish(ChangeBatch batch);

  private:
    class Subscriber;
    class Handle;

    std::mutex mutex_;
    std::vector<std::weak_ptr<Subscriber>> subscribers_;  // shared with their subscriptions
};

}  // namespace lakestream::meta
