// SPDX-License-Identifier: Apache-2.0
// Changing streams that are active: their properties and the number of their partitions.
#include <utility>

#include "base/uuid.h"
#include "catalog/keys.h"
#include "catalog/life_cycle.h"
#include "catalog/names.h"
#include "catalog/retry.h"

namespace lakestream::catalog {

rt::Task<Result<Stored<StreamConfig>>> LifeCycle::read_own(StreamName name, Incarnation only) {
    auto config = LKS_CO_TRY(co_await read_config(store_, keys::config(name)));
    // The oldest streams have no owner, and are known by an incarnation of zeros.
    const bool own = config.has_value() && config->record.state == StreamState::active &&
                     (config->record.owner.has_value()
                          ? parse_uuid(config->record.owner->incarnation).value_or(Uuid{})
                          : Uuid{}) == only;
    if (!own) {
        co_return not_found("stream {}/{}", name.ns, name.name);
    }
    co_return std::move(*config);
}

rt::Task<Status> LifeCycle::change_properties(
    StreamName name, Incarnation only, PropertiesChange change
) {
    Retry retry;
    while (true) {
        Status changed = co_await change_once(name, only, change);
        if (changed.ok() || !co_await retry.again(changed.error())) {
            co_return changed;
        }
    }
}

rt::Task<Status> LifeCycle::change_once(
    StreamName name, Incarnation only, const PropertiesChange& change
) {
    auto config = LKS_CO_TRY(co_await read_own(name, only));
    Properties wanted = LKS_CO_TRY(change(config.record.properties));
    if (wanted == config.record.properties) {
        co_return Status();  // also when the answer of an earlier pass was lost
    }
    config.record.properties = std::move(wanted);
    co_return co_await put_config(name, std::move(config));
}

rt::Task<Status> LifeCycle::grow(StreamName name, Incarnation only, std::uint32_t partitions) {
    if (partitions > partitions_max) {
        co_return invalid_argument(
            "{} partitions asked for; at most {} are possible", partitions, partitions_max
        );
    }
    Retry retry;
    while (true) {
        const auto pass = co_await grow_once(name, only, static_cast<std::int32_t>(partitions));
        if (pass.ok() && *pass == Pass::finished) {
            co_return Status();
        }
        if (!pass.ok() && !co_await retry.again(pass.error())) {
            co_return pass.error();
        }
    }
}

/// One step: finish the expansion that is there, or claim ours.
rt::Task<Result<LifeCycle::Pass>> LifeCycle::grow_once(
    StreamName name, Incarnation only, std::int32_t target
) {
    auto config = LKS_CO_TRY(co_await read_own(name, only));
    if (!config.record.pending_expansion.has_value()) {
        if (config.record.partitions >= target) {
            co_return Pass::finished;
        }
        if (!config.record.owner.has_value()) {
            co_return unsupported(
                "stream {}/{} is of the oldest form, which has no owner: it cannot grow",
                name.ns,
                name.name
            );
        }
        config.record.pending_expansion = Expansion{config.record.partitions, target};
        LKS_CO_TRY(co_await put_config(name, std::move(config)));
    } else {
        LKS_CO_TRY(co_await advance(name, std::move(config)));
    }
    co_return Pass::unfinished;
}

/// The new logs are whole before anybody sees them; those that are there stay as they are.
rt::Task<Status> LifeCycle::expand(StreamName name, Stored<StreamConfig> config) {
    const Expansion expansion = *config.record.pending_expansion;
    if (expansion.target <= expansion.base ||
        static_cast<std::size_t>(expansion.target) > partitions_max) {
        co_return corrupt(
            "metadata key {} grows from {} to {} partitions",
            keys::config(name),
            expansion.base,
            expansion.target
        );
    }
    const Owner owner = *config.record.owner;
    const auto count = static_cast<std::size_t>(expansion.target);
    const auto partitions = LKS_CO_TRY(co_await read_partitions(store_, name, count));
    const auto logs = LKS_CO_TRY(co_await map_logs(name, owner, partitions));
    LKS_CO_TRY(co_await register_logs(name, owner, partitions, logs));
    config.record.partitions = expansion.target;
    config.record.partitioning["numPartitions"] = std::to_string(expansion.target);
    config.record.pending_expansion.reset();
    co_return co_await put_config(name, std::move(config));
}

}  // namespace lakestream::catalog
