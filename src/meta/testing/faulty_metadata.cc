// SPDX-License-Identifier: Apache-2.0
// What happens to requests, answers, sessions and changes on their way.
#include "meta/testing/faulty_metadata.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/result.h"

namespace lakestream::meta::testing {

FaultyMetadata::FaultyMetadata(
    MetadataStore& inner,
    rt::Executor& node,
    rt::Executor& network,
    MetadataFaults faults,
    std::uint64_t seed
)
    : inner_(inner), node_(node), network_(network), faults_(faults), rng_(seed), scope_(network) {}

FaultyMetadata::~FaultyMetadata() {
    scope_.abandon();
}

Duration FaultyMetadata::up_to(Duration max) {
    return Duration(
        static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(max.count()) + 1))
    );
}

FaultyMetadata::Fate FaultyMetadata::choose_fate() {
    if (full_ || happens(faults_.refuse)) {
        ++counts_.refused;
        return Fate::refuse;
    }
    if (happens(faults_.drop)) {
        ++counts_.dropped;
        return Fate::drop;
    }
    if (happens(faults_.lose_answer)) {
        ++counts_.answers_lost;
        return Fate::lose_answer;
    }
    if (happens(faults_.apply_late)) {
        ++counts_.applied_late;
        return Fate::apply_late;
    }
    return Fate::pass;
}

Error FaultyMetadata::refusal() {
    switch (rng_.below(3)) {
        case 0: return unavailable("injected: no connection to the metadata store");
        case 1: return deadline_exceeded("injected: the metadata store did not take the request");
        default: {
            Error error = throttled("injected: the metadata store is busy");
            error.retry_after = std::chrono::milliseconds(1 + rng_.below(100));
            return error;
        }
    }
}

// After every earlier arrival at the shard, whatever the delays.
MonoTime FaultyMetadata::arrival(ShardId shard) {
    MonoTime& last = last_arrival_[shard];
    last = std::max(last + 1ns, network_.now() + up_to(faults_.request_delay_max));
    return last;
}

rt::Future<Result<ShardBatchDone>> FaultyMetadata::write(ShardId shard, ShardBatch batch) {
    Carried write{
        .shard = shard,
        .batch = std::move(batch),
        .fate = choose_fate(),
        .arrival = arrival(shard),
        .promise = {},
    };
    auto future = write.promise.future();
    scope_.spawn(carry(std::move(write)));
    return future;
}

rt::Task<void> FaultyMetadata::carry(Carried write) {
    co_await rt::sleep_until(write.arrival);
    const auto deliver = [this, &write] {
        return inner_.write(write.shard, std::move(write.batch));
    };
    std::optional<Result<ShardBatchDone>> done;
    if (write.fate == Fate::pass || write.fate == Fate::lose_answer) {
        done.emplace(co_await deliver());
    }
    co_await rt::sleep_until(network_.now() + up_to(faults_.answer_delay_max));
    switch (write.fate) {
        case Fate::pass: write.promise.set(std::move(*done)); break;
        case Fate::refuse:
            write.promise.set(full_ ? exhausted("injected: the metadata disk is full") : refusal());
            break;
        case Fate::drop:
        case Fate::lose_answer:
        case Fate::apply_late:
            write.promise.set(outcome_unknown("injected: the answer was lost"));
            break;
    }
    if (write.fate == Fate::apply_late) {
        co_await rt::sleep_until(network_.now() + up_to(faults_.late_max));
        static_cast<void>((co_await deliver()).ok());
    }
}

template <class T>
rt::Future<Result<T>> FaultyMetadata::read(std::move_only_function<rt::Future<Result<T>>()> ask) {
    rt::Promise<Result<T>> promise;
    auto future = promise.future();
    scope_.spawn(carry_read<T>(std::move(ask), std::move(promise)));
    return future;
}

template <class T>
rt::Task<void> FaultyMetadata::carry_read(
    std::move_only_function<rt::Future<Result<T>>()> ask, rt::Promise<Result<T>> promise
) {
    const bool fails = happens(faults_.fail_read);
    co_await rt::sleep_until(network_.now() + up_to(faults_.request_delay_max));
    std::optional<Result<T>> answer;
    if (fails) {
        ++counts_.reads_failed;
        answer.emplace(refusal());
    } else {
        answer.emplace(co_await ask());
    }
    co_await rt::sleep_until(network_.now() + up_to(faults_.answer_delay_max));
    promise.set(std::move(*answer));
}

rt::Future<Result<Record>> FaultyMetadata::get(Get request) {
    return read<Record>([this, request = std::move(request)]() mutable {
        return inner_.get(std::move(request));
    });
}

rt::Future<Result<std::vector<std::string>>> FaultyMetadata::list(Range range) {
    return read<std::vector<std::string>>([this, range = std::move(range)]() mutable {
        return inner_.list(std::move(range));
    });
}

/// Passes pages on, until it is cut: then the rest of the page and all others are missing.
class FaultyMetadata::CutScan final : public Scan {
  public:
    using Page = Result<std::vector<Record>>;

    CutScan(FaultyMetadata& faulty, std::unique_ptr<Scan> inner)
        : faulty_(faulty), state_(std::make_shared<State>(std::move(inner), false)) {}

    rt::Future<Page> next() override {
        auto& faulty = faulty_;
        return faulty.read<std::vector<Record>>([&faulty, state = state_] {
            if (state->ended) {
                return rt::Future<Page>::ready(std::vector<Record>());
            }
            return rt::submit(faulty.network_, page(faulty, state));
        });
    }

  private:
    struct State {
        std::unique_ptr<Scan> inner;
        bool ended;
    };

    static rt::Task<Page> page(FaultyMetadata& faulty, std::shared_ptr<State> state) {
        Page page = co_await state->inner->next();
        if (page.ok() && !page->empty() && faulty.happens(faulty.faults_.cut_scan)) {
            ++faulty.counts_.scans_cut;
            state->ended = true;
            page->resize(faulty.rng_.below(page->size()));
        }
        co_return page;
    }

    FaultyMetadata& faulty_;
    std::shared_ptr<State> state_;  // shared with the page that is being read
};

std::unique_ptr<Scan> FaultyMetadata::scan(Range range) {
    return std::make_unique<CutScan>(*this, inner_.scan(std::move(range)));
}

rt::Future<Result<SessionId>> FaultyMetadata::open_session(
    Duration timeout, std::string identity, std::move_only_function<void()> on_lost
) {
    rt::Promise<Result<SessionId>> promise;
    auto future = promise.future();
    scope_.spawn(carry_open(timeout, std::move(identity), std::move(on_lost), std::move(promise)));
    return future;
}

rt::Task<void> FaultyMetadata::carry_open(
    Duration timeout,
    std::string identity,
    std::move_only_function<void()> on_lost,
    rt::Promise<Result<SessionId>> promise
) {
    co_await rt::sleep_until(network_.now() + up_to(faults_.request_delay_max));
    const auto id = std::make_shared<std::optional<SessionId>>();
    auto opened = co_await inner_.open_session(timeout, std::move(identity), [this, id] {
        if (id->has_value()) {
            tell_lost(**id);
        }
    });
    if (opened.ok()) {
        *id = *opened;
        sessions_.emplace(*opened, std::move(on_lost));
        if (happens(faults_.lose_session)) {
            scope_.spawn(end_session(*opened, up_to(faults_.session_life_max)));
        }
    }
    co_await rt::sleep_until(network_.now() + up_to(faults_.answer_delay_max));
    promise.set(std::move(opened));
}

void FaultyMetadata::lose_session(SessionId session) {
    scope_.spawn(end_session(session, Duration(0)));
}

rt::Task<void> FaultyMetadata::end_session(SessionId session, Duration life) {
    co_await rt::sleep_until(network_.now() + life);
    if (!sessions_.contains(session)) {
        co_return;
    }
    ++counts_.sessions_lost;
    static_cast<void>((co_await inner_.close_session(session)).ok());
    co_await rt::sleep_until(network_.now() + up_to(faults_.loss_notice_max));
    tell_lost(session);
}

// Once, and on the node: a crashed one does not learn it.
void FaultyMetadata::tell_lost(SessionId session) {
    if (auto owner = sessions_.extract(session); !owner.empty() && owner.mapped()) {
        node_.post([on_lost = std::move(owner.mapped())]() mutable { on_lost(); });
    }
}

rt::Future<Status> FaultyMetadata::close_session(SessionId session) {
    sessions_.erase(session);
    return inner_.close_session(session);
}

/// One subscription's changes on their way; knows when the last one arrives, so that order is kept.
class FaultyMetadata::Wire : public std::enable_shared_from_this<Wire> {
  public:
    Wire(FaultyMetadata& faulty, rt::Executor& executor, SubscribeHandler handler)
        : faulty_(faulty), executor_(executor), handler_(std::move(handler)) {}

    void changed(const ChangeBatch& batch) {
        if (faulty_.happens(faulty_.faults_.gap)) {
            ++faulty_.counts_.gaps;
            gap(batch.shard);
            return;
        }
        if (faulty_.happens(faulty_.faults_.delay_change)) {
            ++faulty_.counts_.changes_delayed;
            last_ = std::max(
                last_, faulty_.network_.now() + faulty_.up_to(faulty_.faults_.change_delay_max)
            );
        }
        int copies = 1;
        if (faulty_.happens(faulty_.faults_.repeat_change)) {
            ++faulty_.counts_.changes_repeated;
            ++copies;
        }
        for (; copies > 0; --copies) {
            send([batch](SubscribeHandler& handler) { handler.changed(batch); });
        }
    }

    void gap(ShardId shard) {
        send([shard](SubscribeHandler& handler) {
            if (handler.gap) {
                handler.gap(shard);
            }
        });
    }

    void stop() { active_ = false; }

  private:
    template <class Function>
    void send(Function tell) {
        last_ = std::max(last_, faulty_.network_.now());
        faulty_.network_.call_at(last_, [self = shared_from_this(), tell] {
            self->executor_.post([self, tell] {
                if (self->active_) {
                    tell(self->handler_);
                }
            });
        });
    }

    FaultyMetadata& faulty_;
    rt::Executor& executor_;
    SubscribeHandler handler_;
    MonoTime last_{};
    bool active_ = true;
};

class FaultyMetadata::WireEnd final : public Subscription {
  public:
    WireEnd(std::shared_ptr<Wire> wire, std::unique_ptr<Subscription> inner)
        : wire_(std::move(wire)), inner_(std::move(inner)) {}
    WireEnd(const WireEnd&) = delete;
    WireEnd& operator=(const WireEnd&) = delete;
    ~WireEnd() override { wire_->stop(); }

  private:
    std::shared_ptr<Wire> wire_;  // shared with the changes on their way
    std::unique_ptr<Subscription> inner_;
};

rt::Future<Result<std::unique_ptr<Subscription>>> FaultyMetadata::subscribe(
    rt::Executor& executor, SubscribeHandler handler
) {
    using Answer = std::unique_ptr<Subscription>;
    auto wire = std::make_shared<Wire>(*this, executor, std::move(handler));
    return rt::submit(
        network_,
        [](FaultyMetadata& faulty, std::shared_ptr<Wire> end) -> rt::Task<Result<Answer>> {
            SubscribeHandler inner{
                .changed = [end](const ChangeBatch& batch) { end->changed(batch); },
                .gap = [end](ShardId shard) { end->gap(shard); },
            };
            auto subscribed =
                LKS_CO_TRY(co_await faulty.inner_.subscribe(faulty.network_, std::move(inner)));
            co_return std::make_unique<WireEnd>(std::move(end), std::move(subscribed));
        }(*this, std::move(wire))
    );
}

}  // namespace lakestream::meta::testing
