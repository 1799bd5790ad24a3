// SPDX-License-Identifier: Apache-2.0
// One put at the epoch's key, at the version that the last coordinator left it, then one scan that
// has to contain it.
#include "kafka/groups/takeover.h"

#include <charconv>
#include <utility>

#include "base/format.h"
#include "base/log.h"
#include "base/result.h"

namespace lakestream::kafka::groups {

namespace {

constexpr int attempts_max = 5;
constexpr int scans_max = 3;

using Found = Ledger::Found;

/// The epoch that is to end; without a version there is none.
struct Before {
    Epochs epochs;
    std::optional<meta::VersionId> version;
    std::string identity;
};

rt::Task<Result<Before>> find_epoch(meta::MetadataStore& store, const std::string& group_key) {
    const auto found =
        co_await store.get({.key = keys::epoch(group_key), .partition_key = group_key});
    if (found.is(ErrorCode::not_found)) {
        co_return Before{};
    }
    if (!found.ok()) {
        co_return found.error();
    }
    const Epochs stored = LKS_CO_TRY(decode_epochs(found->value));
    co_return Before{
        .epochs = stored.at(found->version.id.v),
        .version = found->version.id,
        .identity = found->version.identity.value_or(""),
    };
}

/// Whether nobody else has begun an epoch since one that this coordinator began as `after`.
bool follows(const Before& before, const Identity& identity, std::uint64_t after) {
    const std::string ours = fmt::format("{}/", identity.coordinator);
    if (!before.identity.starts_with(ours)) {
        return false;
    }
    std::uint64_t number = 0;
    const char* const end = before.identity.data() + before.identity.size();
    const auto read = std::from_chars(before.identity.data() + ours.size(), end, number);
    return read.ec == std::errc() && number >= after;
}

/// At which version it has begun. `conflict`: somebody else has begun another one.
rt::Task<Result<meta::VersionId>> begin_epoch(
    meta::MetadataStore& store,
    const std::string& group_key,
    const Before& before,
    const std::string& identity
) {
    Epochs epochs = before.epochs;
    epochs.begins = true;
    const std::string key = keys::epoch(group_key);
    auto put = co_await meta::put(
        store,
        {.key = key,
         .value = encode(epochs),
         .expect = before.version.has_value() ? meta::Expect::at(*before.version)
                                              : meta::Expect::absent(),
         .partition_key = group_key,
         .identity = identity}
    );
    if (put.ok()) {
        co_return put->version.id;
    }
    if (put.code() != ErrorCode::conflict && put.code() != ErrorCode::outcome_unknown) {
        co_return put.error();
    }
    // Ours, if the answer was lost.
    const auto found = co_await store.get({.key = key, .partition_key = group_key});
    if (found.ok() && found->version.identity == identity) {
        co_return found->version.id;
    }
    co_return put.code() == ErrorCode::conflict
        ? conflict("an epoch of {} was begun by another coordinator", group_key)
        : std::move(put).error();
}

struct Scanned {
    std::vector<meta::Record> records;
    std::optional<meta::VersionId> epoch;
};

rt::Task<Result<Scanned>> scan_group(meta::MetadataStore& store, const std::string& group_key) {
    Scanned scanned;
    const std::string epoch_key = keys::epoch(group_key);
    const auto scan = store.scan(keys::of_group(store.key_order(), group_key));
    while (true) {
        auto page = LKS_CO_TRY(co_await scan->next());
        if (page.empty()) {
            co_return scanned;
        }
        for (meta::Record& record : page) {
            if (record.key == epoch_key) {
                scanned.epoch = record.version.id;
            } else {
                scanned.records.push_back(std::move(record));
            }
        }
    }
}

Status load_offsets(Ledger& ledger, const Epochs& epochs, std::vector<meta::Record> records) {
    for (meta::Record& stored : records) {
        auto key = keys::offset_of(ledger.group_key(), stored.key);
        if (!key.has_value()) {
            if (keys::is_old_epoch(ledger.group_key(), stored.key)) {
                ledger.load_old_epoch(std::move(stored.key), stored.version.id);
            }
            continue;  // else of a later format
        }
        auto record = decode_offset(stored.value);
        if (!record.ok()) {
            return std::move(record).error().with_context(stored.key);
        }
        if (epochs.counts(record->epoch, stored.version.id.v)) {
            ledger.load_offset(
                std::move(*key), std::move(record->current), stored.version.id, Found::counts
            );
        } else {
            if (epochs.is_of_earlier_life(record->epoch)) {
                record->previous.reset();
            }
            ledger.load_offset(
                std::move(*key), std::move(record->previous), stored.version.id, Found::is_void
            );
        }
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

Status load_record(Taken& taken, const Epochs& epochs, const meta::Record& stored) {
    GroupRecord record = LKS_TRY(decode_group(stored.value));
    const bool is_void = !epochs.counts(record.epoch, stored.version.id.v);
    if (is_void && epochs.is_of_earlier_life(record.epoch)) {
        record.life = GroupRecord::Life::deleted;
    } else if (is_void) {
        taken.record_is_void = true;
        forget_members(record);
    }
    taken.ledger.load_record(
        record.life, stored.version.id, is_void ? Found::is_void : Found::counts
    );
    if (record.life == GroupRecord::Life::lives) {
        taken.record = std::move(record);
    }
    return {};
}

rt::Task<Result<Taken>> load(
    meta::MetadataStore& store,
    const std::string& group_key,
    std::string identity,
    Epochs epochs,
    meta::VersionId begun
) {
    // After the epoch began: whatever an earlier one may still write does not count.
    const auto stored = co_await store.get({.key = group_key, .partition_key = group_key});
    if (!stored.ok() && stored.code() != ErrorCode::not_found) {
        co_return stored.error();
    }
    Scanned scanned;
    for (int i = 0; !scanned.epoch.has_value() || *scanned.epoch < begun; ++i) {
        if (i == scans_max) {
            co_return unavailable("scans of {} are cut short or old", group_key);
        }
        scanned = LKS_CO_TRY(co_await scan_group(store, group_key));
    }
    if (*scanned.epoch != begun) {
        co_return conflict("{} was taken over again", group_key);
    }
    Taken taken{
        .ledger = Ledger(group_key, std::move(identity), epochs, begun),
        .record = std::nullopt,
    };
    LKS_CO_TRY(load_offsets(taken.ledger, epochs, std::move(scanned.records)));
    if (stored.ok()) {
        LKS_CO_TRY(load_record(taken, epochs, *stored));
    }
    co_return taken;
}

}  // namespace

rt::Task<Result<Taken>> take_over(
    meta::MetadataStore& store, std::string group_key, Identity identity
) {
    const std::string name = fmt::format("{}/{}", identity.coordinator, identity.number);
    Error last;
    for (int attempt = 0; attempt < attempts_max; ++attempt) {
        const Before before = LKS_CO_TRY(co_await find_epoch(store, group_key));
        if (identity.after.has_value() && !follows(before, identity, *identity.after)) {
            co_return fenced("{} was taken over by another coordinator", group_key);
        }
        const auto begun = co_await begin_epoch(store, group_key, before, name);
        if (!begun.ok() && begun.code() != ErrorCode::conflict) {
            co_return begun.error();
        }
        if (begun.ok()) {
            Epochs epochs = before.epochs;
            epochs.begins = true;
            auto taken = co_await load(store, group_key, name, epochs.at(begun->v), *begun);
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
