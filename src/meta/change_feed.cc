// SPDX-License-Identifier: Apache-2.0
// Queues of subscribers.
#include "meta/change_feed.h"

#include <atomic>
#include <deque>
#include <set>
#include <utility>

namespace lakestream::meta {

/// The sharers: the subscription, and the message that is on its way to the executor.
class ChangeFeed::Subscriber : public std::enable_shared_from_this<Subscriber> {
  public:
    Subscriber(rt::Executor& executor, SubscribeHandler handler)
        : executor_(executor), handler_(std::move(handler)) {}

    void push(std::shared_ptr<const ChangeBatch> batch) {
        const std::scoped_lock lock(mutex_);
        if (queue_.size() == queue_max) {
            for (const auto& lost : queue_) {
                gaps_.insert(lost->shard);
            }
            queue_.clear();
        }
        queue_.push_back(std::move(batch));
        if (!std::exchange(scheduled_, true)) {
            executor_.post([self = shared_from_this()] { self->deliver(); });
        }
    }

    void stop() { active_.store(false); }

  private:
    void deliver() {
        std::deque<std::shared_ptr<const ChangeBatch>> queue;
        std::set<ShardId> gaps;
        {
            const std::scoped_lock lock(mutex_);
            queue.swap(queue_);
            gaps.swap(gaps_);
            scheduled_ = false;
        }
        for (const ShardId shard : gaps) {
            if (active_.load() && handler_.gap) {
                handler_.gap(shard);
            }
        }
        for (const auto& batch : queue) {
            if (active_.load()) {
                handler_.changed(*batch);
            }
        }
    }

    rt::Executor& executor_;
    SubscribeHandler handler_;
    std::atomic<bool> active_{true};
    std::mutex mutex_;
    std::deque<std::shared_ptr<const ChangeBatch>> queue_;
    std::set<ShardId> gaps_;
    bool scheduled_ = false;
};

class ChangeFeed::Handle final : public Subscription {
  public:
    explicit Handle(std::shared_ptr<Subscriber> subscriber) : subscriber_(std::move(subscriber)) {}
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    ~Handle() override { subscriber_->stop(); }

  private:
    std::shared_ptr<Subscriber> subscriber_;
};

std::unique_ptr<Subscription> ChangeFeed::subscribe(
    rt::Executor& executor, SubscribeHandler handler
) {
    auto subscriber = std::make_shared<Subscriber>(executor, std::move(handler));
    const std::scoped_lock lock(mutex_);
    subscribers_.push_back(subscriber);
    return std::make_unique<Handle>(std::move(subscriber));
}

void ChangeFeed::publish(ChangeBatch batch) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(subscribers_, [](const auto& subscriber) { return subscriber.expired(); });
    if (subscribers_.empty()) {
        return;
    }
    const auto shared = std::make_shared<const ChangeBatch>(std::move(batch));
    for (const auto& weak : subscribers_) {
        if (const auto subscriber = weak.lock()) {
            subscriber->push(shared);
        }
    }
}

}  // namespace lakestream::meta
