// SPDX-License-Identifier: Apache-2.0
// One new epoch key, then one scan that has to contain it.
#include "kafka/groups/takeover.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/log.h"
#include "base/result.h"

namespace lakestream::kafka::groups {

namespace {

constexpr int attempts_max = 5;
constexpr int scans_max = 3;

struct Newest {
    std::uint64_t number = 0;
    std::optional<std::string> identity;
};

rt::Task<Result<Newest>> find_newest(meta::MetadataStore& store, const std::string& group_key) {
    const auto found = co_await store.get(keys::newest_epoch(group_key));
    if (found.is(ErrorCode::not_found)) {
        co_return Newest{};
    }
    if (!found.ok()) {
        co_return found.error();
    }
    const auto number = keys::epoch_of(group_key, found->key);
    if (!number.has_value()) {
        co_return Newest{};
    }
    co_return Newest{.number = *number, .identity = found->version.identity};
}

/// `conflict`: somebody else has begun it.
rt::Task<Status> begin_epoch(
    meta::MetadataStore& store,
    const std::string& group_key,
    std::uint64_t number,
    const std::string& identity
) {
    const std::string key = keys::epoch(group_key, number);
    auto put = co_await meta::put(
        store,
        {.key = key,
         .value = {},
         .expect = meta::Expect::absent(),
         .partition_key = group_key,
         .identity = identity}
    );
    if (put.ok()) {
        co_return Status();
    }
    if (put.code() != ErrorCode::conflict && put.code() != ErrorCode::outcome_unknown) {
        co_return put.error();
    }
    // Ours, if the answer to this or an earlier try was lost.
    const auto found = co_await store.get({.key = key, .partition_key = group_key});
    if (found.ok() && found->version.identity == identity) {
        co_return Status();
    }
    co_return found.ok() || put.code() == ErrorCode::conflict
        ? conflict("epoch {} of {} was begun by another coordinator", number, group_key)
        : std::move(put).error();
}

struct Scanned {
    std::vector<meta::Record> offsets;
    std::vector<Epoch> epochs;
};

rt::Task<Result<Scanned>> scan_group(meta::MetadataStore& store, const std::string& group_key) {
    Scanned scanned;
    const auto scan = store.scan(keys::of_group(store.key_order(), group_key));
    while (true) {
        auto page = LKS_CO_TRY(co_await scan->next());
        if (page.empty()) {
            co_return scanned;
        }
        for (meta::Record& record : page) {
            if (const auto number = keys::epoch_of(group_key, record.key)) {
                scanned.epochs.push_back({*number, record.version.id});
            } else {
                scanned.offsets.push_back(std::move(record));
            }
        }
    }
}

bool has_epoch(const std::vector<Epoch>& epochs, std::uint64_t number) {
    return std::ranges::find(epochs, number, &Epoch::number) != epochs.end();
}

Status load_offsets(Ledger& ledger, const Scanned& scanned) {
    for (const meta::Record& stored : scanned.offsets) {
        auto key = keys::offset_of(ledger.group_key(), stored.key);
        if (!key.has_value()) {
            continue;  // of a later format
        }
        auto record = decode_offset(stored.value);
        if (!record.ok()) {
            return std::move(record).error().with_context(stored.key);
        }
        auto& valid = counts(record->epoch, stored.version.id, scanned.epochs) ? record->current
                                                                               : record->previous;
        ledger.load_offset(std::move(*key), std::move(valid), stored.version.id);
    }
    return {};
}

/// A record that does not count keeps its number, so that none is given twice, and no members.
void forget_members(GroupRecord& record) {
    record.life = GroupRecord::Life::lives;
    record.members.clear();
    record.leader.reset();
    record.protocol_name.reset();
}

rt::Task<Result<Taken>> load(
    meta::MetadataStore& store, const std::string& group_key, std::uint64_t epoch
) {
    // After the epoch began: whatever an earlier one may still write does not count.
    const auto stored = co_await store.get({.key = group_key, .partition_key = group_key});
    if (!stored.ok() && stored.code() != ErrorCode::not_found) {
        co_return stored.error();
    }
    Scanned scanned;
    for (int i = 0; !has_epoch(scanned.epochs, epoch); ++i) {
        if (i == scans_max) {
            co_return unavailable("scans of {} are cut short or old", group_key);
        }
        scanned = LKS_CO_TRY(co_await scan_group(store, group_key));
    }
    if (std::ranges::any_of(scanned.epochs, [&](Epoch e) { return e.number > epoch; })) {
        co_return conflict("{} was taken over again", group_key);
    }
    Taken taken{.ledger = Ledger(group_key, epoch), .record = std::nullopt};
    LKS_CO_TRY(load_offsets(taken.ledger, scanned));
    if (stored.ok()) {
        GroupRecord record = LKS_CO_TRY(decode_group(stored->value));
        taken.record_is_void = !counts(record.epoch, stored->version.id, scanned.epochs);
        if (taken.record_is_void) {
            forget_members(record);
        }
        taken.ledger.load_record(record.life, stored->version.id);
        if (record.life == GroupRecord::Life::lives) {
            taken.record = std::move(record);
        }
    }
    co_return taken;
}

}  // namespace

bool counts(std::uint64_t epoch, meta::VersionId version, const std::vector<Epoch>& epochs) {
    return std::ranges::none_of(epochs, [&](const Epoch& other) {
        return other.number > epoch && other.begun < version;
    });
}

rt::Task<Result<Taken>> take_over(
    meta::MetadataStore& store, std::string group_key, Identity identity
) {
    const std::string name = fmt::format("{}/{}", identity.coordinator, identity.number);
    const std::string ours = fmt::format("{}/", identity.coordinator);
    Error last;
    for (int attempt = 0; attempt < attempts_max; ++attempt) {
        const Newest newest = LKS_CO_TRY(co_await find_newest(store, group_key));
        const Status begun = co_await begin_epoch(store, group_key, newest.number + 1, name);
        if (!begun.ok() && begun.code() != ErrorCode::conflict) {
            co_return begun.error();
        }
        if (begun.ok()) {
            auto taken = co_await load(store, group_key, newest.number + 1);
            if (taken.ok()) {
                taken->was_ours = newest.identity.value_or("").starts_with(ours);
            }
            if (!taken.is(ErrorCode::conflict)) {
                co_return std::move(taken);
            }
            last = std::move(taken).error();
        } else {
            last = begun.error();
        }
    }
    co_return std::move(last);
}

rt::Task<Result<std::optional<GroupRecord>>> find_group(
    meta::MetadataStore& store, std::string group_key
) {
    const auto found = co_await store.get({.key = group_key, .partition_key = group_key});
    if (found.is(ErrorCode::not_found)) {
        co_return std::nullopt;
    }
    if (!found.ok()) {
        co_return found.error();
    }
    co_return LKS_CO_TRY(decode_group(found->value));
}

}  // namespace lakestream::kafka::groups
