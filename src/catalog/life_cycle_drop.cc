// SPDX-License-Identifier: Apache-2.0
// Dropping streams: whatever still writes is stopped before anything is deleted.
#include <algorithm>
#include <utility>

#include "base/uuid.h"
#include "catalog/keys.h"
#include "catalog/life_cycle.h"
#include "catalog/names.h"
#include "catalog/retry.h"
#include "log/fold.h"
#include "log/start.h"

namespace lakestream::catalog {

namespace {

constexpr Duration drain_patience = 30s;
constexpr Duration drain_poll = 25ms;
/// No write arrives so late.
constexpr auto dropped_age_max = std::chrono::hours(24);
constexpr std::string_view oldest_incarnation = "__legacy__";

std::string incarnation_of(const StreamConfig& config) {
    return config.owner.has_value() ? config.owner->incarnation : std::string(oldest_incarnation);
}

/// The config while the stream is dropped by an owner of its own.
StreamConfig aborting(StreamConfig config, std::string token) {
    const std::int64_t generation = config.owner.has_value() ? config.owner->generation : 0;
    if (config.owner.has_value()) {
        config.metadata_source_token = config.owner->token;
    }
    config.metadata_source_generation = config.owner.has_value() ? generation : -1;
    config.owner = Owner{incarnation_of(config), std::move(token), generation + 1};
    config.state = StreamState::aborting;
    config.purge_requested = true;
    return config;
}

std::size_t partitions_of(const StreamConfig& config) {
    const std::int32_t target =
        config.pending_expansion.has_value() ? config.pending_expansion->target : 0;
    return static_cast<std::size_t>(std::max(config.partitions, target));
}

/// The log in a partition's metadata, if it is this incarnation's; else -1.
std::int64_t registered_log(const StoredPartition& partition, const Owner& owner) {
    if (!partition.metadata.has_value()) {
        return -1;
    }
    const LogMetadata& metadata = partition.metadata->record;
    const bool ours = !metadata.registration.has_value() ||
                      metadata.registration->incarnation == owner.incarnation;
    return ours && !metadata.deleted ? metadata.log_id : -1;
}

}  // namespace

rt::Task<Status> LifeCycle::drop(StreamName name, std::optional<Incarnation> only) {
    Dropping dropping;
    if (only.has_value()) {
        dropping.incarnation = uuid_text(*only);
    }
    Retry retry;
    while (true) {
        const Result<Pass> pass = co_await drop_once(name, dropping);
        if (pass.ok() && *pass == Pass::finished) {
            co_return Status();
        }
        if (!pass.ok() && !co_await retry.again(pass.error())) {
            co_return pass.error();
        }
    }
}

rt::Task<Result<LifeCycle::Pass>> LifeCycle::drop_once(StreamName name, Dropping& dropping) {
    auto config = LKS_CO_TRY(co_await read_config(store_, keys::config(name)));
    std::string incarnation = config.has_value() ? incarnation_of(config->record) : std::string();
    if (!config.has_value() || dropping.incarnation.value_or(incarnation) != incarnation) {
        if (!dropping.found) {
            co_return not_found("stream {}/{}", name.ns, name.name);
        }
        co_return Pass::finished;
    }
    dropping = {.incarnation = std::move(incarnation), .found = true};
    if (config->record.state == StreamState::active ||
        config->record.state == StreamState::provisioning) {
        rt::Executor& executor = co_await rt::this_executor();
        config->record =
            aborting(std::move(config->record), uuid_text(make_uuid(executor.rng().bytes16())));
        LKS_CO_TRY(co_await put_config(name, std::move(*config)));
    } else {
        LKS_CO_TRY(co_await advance(name, std::move(*config)));
    }
    co_return Pass::unfinished;
}

rt::Task<Status> LifeCycle::bury(StreamName name, Stored<StreamConfig> config) {
    const Owner owner = *config.record.owner;
    const std::size_t count = partitions_of(config.record);
    if (count > partitions_max) {
        co_return corrupt("metadata key {} has {} partitions", keys::config(name), count);
    }
    const auto partitions = LKS_CO_TRY(co_await read_partitions(store_, name, count));
    // First the mappings: from here on no creator that lags behind adds a log.
    const auto logs = LKS_CO_TRY(co_await bury_mappings(name, owner, partitions));
    LKS_CO_TRY(co_await fence(logs));
    LKS_CO_TRY(co_await drain(logs));
    LKS_CO_TRY(co_await purge(logs));
    LKS_CO_TRY(co_await bury_metadata(name, owner, partitions));
    co_return co_await close_grave(name, std::move(config));
}

/// All logs this incarnation ever had; they stay in the buried mappings for whoever goes on here.
rt::Task<Result<std::set<LogId>>> LifeCycle::bury_mappings(
    StreamName name, Owner owner, std::vector<StoredPartition> partitions
) {
    std::set<LogId> logs;
    Writes writes;
    for (std::size_t i = 0; i < partitions.size(); ++i) {
        const auto& mapping = partitions[i].mapping;
        const bool ours =
            mapping.has_value() && mapping->record.owner.incarnation == owner.incarnation;
        const std::int64_t registered = registered_log(partitions[i], owner);
        if (mapping.has_value() && mapping->record.state == MappingState::active && !ours) {
            continue;  // another stream's
        }
        const std::int64_t log = ours ? mapping->record.log_id : registered;
        for (const std::int64_t id : {log, registered}) {
            if (id >= 0) {
                logs.insert(LogId(id));
            }
        }
        if (!ours || mapping->record.state == MappingState::active) {
            writes.put({
                .key = keys::mapping(keys::mapping_key(name, i)),
                .value = Bytes::own(to_json(LogMapping{MappingState::tombstone, log, owner})),
                .expect = unchanged(mapping),
                .partition_key = std::string(keys::log_id_generator),
            });
        }
    }
    for (auto& done : LKS_CO_TRY(co_await std::move(writes).send(store_))) {
        LKS_CO_TRY(std::move(done));
    }
    co_return logs;
}

/// For good, everywhere; then on this node at once.
rt::Task<Status> LifeCycle::fence(std::set<LogId> logs) {
    Writes writes;
    for (const LogId log : logs) {
        writes.put({
            .key = keys::fence(log),
            .value = Bytes::copy(std::string_view("\1", 1)),
            .expect = meta::Expect::absent(),
            .partition_key = keys::log_partition_key(log),
        });
    }
    for (auto& done : LKS_CO_TRY(co_await std::move(writes).send(store_))) {
        if (!done.ok() && !done.is(ErrorCode::conflict)) {
            co_return std::move(done).error();
        }
    }
    for (const LogId log : logs) {
        co_await fencer_.fence(log);
    }
    co_return Status();
}

/// Wait until no writer of another engine holds one of the logs.
rt::Task<Status> LifeCycle::drain(std::set<LogId> logs) {
    rt::Executor& executor = co_await rt::this_executor();
    const Deadline deadline = executor.now() + drain_patience;
    const std::string root(keys::leases_root);
    while (true) {
        const auto leases =
            LKS_CO_TRY(co_await store_.list({.begin = root + "/0/", .end = root + "/:/"}));
        const auto held = std::ranges::count_if(leases, [&](std::string_view key) {
            const auto log = keys::number_after(root + "/", key.substr(0, key.rfind('/')));
            return log.has_value() && logs.contains(LogId(static_cast<std::int64_t>(*log)));
        });
        if (held == 0) {
            co_return Status();
        }
        if (executor.now() >= deadline) {
            Error error = unavailable(
                "{} writers of another engine hold logs of the stream: drop it again when they "
                "have closed",
                held
            );
            error.reason = static_cast<std::uint16_t>(CatalogReason::writers_remain);
            co_return error;
        }
        co_await rt::sleep_until(executor.now() + drain_poll);
    }
}

rt::Task<Status> LifeCycle::purge(std::set<LogId> logs) {
    Writes writes;
    for (const LogId log : logs) {
        writes.remove_range(keys::index_records(log), keys::log_partition_key(log));
        writes.remove_on(keys::log_partition_key(log), {.key = log::fold_key(log)});
        writes.remove_on(keys::log_partition_key(log), {.key = log::start_key(log)});
        writes.remove_on(keys::log_partition_key(log), {.key = keys::compact_state(log)});
        writes.remove({.key = keys::first_uncompacted(log)});
        writes.remove({.key = keys::log_registration(log)});
    }
    LKS_CO_TRY(co_await std::move(writes).send(store_));
    co_return Status();
}

rt::Task<Status> LifeCycle::bury_metadata(
    StreamName name, Owner owner, std::vector<StoredPartition> partitions
) {
    Writes writes;
    for (std::size_t i = 0; i < partitions.size(); ++i) {
        const LogMetadata buried{
            .properties = Properties(), .registration = owner, .deleted = true
        };
        const auto& stored = partitions[i].metadata;
        if (stored.has_value() && stored->record == buried) {
            continue;
        }
        writes.put({
            .key = keys::log_metadata_prefix(name) + std::to_string(i),
            .value = Bytes::own(to_json(buried)),
            .expect = unchanged(stored),
        });
    }
    for (auto& done : LKS_CO_TRY(co_await std::move(writes).send(store_))) {
        LKS_CO_TRY(std::move(done));
    }
    co_return Status();
}

/// A claim of a name may arrive when its stream was made by a repeated one, and dropped. The grave
/// knows the last stream that was dropped; these records know all for as long as it matters.
rt::Task<Status> LifeCycle::remember_dropped(StreamName name, std::string incarnation) {
    const meta::PutDone done =
        LKS_CO_TRY(co_await meta::put(store_, {.key = keys::dropped(name, incarnation)}));
    const auto oldest = done.version.modified - dropped_age_max;
    const auto scan = store_.scan(keys::children(store_.key_order(), keys::grave_parent(name)));
    Writes writes;
    while (true) {
        const auto records = LKS_CO_TRY(co_await scan->next());
        if (records.empty()) {
            break;
        }
        for (const meta::Record& record : records) {
            if (record.version.modified < oldest) {
                writes.remove({.key = record.key, .expect = meta::Expect::at(record.version.id)});
            }
        }
    }
    LKS_CO_TRY(co_await std::move(writes).send(store_));
    co_return Status();
}

/// First the grave, then the config: in between the next pass comes here again.
rt::Task<Status> LifeCycle::close_grave(StreamName name, Stored<StreamConfig> config) {
    LKS_CO_TRY(co_await remember_dropped(name, incarnation_of(config.record)));
    const auto grave = LKS_CO_TRY(co_await read_config(store_, keys::grave(name)));
    if (!grave.has_value() || incarnation_of(grave->record) != incarnation_of(config.record)) {
        StreamConfig dropped = config.record;
        dropped.state = StreamState::dropped;
        dropped.metadata_source_token.reset();
        dropped.metadata_source_generation = -2;
        meta::Put put{
            .key = keys::grave(name),
            .value = Bytes::own(to_json(dropped)),
            .expect = unchanged(grave),
        };
        LKS_CO_TRY(co_await meta::put(store_, std::move(put)));
    }
    meta::Delete remove{.key = keys::config(name), .expect = meta::Expect::at(config.version)};
    const Status removed = co_await meta::remove(store_, std::move(remove));
    co_return removed.is(ErrorCode::not_found) ? Status() : removed;
}

rt::Task<Result<bool>> LifeCycle::in_grave(StreamName name, std::string incarnation) {
    const auto dropped = co_await store_.get({.key = keys::dropped(name, incarnation)});
    if (dropped.ok()) {
        co_return true;
    }
    if (!dropped.is(ErrorCode::not_found)) {
        co_return dropped.error();
    }
    const auto grave = LKS_CO_TRY(co_await read_config(store_, keys::grave(name)));
    if (!grave.has_value()) {
        co_return false;
    }
    if (incarnation_of(grave->record) == incarnation) {
        co_return true;
    }
    meta::Delete remove{.key = keys::grave(name), .expect = meta::Expect::at(grave->version)};
    const Status removed = co_await meta::remove(store_, std::move(remove));
    if (!removed.ok() && !removed.is(ErrorCode::not_found)) {
        co_return removed.error();
    }
    co_return false;
}

}  // namespace lakestream::catalog
