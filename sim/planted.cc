// SPDX-License-Identifier: Apache-2.0
// How each planted bug breaks its promise.
#include "sim/planted.h"

#include <utility>

#include "index/key.h"
#include "log/fold.h"

namespace lakestream::sim {

namespace {

constexpr std::string_view groups_prefix = "/lks/group/";
constexpr std::string_view offset_infix = "/c:";
constexpr std::string_view epoch_suffix = "/epoch";

template <class Recent>
void forget_durable(Recent& recent, MonoTime now, auto when) {
    while (!recent.empty() && when(recent.front()) + not_yet_durable < now) {
        recent.pop_front();
    }
}

}  // namespace

std::vector<PlantedName> planted_bugs() {
    return {
        {Planted::object_lost_at_crash, "object-lost-at-crash", "crash", 10},
        {Planted::index_lost_at_crash, "index-lost-at-crash", "crash", 10},
        {Planted::writer_renumbered, "writer-renumbered", "stores", 10},
        {Planted::removes_more, "removes-more", "cleaning", 10},
        {Planted::position_lags, "position-lags", "tables", 10},
        {Planted::zombies_commit, "zombies-commit", "groups", 10},
        {Planted::commit_lost_at_crash, "commit-lost-at-crash", "groups", 20},
    };
}

rt::Task<Status> LossyObjects::put(std::string name, Slices body, objstore::IfExists if_exists) {
    const Status stored = co_await inner_.put(name, std::move(body), if_exists);
    if (planted_ == Planted::object_lost_at_crash && stored.ok()) {
        recent_.emplace_back(clock_.mono_now(), name);
    }
    if (planted_ == Planted::position_lags && stored.ok() && name.ends_with(".metadata.json")) {
        table_version_ = std::move(name);
    }
    co_return stored;
}

rt::Task<std::vector<Status>> LossyObjects::remove(std::vector<std::string> names) {
    if (planted_ == Planted::removes_more && !names.empty()) {
        const auto next = bucket_.list("", names.back(), 1);
        if (next.ok() && !next->objects.empty()) {
            static_cast<void>(bucket_.remove(next->objects.front().name));
        }
    }
    co_return co_await inner_.remove(std::move(names));
}

void LossyObjects::crash() {
    forget_durable(recent_, clock_.mono_now(), [](const auto& each) { return each.first; });
    for (const auto& [when, name] : recent_) {
        static_cast<void>(bucket_.remove(name));
    }
    recent_.clear();
    set_position_back();
}

/// The last position in the file becomes the one before it; the rows stay.
void LossyObjects::set_position_back() {
    constexpr std::string_view key = R"("lakestream.position":")";
    const auto body = bucket_.get(table_version_, std::nullopt);
    if (!body.ok()) {
        return;
    }
    std::string text(body->view());
    const auto value_at = [&](std::size_t from) {
        const std::size_t begin = text.rfind(key, from);
        const std::size_t value = begin == text.npos ? text.size() : begin + key.size();
        return std::pair(value, text.find("}\"", value));  // of an object, as a string
    };
    const auto [last, last_end] = value_at(text.npos);
    const auto [before, before_end] = value_at(last - key.size() - 1);
    if (before < last) {
        const std::string kept = text.substr(before, before_end - before);
        text.replace(last, last_end - last, kept);
        const Bytes changed = Bytes::own(std::move(text));
        static_cast<void>(
            bucket_.put(table_version_, Slices(changed), objstore::IfExists::overwrite)
        );
    }
}

rt::Future<Result<meta::ShardBatchDone>> LossyMetadata::write(
    meta::ShardId shard, meta::ShardBatch batch
) {
    if (planted_ == Planted::writer_renumbered) {
        renumber(batch);
    }
    if (planted_ == Planted::zombies_commit) {
        return write_unfenced(shard, std::move(batch));
    }
    if (planted_ != Planted::index_lost_at_crash && planted_ != Planted::commit_lost_at_crash) {
        return inner_.write(shard, std::move(batch));
    }
    auto done = service_.write(shard, std::move(batch));
    if (done.ok()) {
        Answered answered{.when = executor_.now(), .shard = shard, .keys = {}};
        for (const auto& put : done->puts) {
            if (put.ok() && is_forgotten(put->key)) {
                answered.keys.push_back(put->key);
            }
        }
        recent_.push_back(std::move(answered));
    }
    return rt::Future<Result<meta::ShardBatchDone>>::ready(std::move(done));
}

bool LossyMetadata::is_forgotten(std::string_view key) const {
    return planted_ == Planted::commit_lost_at_crash
               ? key.starts_with(groups_prefix) && key.find(offset_infix) != key.npos
               : index::parse_key(key).ok();
}

/// The put of a coordinator's epoch is told as done, whoever has begun another one.
rt::Future<Result<meta::ShardBatchDone>> LossyMetadata::write_unfenced(
    meta::ShardId shard, meta::ShardBatch batch
) {
    const bool is_fenced = batch.puts.size() > 1 &&
                           batch.puts.back().key.starts_with(groups_prefix) &&
                           batch.puts.back().key.ends_with(epoch_suffix);
    if (!is_fenced) {
        return inner_.write(shard, std::move(batch));
    }
    const meta::Put epoch = batch.puts.back();
    auto done = service_.write(shard, std::move(batch));
    if (done.ok() && !done->puts.back().ok()) {
        done->puts.back() =
            meta::PutDone{.key = epoch.key, .version = {.id = epoch.expect.version.value()}};
    }
    return rt::Future<Result<meta::ShardBatchDone>>::ready(std::move(done));
}

void LossyMetadata::renumber(meta::ShardBatch& batch) {
    for (meta::Put& put : batch.puts) {
        auto stamp = log::WriterStamp::parse(put.identity.value_or(""));
        if (stamp.has_value()) {
            stamp->number = numbers_[stamp->writer]++;
            put.identity = stamp->to_identity();
        }
    }
}

void LossyMetadata::crash() {
    forget_durable(recent_, executor_.now(), [](const auto& each) { return each.when; });
    for (const Answered& answered : recent_) {
        meta::ShardBatch undo;
        for (const std::string& key : answered.keys) {
            undo.deletes.push_back({.key = key, .expect = {}});
        }
        static_cast<void>(service_.write(answered.shard, std::move(undo)).ok());
    }
    recent_.clear();
}

}  // namespace lakestream::sim
