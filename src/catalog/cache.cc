// SPDX-License-Identifier: Apache-2.0
// The cache of streams.
#include "catalog/cache.h"

#include <algorithm>

namespace lakestream::catalog {

namespace {

constexpr std::size_t changes_max = 100'000;  // remembered; beyond, everything is read again

}  // namespace

StreamPtr StreamCache::find(const StreamName& name) const {
    const std::scoped_lock lock(mutex_);
    const auto found = streams_.find(name);
    return found == streams_.end() ? nullptr : found->second.stream;
}

StreamPtr StreamCache::find(const Incarnation& incarnation) const {
    const std::scoped_lock lock(mutex_);
    const auto found = by_incarnation_.find(incarnation);
    return found == by_incarnation_.end() ? nullptr : streams_.at(found->second).stream;
}

StreamPtr StreamCache::find(const StreamName& name, meta::VersionId version) const {
    const std::scoped_lock lock(mutex_);
    const auto found = streams_.find(name);
    return found == streams_.end() || found->second.version != version ? nullptr
                                                                       : found->second.stream;
}

bool StreamCache::listed_since(const std::string& ns, MonoTime since) const {
    const std::scoped_lock lock(mutex_);
    const auto listed = listed_.find(ns);
    return listed != listed_.end() && listed->second >= since;
}

std::optional<std::vector<StreamPtr>> StreamCache::list(const std::string& ns, MonoTime since)
    const {
    const std::scoped_lock lock(mutex_);
    const auto listed = listed_.find(ns);
    const auto stale = stale_.lower_bound({ns, ""});
    if (listed == listed_.end() || listed->second < since ||
        (stale != stale_.end() && stale->ns == ns)) {
        return std::nullopt;
    }
    std::vector<StreamPtr> out;
    for (auto each = streams_.lower_bound({ns, ""}); each != streams_.end() && each->first.ns == ns;
         ++each) {
        out.push_back(each->second.stream);
    }
    return out;
}

std::vector<StreamName> StreamCache::stale(const std::string& ns) const {
    const std::scoped_lock lock(mutex_);
    std::vector<StreamName> out;
    if (listed_.contains(ns)) {
        for (auto each = stale_.lower_bound({ns, ""}); each != stale_.end() && each->ns == ns;
             ++each) {
            out.push_back(*each);
        }
    }
    return out;
}

StreamCache::Ticket StreamCache::begin_load() const {
    const std::scoped_lock lock(mutex_);
    return last_change_;
}

bool StreamCache::outdated(
    Ticket ticket, const StreamName& name, std::optional<meta::VersionId> version
) const {
    if (ticket < cleared_) {
        return true;
    }
    const auto found = changed_.find(name);
    if (found == changed_.end() || found->second.when <= ticket) {
        return false;
    }
    return !version || !found->second.version || *version < *found->second.version;
}

void StreamCache::loaded(Ticket ticket, const VersionedStream& stream) {
    const std::scoped_lock lock(mutex_);
    if (!outdated(ticket, stream.stream->name, stream.version)) {
        insert(stream);
    }
}

void StreamCache::loaded_absent(Ticket ticket, const StreamName& name) {
    const std::scoped_lock lock(mutex_);
    if (!outdated(ticket, name, std::nullopt)) {
        erase(name);
    }
}

void StreamCache::listed(
    Ticket ticket, const Listing& listing, const std::vector<VersionedStream>& streams
) {
    const std::scoped_lock lock(mutex_);
    if (ticket < cleared_) {
        return;
    }
    for (const VersionedStream& each : streams) {
        if (!outdated(ticket, each.stream->name, each.version)) {
            insert(each);
        }
    }
    const std::string& ns = listing.ns;
    MonoTime& last = listed_.try_emplace(ns, listing.when).first->second;
    last = std::max(last, listing.when);
    for (const auto& [name, change] : changed_) {
        if (name.ns == ns && change.when > ticket && !streams_.contains(name)) {
            stale_.insert(name);
        }
    }
}

void StreamCache::changed(const StreamName& name, std::optional<meta::VersionId> version) {
    const std::scoped_lock lock(mutex_);
    ++last_change_;
    if (changed_.size() >= changes_max) {
        changed_.clear();
        cleared_ = last_change_;
    }
    changed_[name] = {last_change_, version};
    const auto found = streams_.find(name);
    if (found != streams_.end() && version.has_value() && *version <= found->second.version) {
        return;  // the change that made what we know
    }
    erase(name);
    if (listed_.contains(name.ns)) {
        stale_.insert(name);
    }
}

void StreamCache::clear() {
    const std::scoped_lock lock(mutex_);
    streams_.clear();
    by_incarnation_.clear();
    listed_.clear();
    stale_.clear();
    changed_.clear();
    cleared_ = ++last_change_;
}

void StreamCache::insert(const VersionedStream& stream) {
    const auto found = streams_.find(stream.stream->name);
    if (found != streams_.end() && found->second.version > stream.version) {
        return;
    }
    erase(stream.stream->name);
    streams_[stream.stream->name] = stream;
    if (stream.stream->incarnation != Incarnation{}) {
        by_incarnation_[stream.stream->incarnation] = stream.stream->name;
    }
}

void StreamCache::erase(const StreamName& name) {
    stale_.erase(name);
    if (const auto found = streams_.find(name); found != streams_.end()) {
        by_incarnation_.erase(found->second.stream->incarnation);
        streams_.erase(found);
    }
}

}  // namespace lakestream::catalog
