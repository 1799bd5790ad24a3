// SPDX-License-Identifier: Apache-2.0
// Which fault hits whom.
#include "objstore/testing/faulty_store.h"

#include <algorithm>
#include <utility>

namespace lakestream::objstore {

namespace {

constexpr FaultRates no_faults;

Error answer_lost(std::string_view what, const std::string& name) {
    return outcome_unknown("injected: the answer to the {} of '{}' was lost", what, name);
}

}  // namespace

FaultyStore::FaultyStore(
    ObjectStore& inner, rt::Executor& world, FaultOptions options, std::uint64_t seed
)
    : inner_(inner), options_(std::move(options)), rng_(seed), late_(world) {}

const FaultRates& FaultyStore::rates(Operation operation, const std::string& name) const {
    const FaultRule* best = nullptr;
    for (const FaultRule& rule : options_.rules) {
        const bool longer = best == nullptr || rule.prefix.size() > best->prefix.size();
        if (longer && name.starts_with(rule.prefix)) {
            best = &rule;
        }
    }
    return best == nullptr || healed_ ? no_faults : best->rates[operation];
}

bool FaultyStore::hit(Fault fault, Ratio ratio) {
    if (healed_ || ratio.numerator == 0 || !rng_.chance(ratio.numerator, ratio.denominator)) {
        return false;
    }
    ++counts_[static_cast<std::size_t>(fault)];
    return true;
}

Duration FaultyStore::random(Duration max) {
    return Duration(
        static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(max.count()) + 1))
    );
}

rt::Task<void> FaultyStore::delay(const FaultRates& rates) {
    const rt::Executor& executor = co_await rt::this_executor();
    Duration time = options_.latency_min + random(options_.latency_max - options_.latency_min);
    if (hit(Fault::slow, rates.slow)) {
        time += random(options_.slow_max);
    }
    co_await rt::sleep_until(executor.now() + time);
}

Status FaultyStore::before(const FaultRates& rates) {
    const MonoTime now = late_.executor().now();
    if (now >= throttled_until_ && hit(Fault::throttle, rates.throttle)) {
        throttled_until_ = now + options_.throttle_burst;
    }
    if (now < throttled_until_ && !healed_) {
        Error error = throttled("injected: too many requests");
        error.retry_after = std::chrono::ceil<std::chrono::milliseconds>(throttled_until_ - now);
        return error;
    }
    if (hit(Fault::fail_before, rates.fail_before)) {
        return rng_.chance(1, 2) ? unavailable("injected: the request was not sent")
                                 : deadline_exceeded("injected: the request was not sent in time");
    }
    if (hit(Fault::disk_full, rates.disk_full)) {
        return exhausted("injected: the disk is full");
    }
    return {};
}

rt::Task<Status> FaultyStore::put(std::string name, Slices body, IfExists if_exists) {
    const FaultRates& faults = rates(Operation::put, name);
    co_await delay(faults);
    LKS_CO_TRY(before(faults));
    if (hit(Fault::apply_late, faults.apply_late)) {
        late_.spawn(put_late(name, std::move(body), if_exists));
        co_return answer_lost("put", name);
    }
    Status result = co_await inner_.put(name, std::move(body), if_exists);
    if (result.ok() && options_.settle > Duration(0)) {
        visible_at_[name] = late_.executor().now() + random(options_.settle);
    }
    if (hit(Fault::lose_answer, faults.lose_answer)) {
        co_return answer_lost("put", name);
    }
    co_return result;
}

rt::Task<void> FaultyStore::put_late(std::string name, Slices body, IfExists if_exists) {
    co_await rt::sleep_until(late_.executor().now() + random(options_.late_max));
    // Nobody hears how it ends.
    static_cast<void>(co_await inner_.put(std::move(name), std::move(body), if_exists));
}

rt::Task<Result<Bytes>> FaultyStore::get(std::string name, std::optional<ByteRange> range) {
    const FaultRates& faults = rates(Operation::get, name);
    co_await delay(faults);
    LKS_CO_TRY(before(faults));
    if (hidden(name, late_.executor().now())) {
        co_return not_found("object '{}'", name);
    }
    if (range.has_value() && hit(Fault::wrong_range, faults.wrong_range)) {
        Bytes all = LKS_CO_TRY(co_await inner_.get(name, std::nullopt));
        const std::size_t size = range->size();
        if (range->begin <= range->end && range->end <= all.size()) {
            co_return all.slice(rng_.below(all.size() - size + 1), size);
        }
    }
    Result<Bytes> bytes = co_await inner_.get(name, range);
    if (!bytes.ok()) {
        co_return bytes;
    }
    if (hit(Fault::lose_answer, faults.lose_answer)) {
        co_return unavailable("injected: the answer to the get of '{}' was lost", name);
    }
    if (hit(Fault::short_body, faults.short_body)) {
        co_return unavailable("injected: the body of '{}' ended early", name);
    }
    if (!range.has_value() && hit(Fault::decayed, faults.decayed)) {
        co_return corrupt("injected: the checksum of '{}' does not match", name);
    }
    if (range.has_value() && !bytes->empty() && hit(Fault::flipped_bit, faults.flipped_bit)) {
        std::vector<std::byte> copy(bytes->begin(), bytes->end());
        copy[rng_.below(copy.size())] ^= std::byte(1U << rng_.below(8));
        co_return Bytes::own(std::move(copy));
    }
    co_return bytes;
}

bool FaultyStore::hidden(const std::string& name, MonoTime now) {
    const auto found = visible_at_.find(name);
    if (found == visible_at_.end()) {
        return false;
    }
    if (healed_ || found->second <= now) {
        visible_at_.erase(found);
        return false;
    }
    ++counts_[static_cast<std::size_t>(Fault::not_yet_visible)];
    return true;
}

rt::Task<Result<ObjectInfo>> FaultyStore::head(std::string name) {
    const FaultRates& faults = rates(Operation::head, name);
    co_await delay(faults);
    LKS_CO_TRY(before(faults));
    if (hidden(name, late_.executor().now())) {
        co_return not_found("object '{}'", name);
    }
    Result<ObjectInfo> result = co_await inner_.head(name);
    if (hit(Fault::lose_answer, faults.lose_answer)) {
        co_return unavailable("injected: the answer to the head of '{}' was lost", name);
    }
    co_return result;
}

rt::Task<Result<ListPage>> FaultyStore::list(
    std::string prefix, std::string after, std::uint32_t limit
) {
    const FaultRates& faults = rates(Operation::list, prefix);
    co_await delay(faults);
    LKS_CO_TRY(before(faults));
    Result<ListPage> result = co_await inner_.list(prefix, std::move(after), limit);
    if (hit(Fault::lose_answer, faults.lose_answer)) {
        co_return unavailable("injected: the answer to the list of '{}' was lost", prefix);
    }
    co_return result;
}

rt::Task<std::vector<Status>> FaultyStore::remove(std::vector<std::string> names) {
    const FaultRates& faults = rates(Operation::remove, names.empty() ? "" : names.front());
    co_await delay(faults);
    if (Status failed = before(faults); !failed.ok()) {
        co_return std::vector<Status>(names.size(), failed);
    }
    if (hit(Fault::apply_late, faults.apply_late)) {
        const std::size_t count = names.size();
        late_.spawn(remove_late(std::move(names)));
        co_return std::vector<Status>(count, answer_lost("remove", "some objects"));
    }
    std::vector<Status> results = co_await inner_.remove(std::move(names));
    if (hit(Fault::lose_answer, faults.lose_answer)) {
        std::ranges::fill(results, Status(answer_lost("remove", "some objects")));
    }
    co_return results;
}

rt::Task<void> FaultyStore::remove_late(std::vector<std::string> names) {
    co_await rt::sleep_until(late_.executor().now() + random(options_.late_max));
    static_cast<void>(co_await inner_.remove(std::move(names)));
}

rt::Task<void> FaultyStore::close() {
    co_await late_.close();
}

}  // namespace lakestream::objstore
