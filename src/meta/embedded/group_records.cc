// SPDX-License-Identifier: Apache-2.0
// Reading through a group's own changes.
#include "meta/embedded/group_records.h"

#include <array>
#include <iterator>
#include <utility>
#include <vector>

#include "meta/embedded/rows.h"
#include "meta/key_order.h"

namespace lakestream::meta::embedded {

namespace {

rocksdb::Slice slice(std::string_view text) {
    return {text.data(), text.size()};
}

rocksdb::Slice slice(const Bytes& bytes) {
    return slice(bytes.view());
}

}  // namespace

void GroupRecords::fail(Error error) {
    if (status_.ok()) {
        status_ = std::move(error);
    }
}

// One iterator for the group: only this group's thread writes, so it stays true until the commit.
rocksdb::Iterator& GroupRecords::base() {
    if (base_ == nullptr) {
        base_ = database_.iterate(rocksdb::ReadOptions());
    }
    return *base_;
}

std::optional<RecordHead> GroupRecords::head(std::string_view key) {
    if (const auto changed = changed_.find(key); changed != changed_.end()) {
        return changed->second;
    }
    rocksdb::DB& db = database_.db();
    rocksdb::PinnableSlice value;
    const rocksdb::Status found =
        db.Get(rocksdb::ReadOptions(), db.DefaultColumnFamily(), record_row(key), &value);
    if (found.IsNotFound()) {
        return std::nullopt;
    }
    if (!found.ok()) {
        fail(database_.error(found));
        return std::nullopt;
    }
    auto head = decode_record_head(value.ToStringView());
    if (!head.ok()) {
        fail(database_.error(std::move(head).error()));
        return std::nullopt;
    }
    return *head;
}

std::optional<std::string> GroupRecords::last_below(std::string_view key) {
    auto above = changed_.lower_bound(key);
    while (above != changed_.begin() && !std::prev(above)->second.has_value()) {
        --above;
    }
    std::optional<std::string> best;
    if (above != changed_.begin()) {
        best = std::prev(above)->first;
    }
    const std::string row = record_row(key);
    rocksdb::Iterator& at = base();
    at.SeekForPrev(row);
    if (at.Valid() && at.key() == slice(row)) {
        at.Prev();
    }
    for (; at.Valid() && at.key().starts_with(slice(std::string_view(&record_tag, 1))); at.Prev()) {
        const std::string_view candidate = at.key().ToStringView().substr(1);
        if (best.has_value() && candidate <= *best) {
            break;
        }
        if (!changed_.contains(candidate)) {  // else deleted: a live one would be `best`
            best = candidate;
            break;
        }
    }
    if (!at.status().ok()) {
        fail(database_.error(at.status()));
    } else if (best.has_value() && !decode_key(key_order, *best).ok()) {
        fail(database_.error(corrupt("a record without a key")));
        return std::nullopt;
    }
    return best;
}

void GroupRecords::put(std::string key, StoredRecord record) {
    const Bytes header = encode_record_header(record);
    const std::array<rocksdb::Slice, 2> row{slice(std::string_view(&record_tag, 1)), slice(key)};
    const std::array<rocksdb::Slice, 2> value{slice(header), slice(record.value)};
    batch_.Put(
        rocksdb::SliceParts(row.data(), static_cast<int>(row.size())),
        rocksdb::SliceParts(value.data(), static_cast<int>(value.size()))
    );
    changed_.insert_or_assign(
        std::move(key),
        RecordHead{
            .id = record.version.id,
            .modifications = record.version.modifications,
            .created = record.version.created,
            .session = record.version.session,
        }
    );
}

void GroupRecords::erase(std::string_view key) {
    batch_.Delete(record_row(key));
    changed_.insert_or_assign(std::string(key), std::nullopt);
}

// The live keys of the range, at most one more than is deleted singly.
void GroupRecords::collect(
    std::string_view begin, std::string_view end, std::vector<std::string>& keys
) {
    const std::string end_row = record_row(end);
    rocksdb::Iterator& at = base();
    for (at.Seek(record_row(begin));
         at.Valid() && at.key().compare(slice(end_row)) < 0 && keys.size() <= single_deletes_max;
         at.Next()) {
        const std::string_view key = at.key().ToStringView().substr(1);
        if (!changed_.contains(key)) {
            keys.emplace_back(key);
        }
    }
    if (!at.status().ok()) {
        fail(database_.error(at.status()));
    }
    for (auto changed = changed_.lower_bound(begin);
         changed != changed_.end() && changed->first < end && keys.size() <= single_deletes_max;
         ++changed) {
        if (changed->second.has_value()) {
            keys.push_back(changed->first);
        }
    }
}

void GroupRecords::erase_range(std::string_view begin, std::string_view end) {
    std::vector<std::string> keys;
    collect(begin, end, keys);
    if (keys.size() <= single_deletes_max) {
        for (const std::string& key : keys) {
            erase(key);
        }
        return;
    }
    batch_.DeleteRange(record_row(begin), record_row(end));
    sealed_ = true;
}

void GroupRecords::put_session(SessionId id, const Session& session) {
    batch_.Put(session_row(id), slice(encode_session(session)));
}

void GroupRecords::erase_session(SessionId id) {
    batch_.Delete(session_row(id));
}

void GroupRecords::link(SessionId session, std::string_view key) {
    batch_.Put(link_row(session, key), rocksdb::Slice());
}

void GroupRecords::unlink(SessionId session, std::string_view key) {
    batch_.Delete(link_row(session, key));
}

rocksdb::WriteBatch& GroupRecords::finish(ShardCounters counters) {
    batch_.Put(std::string(1, counters_tag), slice(encode_counters(counters)));
    return batch_;
}

}  // namespace lakestream::meta::embedded
