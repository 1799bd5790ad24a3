// SPDX-License-Identifier: Apache-2.0
// Which WAL objects are free, and deleting them.
#include "clean/wal_pass.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/log.h"
#include "log/fold.h"
#include "wal/object_format.h"
#include "wal/object_name.h"

namespace lakestream::clean {

namespace {

constexpr std::uint64_t header_guess = 16 << 10;
/// Of objects' logs that are remembered; then they are read again.
constexpr std::size_t ids_max = 4'000'000;

}  // namespace

rt::Task<Status> WalCleaner::pass(References& references, PassTime time) {
    if (at_begin()) {
        round_ = {};
    }
    room_.begin_pass();
    ++pass_;
    std::vector<objstore::ObjectInfo> ripe;
    Status done = co_await look_at_stretch(references, time, ripe);
    if (done.ok() && at_begin()) {
        room_.end_round();
        tell_pinned();
    }
    // After an error too: an object that can never be read shall not keep those before it.
    if (!ripe.empty()) {
        // An index block has no checksum: were it damaged, it would name the wrong logs.
        LKS_CO_TRY(co_await references.keep_unreferenced(ripe));
    }
    Status removed = co_await remove(std::move(ripe));
    co_return done.ok() ? removed : done;
}

rt::Task<Status> WalCleaner::look_at_stretch(
    References& references, PassTime time, std::vector<objstore::ObjectInfo>& ripe
) {
    std::size_t looked = 0;
    for (bool more = true; more && looked < settings_.objects_per_pass;) {
        const std::size_t left = settings_.objects_per_pass - looked;
        const auto limit = std::min<std::size_t>(left, objstore::list_limit_max);
        const auto page =
            LKS_CO_TRY(co_await objects_.list("", after_, static_cast<std::uint32_t>(limit)));
        for (const objstore::ObjectInfo& object : page.objects) {
            after_ = object.name;
            if (wal::object_date(object.name).has_value()) {
                ++looked;
                LKS_CO_TRY(co_await look_at(object, references, time, ripe));
            }
        }
        more = page.more && !page.objects.empty();
        if (!more) {
            after_.clear();
        }
    }
    co_return Status();
}

/// Adds the object to those that may go, or notes when to look again.
rt::Task<Status> WalCleaner::look_at(
    const objstore::ObjectInfo& object,
    References& references,
    PassTime time,
    std::vector<objstore::ObjectInfo>& ripe
) {
    const WallTime date = *wal::object_date(object.name);
    const Duration age = time.metadata - date;
    // Younger ones cannot be free under any rule of age.
    const Duration youth = std::min<Duration>(settings_.unreferenced_age, log::publish_window);
    if (!time.settled && age <= youth) {
        look_again(date, youth);
    } else if (LKS_CO_TRY(co_await is_free(object, references, time))) {
        if (room_.found_free(object.name, time.now)) {
            ripe.push_back(object);
        }
    } else {
        room_.forget(object.name);
        if (!time.settled && age <= settings_.unreferenced_age) {
            look_again(date, settings_.unreferenced_age);
        }
    }
    co_return Status();
}

void WalCleaner::look_again(WallTime date, Duration age) {
    const WallTime when = date + std::chrono::ceil<WallTime::duration>(age);
    round_.next = std::min(round_.next.value_or(when), when);
}

/// Whether no log needs the object, now or later.
rt::Task<Result<bool>> WalCleaner::is_free(
    const objstore::ObjectInfo& object, References& references, PassTime time
) {
    const Known* const content = LKS_CO_TRY(co_await open(object));
    if (content == nullptr) {
        co_return false;  // damaged: whoever reads it shall hear of it
    }
    const WallTime date = *wal::object_date(object.name);
    const bool sure =
        time.metadata - date > settings_.unreferenced_age || is_settled(*content, time);
    bool free = sure || !content->logs.empty();
    bool needed = false;
    for (const LogId log : content->logs) {
        const LogReferences* const known = co_await references.of(log);
        if (known != nullptr && known->deleted) {
            continue;
        }
        const bool referred = known == nullptr || known->refers_to(object.name);
        const bool passed = known != nullptr && known->reached.has_value() &&
                            *known->reached > date + log::publish_window;
        if (referred) {
            round_.pinned_by_log[log] += object.size;
            needed = true;
        }
        free = free && !referred && (passed || sure);
    }
    round_.unsettled = round_.unsettled || (!free && !needed && time.settled);
    if (!free && time.metadata - date > 2 * settings_.interval) {
        round_.pinned_bytes += object.size;
    }
    co_return free;
}

/// An earlier pass saw it, so it was begun before this one, which has loaded its references since.
bool WalCleaner::is_settled(const Known& known, PassTime time) const {
    return time.settled && known.pass < pass_;
}

void WalCleaner::forget(const std::string& name) {
    if (const auto known = known_.find(name); known != known_.end()) {
        ids_ -= known->second.logs.size() + 1;
        known_.erase(known);
    }
}

/// Null when its index block cannot be read.
rt::Task<Result<const WalCleaner::Known*>> WalCleaner::open(const objstore::ObjectInfo& object) {
    if (const auto known = known_.find(object.name); known != known_.end()) {
        co_return &known->second;
    }
    std::uint64_t bytes = std::min(object.size, header_guess);
    std::optional<wal::ObjectHeader> header;
    for (int i = 0; i < 2 && !header.has_value(); ++i) {
        const auto begin = co_await objects_.get(object.name, objstore::ByteRange{0, bytes});
        if (begin.is(ErrorCode::not_found) || begin.is(ErrorCode::out_of_range) ||
            begin.is(ErrorCode::corrupt)) {
            co_return nullptr;
        }
        const Bytes read = LKS_CO_TRY(begin);
        const auto needed = wal::header_bytes_needed(read.span());
        if (!needed.ok() || *needed > object.size) {
            break;
        }
        if (*needed > read.size()) {
            bytes = *needed;
            continue;
        }
        auto parsed = wal::ObjectHeader::parse(read.span());
        if (parsed.ok()) {
            header = std::move(*parsed);
        }
        break;
    }
    if (!header.has_value()) {
        log::warn("clean", "object_unreadable object={}", object.name);
        co_return nullptr;
    }
    Known known{.logs = {}, .pass = pass_};
    for (const wal::Section& section : header->sections()) {
        known.logs.push_back(section.log);
    }
    if (ids_ + known.logs.size() > ids_max) {
        known_.clear();
        ids_ = 0;
    }
    ids_ += known.logs.size() + 1;
    co_return &known_.emplace(object.name, std::move(known)).first->second;
}

rt::Task<Status> WalCleaner::remove(std::vector<objstore::ObjectInfo> ripe) {
    Status done;
    for (std::size_t at = 0; at < ripe.size(); at += objstore::remove_names_max) {
        const std::size_t end = std::min(ripe.size(), at + objstore::remove_names_max);
        std::vector<std::string> names;
        for (std::size_t i = at; i < end; ++i) {
            names.push_back(ripe[i].name);
        }
        const auto removed = co_await objects_.remove(std::move(names));
        for (std::size_t i = at; i < end; ++i) {
            if (!removed[i - at].ok()) {
                done = done.ok() ? removed[i - at] : done;  // it is found again
                continue;
            }
            metrics_.wal_objects.add();
            metrics_.wal_bytes.add(ripe[i].size);
            room_.forget(ripe[i].name);
            forget(ripe[i].name);
        }
    }
    co_return done;
}

void WalCleaner::tell_pinned() {
    const auto most = std::ranges::max_element(round_.pinned_by_log, {}, [](const auto& each) {
        return each.second;
    });
    const bool any = most != round_.pinned_by_log.end() && round_.pinned_bytes > 0;
    metrics_.pinned_bytes.set(static_cast<std::int64_t>(round_.pinned_bytes));
    metrics_.pinned_log.set(any ? most->first.v : -1);
}

}  // namespace lakestream::clean
