// SPDX-License-Identifier: Apache-2.0
// Creating and finishing streams; dropping is in life_cycle_drop.cc, changing in
// life_cycle_change.cc.
#include "catalog/life_cycle.h"

#include <utility>

#include "base/uuid.h"
#include "catalog/keys.h"
#include "catalog/names.h"
#include "catalog/retry.h"

namespace lakestream::catalog {

namespace {

std::string describe(const StreamName& name) {
    return fmt::format("stream {}/{}", name.ns, name.name);
}

StreamConfig new_config(const StreamSpec& spec, Owner owner) {
    const std::string count = std::to_string(spec.partitions);
    return {
        .partitions = static_cast<std::int32_t>(spec.partitions),
        .properties = spec.properties,
        .partitioning = {{"numPartitions", count}},
        .owner = std::move(owner),
        .state = StreamState::provisioning,
    };
}

/// Whether a partition's metadata already says what it will say.
bool registered(const StoredPartition& partition, const Owner& owner, LogId log) {
    return partition.metadata.has_value() && !partition.metadata->record.deleted &&
           partition.metadata->record.log_id == log.v &&
           partition.metadata->record.registration == owner;
}

}  // namespace

rt::Task<Status> LifeCycle::put_config(StreamName name, Stored<StreamConfig> config) {
    meta::Put put{
        .key = keys::config(name),
        .value = Bytes::own(to_json(config.record)),
        .expect = meta::Expect::at(config.version),
    };
    LKS_CO_TRY(co_await meta::put(store_, std::move(put)));
    co_return Status();
}

/// One attempt to write our claim under a name. Others' unfinished work under it is finished first.
rt::Task<Result<LifeCycle::Claim>> LifeCycle::claim(StreamSpec spec, Owner mine) {
    Writes writes;
    writes.put({
        .key = keys::config(spec.name),
        .value = Bytes::own(to_json(new_config(spec, mine))),
        .expect = meta::Expect::absent(),
    });
    writes.put({
        .key = keys::namespace_record(spec.name.ns),
        .value = Bytes::own(to_json(NamespaceRecord())),
        .expect = meta::Expect::absent(),
    });
    const auto done = LKS_CO_TRY(co_await std::move(writes).send(store_));
    if (done.front().ok()) {
        co_return Claim::mine;
    }
    const auto found = LKS_CO_TRY(co_await read_config(store_, keys::config(spec.name)));
    if (found.has_value() && found->record.owner == mine) {
        co_return Claim::mine;
    }
    if (LKS_CO_TRY(co_await settle(spec.name)).has_value()) {
        co_return Claim::taken;
    }
    co_return conflict("{} is being created and dropped by others", describe(spec.name));
}

rt::Task<Result<VersionedStream>> LifeCycle::create(StreamSpec spec) {
    rt::Executor& executor = co_await rt::this_executor();
    const Uuid incarnation = make_uuid(executor.rng().bytes16());
    const Owner mine{uuid_text(incarnation), uuid_text(make_uuid(executor.rng().bytes16())), 1};
    Retry retry;
    while (true) {
        const Result<Claim> claimed = co_await claim(spec, mine);
        if (claimed.ok() && *claimed == Claim::taken) {
            co_return already_exists("{} exists already", describe(spec.name));
        }
        if (claimed.ok()) {
            break;
        }
        if (!co_await retry.again(claimed.error())) {
            co_return claimed.error();
        }
    }
    auto stream = LKS_CO_TRY(co_await settle(spec.name));
    if (!stream.has_value() || stream->stream->incarnation != incarnation) {
        co_return conflict("{} was dropped while it was created", describe(spec.name));
    }
    co_return std::move(*stream);
}

rt::Task<Result<std::optional<VersionedStream>>> LifeCycle::settle(StreamName name) {
    Retry retry;
    while (true) {
        Result<Settled> settled = co_await settle_once(name);
        if (settled.ok() && settled->pass == Pass::finished) {
            co_return std::move(settled->stream);
        }
        if (!settled.ok() && !co_await retry.again(settled.error())) {
            co_return std::move(settled).error();
        }
    }
}

/// Look, and take one step of the life cycle if one is due.
rt::Task<Result<LifeCycle::Settled>> LifeCycle::settle_once(StreamName name) {
    auto config = LKS_CO_TRY(co_await read_config(store_, keys::config(name)));
    if (!config.has_value()) {
        co_return Settled{Pass::finished, std::nullopt};
    }
    if (config->record.state == StreamState::active &&
        !config->record.pending_expansion.has_value()) {
        co_return Settled{
            Pass::finished, LKS_CO_TRY(co_await read_active(store_, name, std::move(*config)))
        };
    }
    LKS_CO_TRY(co_await advance(name, std::move(*config)));
    co_return Settled();
}

rt::Task<Status> LifeCycle::advance(StreamName name, Stored<StreamConfig> config) {
    if (!config.record.owner.has_value()) {
        co_return corrupt("metadata key {} has no owner", keys::config(name));
    }
    switch (config.record.state) {
        case StreamState::active: co_return co_await expand(name, std::move(config));
        case StreamState::provisioning: co_return co_await provision(name, std::move(config));
        case StreamState::aborting: co_return co_await bury(name, std::move(config));
        case StreamState::dropped: co_return co_await close_grave(name, std::move(config));
    }
    LKS_UNREACHABLE();
}

rt::Task<Status> LifeCycle::provision(StreamName name, Stored<StreamConfig> config) {
    const Owner owner = *config.record.owner;
    if (LKS_CO_TRY(co_await in_grave(name, owner.incarnation))) {
        // A claim that arrived after its stream had been dropped.
        meta::Delete remove{.key = keys::config(name), .expect = meta::Expect::at(config.version)};
        co_return co_await meta::remove(store_, std::move(remove));
    }
    const auto count = static_cast<std::size_t>(config.record.partitions);
    if (count == 0 || count > partitions_max) {
        co_return corrupt("metadata key {} has {} partitions", keys::config(name), count);
    }
    const auto partitions = LKS_CO_TRY(co_await read_partitions(store_, name, count));
    const auto logs = LKS_CO_TRY(co_await map_logs(name, owner, partitions));
    LKS_CO_TRY(co_await register_logs(name, owner, partitions, logs));
    config.record.state = StreamState::active;
    co_return co_await put_config(name, std::move(config));
}

/// A log for each partition: the mapped one, or a new one.
rt::Task<Result<std::vector<LogId>>> LifeCycle::map_logs(
    StreamName name, Owner owner, std::vector<StoredPartition> partitions
) {
    std::vector<LogId> logs(partitions.size());
    std::vector<std::size_t> missing;
    for (std::size_t i = 0; i < partitions.size(); ++i) {
        const auto& mapping = partitions[i].mapping;
        const bool ours =
            mapping.has_value() && mapping->record.owner.incarnation == owner.incarnation;
        if (!mapping.has_value() || (mapping->record.state == MappingState::tombstone && !ours)) {
            missing.push_back(i);
        } else if (!ours) {
            co_return corrupt(
                "partition {} of {} has a log of another stream that was not dropped (metadata "
                "key {})",
                i,
                describe(name),
                keys::mapping(keys::mapping_key(name, i))
            );
        } else if (mapping->record.state == MappingState::tombstone) {
            co_return conflict("{} is being dropped", describe(name));
        } else {
            logs[i] = LogId(mapping->record.log_id);
        }
    }
    const auto ids = LKS_CO_TRY(co_await allocate(missing.size()));
    Writes writes;
    for (std::size_t i = 0; i < missing.size(); ++i) {
        logs[missing[i]] = ids[i];
        writes.put({
            .key = keys::mapping(keys::mapping_key(name, missing[i])),
            .value = Bytes::own(to_json(LogMapping{MappingState::active, ids[i].v, owner})),
            .expect = unchanged(partitions[missing[i]].mapping),
            .partition_key = std::string(keys::log_id_generator),
        });
    }
    for (auto& done : LKS_CO_TRY(co_await std::move(writes).send(store_))) {
        LKS_CO_TRY(std::move(done));
    }
    co_return logs;
}

/// Ids that no log ever had. Those of a lost answer are never used.
rt::Task<Result<std::vector<LogId>>> LifeCycle::allocate(std::size_t count) {
    Writes writes;
    for (std::size_t i = 0; i < count; ++i) {
        writes.put({.key = std::string(keys::log_id_generator)});
    }
    std::vector<LogId> ids;
    for (auto& done : LKS_CO_TRY(co_await std::move(writes).send(store_))) {
        ids.emplace_back(LKS_CO_TRY(std::move(done)).version.id.v);
    }
    co_return ids;
}

rt::Task<Status> LifeCycle::register_logs(
    StreamName name, Owner owner, std::vector<StoredPartition> partitions, std::vector<LogId> logs
) {
    Writes registrations;  // one that is there already says the same
    Writes metadata;
    for (std::size_t i = 0; i < logs.size(); ++i) {
        const auto& stored = partitions[i].metadata;
        if (registered(partitions[i], owner, logs[i])) {
            continue;
        }
        if (stored.has_value() && stored->record.log_id >= 0 && !stored->record.deleted &&
            stored->record.log_id != logs[i].v) {
            co_return corrupt(
                "metadata key {}{} belongs to another stream that was not dropped",
                keys::log_metadata_prefix(name),
                i
            );
        }
        registrations.put({
            .key = keys::log_registration(logs[i]),
            .value = Bytes::own(log_registration_json(keys::mapping_key(name, i))),
            .expect = meta::Expect::absent(),
        });
        const LogMetadata record{
            .log_id = logs[i].v, .properties = Properties(), .registration = owner
        };
        metadata.put({
            .key = keys::log_metadata_prefix(name) + std::to_string(i),
            .value = Bytes::own(to_json(record)),
            .expect = unchanged(stored),
        });
    }
    LKS_CO_TRY(co_await std::move(registrations).send(store_));
    for (auto& done : LKS_CO_TRY(co_await std::move(metadata).send(store_))) {
        LKS_CO_TRY(std::move(done));
    }
    co_return Status();
}

}  // namespace lakestream::catalog
