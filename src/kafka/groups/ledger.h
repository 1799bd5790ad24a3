// SPDX-License-Identifier: Apache-2.0
// Ledger: the committed offsets of one group as one coordinator knows them, and the batches that
// change them. Pure: batches go out, answers come in (docs/protocols/groups.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kafka/groups/keys.h"
#include "kafka/groups/record.h"
#include "meta/metadata_store.h"

namespace lakestream::kafka::groups {

/// What a batch is to make true. No value: the offset is removed.
struct Changes {
    std::map<OffsetKey, std::optional<Committed>> offsets;
    std::optional<GroupRecord> record;

    bool empty() const noexcept { return offsets.empty() && !record.has_value(); }
};

/// Which of several keys a purge may take.
enum class Purge : std::uint8_t { what_was_removed, the_epoch_too };

/// Belongs to one epoch. Offsets change only when a batch is settled, so what is read is always
/// acknowledged by the store.
class Ledger {
  public:
    /// `identity`: of the put that began the epoch, at `begun`, which is the last of `epochs`.
    Ledger(std::string group_key, std::string identity, Epochs epochs, meta::VersionId begun)
        : group_key_(std::move(group_key)),
          identity_(std::move(identity)),
          epochs_(std::move(epochs)),
          epoch_(epochs_.begun.back()),
          epoch_version_(begun) {}

    std::uint64_t epoch() const noexcept { return epoch_; }
    /// Whoever finds it at the epoch's key knows that nobody else has begun one.
    const std::string& identity() const noexcept { return identity_; }
    const std::string& group_key() const noexcept { return group_key_; }
    /// Whether a record of the group is stored and says that it lives.
    bool exists() const noexcept { return record_version_.has_value() && record_lives_; }
    /// Offsets that count.
    std::size_t size() const noexcept { return live_; }
    /// Memory of its offsets, and by how much these changes would make it grow.
    std::size_t bytes() const noexcept { return bytes_; }
    std::size_t growth(const std::map<OffsetKey, std::optional<Committed>>& offsets) const;
    /// How many of them would be new.
    std::size_t added(const std::map<OffsetKey, std::optional<Committed>>& offsets) const;
    std::optional<Committed> find(const std::string& topic, std::int32_t partition) const;
    /// `visit(topic, partition, committed)`, by topic and partition.
    template <class Visit>
    void each(Visit&& visit) const {
        for (const auto& [topic, partitions] : topics_) {
            for (const auto& [partition, entry] : partitions) {
                if (entry.current.has_value()) {
                    visit(topic, partition, *entry.current);
                }
            }
        }
    }

    // Loading: what was found, and what of it counts.
    enum class Found : std::uint8_t { counts, is_void };
    void load_offset(
        OffsetKey key, std::optional<Committed> current, meta::VersionId version, Found found
    );
    void load_record(GroupRecord::Life life, meta::VersionId version, Found found);
    void load_old_epoch(std::string key, meta::VersionId version);

    /// Offsets below void records, to be written again: when there are none, earlier epochs are
    /// forgotten with the next batch.
    std::map<OffsetKey, std::optional<Committed>> covered() const;
    /// Whether so many are remembered that an empty batch is worth it.
    bool has_long_memory() const noexcept;

    /// One batch: puts that expect the versions last seen, the epoch's own the last of them.
    meta::ShardBatch build(const Changes& changes) const;

    enum class Verdict : std::uint8_t {
        done,    // acknowledged
        fenced,  // another epoch has begun: nothing counts
        again,   // keys named by `stale` were written by somebody before us: look, `learn`, repeat
    };
    /// The answer to `build(changes)`. Precondition: nothing else was built in between.
    Verdict settle(const Changes& changes, const meta::ShardBatchDone& done);
    /// Keys refused by the last `settle`.
    const std::vector<std::string>& stale() const noexcept { return stale_; }
    /// The version of one of them now; none: it is absent.
    void learn(const std::string& key, std::optional<meta::VersionId> version);

    /// Whether removed records are still stored.
    bool has_remains() const noexcept {
        return removed_ > 0 || (record_version_.has_value() && !record_lives_) ||
               !old_epochs_.empty();
    }
    /// Whether nothing that is stored counts.
    bool is_over() const noexcept { return live_ == 0 && !exists(); }
    /// Deletes up to `count` of them, each at its version: they count for nobody, or count for
    /// everybody and mean nothing. With the last of a group that is over goes its epoch, if it may.
    meta::ShardBatch build_purge(std::size_t count, Purge purge);
    /// Whether that is the end of the epoch, and of this ledger.
    bool is_ending() const noexcept { return purging_epoch_; }
    /// Whether anything is gone that was not before.
    bool settle_purge(const meta::ShardBatchDone& done);

  private:
    struct Entry {
        std::optional<Committed> current;  // none: removed
        std::optional<meta::VersionId> version;
        Found found = Found::counts;
    };

    static std::size_t bytes_of(const OffsetKey& key, const std::optional<Committed>& offset);
    void put(
        const OffsetKey& key,
        std::optional<Committed> to,
        meta::VersionId version,
        Found found = Found::counts
    );
    void forget(const Entry* before, const OffsetKey& key);
    Epochs epochs_to_keep() const;
    const Entry* entry(const OffsetKey& key) const;
    void erase(const OffsetKey& key);

    std::string group_key_;
    std::string identity_;
    Epochs epochs_;  // as stored
    std::uint64_t epoch_;
    meta::VersionId epoch_version_;
    std::map<std::string, std::map<std::int32_t, Entry>> topics_;
    std::optional<meta::VersionId> record_version_;  // none: not stored
    bool record_lives_ = false;
    Found record_found_ = Found::counts;
    std::vector<std::pair<std::string, meta::VersionId>> old_epochs_;
    std::size_t live_ = 0;
    std::size_t removed_ = 0;  // offsets still stored
    std::size_t void_ = 0;     // offsets whose record does not count
    std::size_t bytes_ = 0;
    std::vector<std::string> stale_;
    std::vector<OffsetKey> purging_;
    bool purging_record_ = false;
    bool purging_epoch_ = false;
};

}  // namespace lakestream::kafka::groups
