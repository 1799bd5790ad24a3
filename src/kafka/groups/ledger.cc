// SPDX-License-Identifier: Apache-2.0
// Batches of changes to a group's records, and what their answers mean.
#include "kafka/groups/ledger.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace lakestream::kafka::groups {

namespace {

meta::Expect expect(const std::optional<meta::VersionId>& version) {
    return version.has_value() ? meta::Expect::at(*version) : meta::Expect::absent();
}

constexpr std::size_t entry_bytes = 208;        // of an offset in memory, but for its texts
constexpr std::size_t epochs_max = 8;           // remembered without need
constexpr std::size_t old_epochs_max = 10'000;  // of one load; the next one goes on

}  // namespace

std::size_t Ledger::bytes_of(const OffsetKey& key, const std::optional<Committed>& offset) {
    return entry_bytes + key.topic.size() + (offset.has_value() ? offset->metadata.size() : 0);
}

std::size_t Ledger::growth(const std::map<OffsetKey, std::optional<Committed>>& offsets) const {
    std::size_t grown = 0;
    for (const auto& [key, to] : offsets) {
        const Entry* const before = entry(key);
        const std::size_t had = before != nullptr ? bytes_of(key, before->current) : 0;
        grown += std::max(bytes_of(key, to), had) - had;
    }
    return grown;
}

std::size_t Ledger::added(const std::map<OffsetKey, std::optional<Committed>>& offsets) const {
    return static_cast<std::size_t>(std::ranges::count_if(offsets, [&](const auto& offset) {
        const Entry* const before = entry(offset.first);
        return offset.second.has_value() && (before == nullptr || !before->current.has_value());
    }));
}

std::optional<Committed> Ledger::find(const std::string& topic, std::int32_t partition) const {
    const auto partitions = topics_.find(topic);
    if (partitions == topics_.end()) {
        return std::nullopt;
    }
    const auto found = partitions->second.find(partition);
    return found != partitions->second.end() ? found->second.current : std::nullopt;
}

const Ledger::Entry* Ledger::entry(const OffsetKey& key) const {
    const auto partitions = topics_.find(key.topic);
    if (partitions == topics_.end()) {
        return nullptr;
    }
    const auto found = partitions->second.find(key.partition);
    return found != partitions->second.end() ? &found->second : nullptr;
}

void Ledger::forget(const Entry* before, const OffsetKey& key) {
    if (before != nullptr) {
        --(before->current.has_value() ? live_ : removed_);
        void_ -= before->found == Found::is_void ? 1 : 0;
        bytes_ -= bytes_of(key, before->current);
    }
}

void Ledger::erase(const OffsetKey& key) {
    const auto partitions = topics_.find(key.topic);
    forget(&partitions->second.at(key.partition), key);
    partitions->second.erase(key.partition);
    if (partitions->second.empty()) {
        topics_.erase(partitions);
    }
}

void Ledger::put(
    const OffsetKey& key, std::optional<Committed> to, meta::VersionId version, Found found
) {
    forget(entry(key), key);
    bytes_ += bytes_of(key, to);
    ++(to.has_value() ? live_ : removed_);
    void_ += found == Found::is_void ? 1 : 0;
    topics_[key.topic][key.partition] = {
        .current = std::move(to), .version = version, .found = found
    };
}

void Ledger::load_offset(
    OffsetKey key, std::optional<Committed> current, meta::VersionId version, Found found
) {
    put(key, std::move(current), version, found);
}

void Ledger::load_record(GroupRecord::Life life, meta::VersionId version, Found found) {
    record_lives_ = life == GroupRecord::Life::lives;
    record_version_ = version;
    record_found_ = found;
}

void Ledger::load_old_epoch(std::string key, meta::VersionId version) {
    if (old_epochs_.size() < old_epochs_max) {
        old_epochs_.emplace_back(std::move(key), version);
    }
}

std::map<OffsetKey, std::optional<Committed>> Ledger::covered() const {
    std::map<OffsetKey, std::optional<Committed>> offsets;
    if (void_ == 0) {
        return offsets;
    }
    for (const auto& [topic, partitions] : topics_) {
        for (const auto& [partition, entry] : partitions) {
            if (entry.current.has_value() && entry.found == Found::is_void) {
                offsets.emplace(OffsetKey{topic, partition}, entry.current);
            }
        }
    }
    return offsets;
}

bool Ledger::has_long_memory() const noexcept {
    return epochs_.begun.size() > epochs_max;
}

/// What other coordinators wrote before us counts or has been written again; what they write from
/// now on is void by our own epoch.
Epochs Ledger::epochs_to_keep() const {
    Epochs kept = epochs_;
    if (void_ == 0 && record_found_ == Found::counts) {
        kept.begun = {epoch_};
    }
    return kept;
}

meta::ShardBatch Ledger::build(const Changes& changes) const {
    meta::ShardBatch batch;
    for (const auto& [key, to] : changes.offsets) {
        const Entry* const now = entry(key);
        batch.puts.push_back({
            .key = keys::offset(group_key_, key),
            .value = encode(OffsetRecord{
                .epoch = epoch_,
                .current = to,
                .previous = now != nullptr ? now->current : std::nullopt,
            }),
            .expect = expect(now != nullptr ? now->version : std::nullopt),
            .partition_key = group_key_,
        });
    }
    if (changes.record.has_value()) {
        GroupRecord record = *changes.record;
        record.epoch = epoch_;
        batch.puts.push_back({
            .key = group_key_,
            .value = encode(record),
            .expect = expect(record_version_),
            .partition_key = group_key_,
        });
    }
    batch.puts.push_back({
        .key = keys::epoch(group_key_),
        .value = encode(epochs_to_keep()),
        .expect = meta::Expect::at(epoch_version_),
        .partition_key = group_key_,
        .identity = identity_,
    });
    return batch;
}

Ledger::Verdict Ledger::settle(const Changes& changes, const meta::ShardBatchDone& done) {
    LKS_ASSERT(!done.puts.empty());
    stale_.clear();
    if (!done.puts.back().ok()) {
        return Verdict::fenced;
    }
    epoch_version_ = done.puts.back()->version.id;
    epochs_ = epochs_to_keep();  // as it was when the batch was built
    auto answer = done.puts.begin();
    for (const auto& [key, to] : changes.offsets) {
        if (answer->ok()) {
            put(key, to, (*answer)->version.id);
        } else {
            stale_.push_back(keys::offset(group_key_, key));
        }
        ++answer;
    }
    if (changes.record.has_value()) {
        if (answer->ok()) {
            load_record(changes.record->life, (*answer)->version.id, Found::counts);
        } else {
            stale_.push_back(group_key_);
        }
    }
    return stale_.empty() ? Verdict::done : Verdict::again;
}

void Ledger::learn(const std::string& key, std::optional<meta::VersionId> version) {
    if (key == group_key_) {
        record_version_ = version;
        record_lives_ = record_lives_ && version.has_value();
        return;
    }
    const auto offset = keys::offset_of(group_key_, key);
    LKS_ASSERT(offset.has_value());
    if (entry(*offset) != nullptr) {
        topics_[offset->topic][offset->partition].version = version;
    } else if (version.has_value()) {
        put(*offset, std::nullopt, *version);
    }
}

meta::ShardBatch Ledger::build_purge(std::size_t count, Purge purge) {
    purging_.clear();
    meta::ShardBatch batch;
    for (const auto& [topic, partitions] : topics_) {
        for (const auto& [partition, entry] : partitions) {
            if (entry.current.has_value() || batch.deletes.size() == count) {
                continue;
            }
            purging_.push_back({topic, partition});
            batch.deletes.push_back({
                .key = keys::offset(group_key_, purging_.back()),
                .expect = expect(entry.version),
            });
        }
    }
    for (const auto& [key, version] : old_epochs_) {
        batch.deletes.push_back({.key = key, .expect = meta::Expect::at(version)});
    }
    // Last, so that what a crash leaves is found by the group's record.
    const bool is_rest = is_over() && purging_.size() == removed_ && batch.deletes.size() < count;
    purging_record_ = is_rest && record_version_.has_value();
    if (purging_record_) {
        batch.deletes.push_back({.key = group_key_, .expect = expect(record_version_)});
    }
    purging_epoch_ = is_rest && purge == Purge::the_epoch_too;
    if (purging_epoch_) {
        batch.deletes.push_back({
            .key = keys::epoch(group_key_),
            .expect = meta::Expect::at(epoch_version_),
        });
    }
    return batch;
}

bool Ledger::settle_purge(const meta::ShardBatchDone& done) {
    bool progress = false;
    const auto is_gone = [](const Status& status) {
        return status.ok() || status.is(ErrorCode::not_found);
    };
    for (std::size_t i = 0; i < purging_.size(); ++i) {
        // Refused: somebody wrote it since; the next load says what it means.
        if (is_gone(done.deletes[i])) {
            progress = true;
            erase(purging_[i]);
        }
    }
    const std::size_t record = purging_.size() + old_epochs_.size();
    progress = progress || !old_epochs_.empty();
    old_epochs_.clear();
    if (purging_record_ && is_gone(done.deletes[record])) {
        progress = true;
        record_version_.reset();
        record_found_ = Found::counts;
    }
    purging_.clear();
    return progress;
}

}  // namespace lakestream::kafka::groups
