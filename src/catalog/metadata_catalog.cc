// SPDX-License-Identifier: Apache-2.0
// The catalog: the cache in front of the life cycle.
#include "catalog/metadata_catalog.h"

#include <limits>
#include <utility>

#include "base/log.h"
#include "catalog/keys.h"
#include "catalog/names.h"
#include "catalog/retry.h"

namespace lakestream::catalog {

namespace {

constexpr std::size_t stale_max = 64;  // beyond, listing again is cheaper
// A stale leader of the metadata store may leave the newest streams out of a listing.
constexpr Duration listing_age_max = 30s;
constexpr Duration missing_age_max = 1s;

}  // namespace

rt::Task<Result<std::unique_ptr<MetadataCatalog>>> MetadataCatalog::open(
    meta::MetadataStore& store, LogFencer& fencer, rt::Executor& home
) {
    std::unique_ptr<MetadataCatalog> catalog(new MetadataCatalog(store, fencer));
    auto* self = catalog.get();
    meta::SubscribeHandler handler{
        .changed = [self](const meta::ChangeBatch& batch) { self->apply(batch); },
        .gap = [self](meta::ShardId) { self->cache_.clear(); },
    };
    catalog->subscription_ = LKS_CO_TRY(co_await store.subscribe(home, std::move(handler)));
    co_return catalog;
}

/// Partition metadata never changes without a change of the config after it.
void MetadataCatalog::apply(const meta::ChangeBatch& batch) {
    for (const meta::Change& change : batch.changes) {
        if (change.kind == meta::ChangeKind::range_deleted) {
            if (change.key < "/admin/streams0" && change.range_end > "/admin/streams/") {
                cache_.clear();
            }
        } else if (auto name = keys::stream_name(keys::configs_root, change.key)) {
            cache_.changed(*name, change.version);
        }
    }
}

rt::Task<Status> MetadataCatalog::recover() {
    for (const std::string& ns : LKS_CO_TRY(co_await list_namespaces(store_))) {
        for (const StreamName& name : LKS_CO_TRY(co_await list_unfinished(store_, ns))) {
            const auto settled = co_await life_cycle_.settle(name);
            if (settled.ok()) {
                log::info(
                    "catalog",
                    "stream_finished stream={}/{} active={}",
                    name.ns,
                    name.name,
                    settled->has_value()
                );
            } else {
                log::error(
                    "catalog",
                    "stream_unfinished stream={}/{} error={}",
                    name.ns,
                    name.name,
                    settled.error().to_string()
                );
            }
        }
    }
    co_return Status();
}

rt::Task<Result<StreamPtr>> MetadataCatalog::create(StreamSpec spec) {
    LKS_CO_TRY(validate(spec));
    if (cache_.find(spec.name) != nullptr) {
        co_return already_exists("stream {}/{} exists already", spec.name.ns, spec.name.name);
    }
    const StreamCache::Ticket ticket = cache_.begin_load();
    const VersionedStream stream = LKS_CO_TRY(co_await life_cycle_.create(std::move(spec)));
    cache_.loaded(ticket, stream);
    co_return stream.stream;
}

rt::Task<Result<StreamPtr>> MetadataCatalog::load(StreamName name) {
    if (StreamPtr cached = cache_.find(name)) {
        co_return cached;
    }
    co_return co_await read(std::move(name));
}

rt::Task<Result<StreamPtr>> MetadataCatalog::read(StreamName name) {
    Retry retry;
    while (true) {
        const StreamCache::Ticket ticket = cache_.begin_load();
        auto config = LKS_CO_TRY(co_await read_config(store_, keys::config(name)));
        if (!config.has_value() || config->record.state != StreamState::active) {
            cache_.loaded_absent(ticket, name);
            co_return not_found("stream {}/{}", name.ns, name.name);
        }
        const auto stream = co_await read_active(store_, name, std::move(*config));
        if (stream.ok()) {
            cache_.loaded(ticket, *stream);
            co_return stream->stream;
        }
        if (!co_await retry.again(stream.error())) {
            co_return stream.error();
        }
    }
}

rt::Task<Result<StreamPtr>> MetadataCatalog::load_by_id(std::array<std::byte, 16> incarnation) {
    if (StreamPtr cached = cache_.find(incarnation)) {
        co_return cached;
    }
    const MonoTime since = (co_await rt::this_executor()).now() - missing_age_max;
    for (std::string& ns : LKS_CO_TRY(co_await list_namespaces(store_))) {
        for (StreamPtr& stream : LKS_CO_TRY(co_await list_since(std::move(ns), since))) {
            if (stream->incarnation == incarnation) {
                co_return std::move(stream);
            }
        }
    }
    co_return not_found("no stream has this id");
}

rt::Task<Result<std::vector<StreamPtr>>> MetadataCatalog::list(std::string ns) {
    const MonoTime since = (co_await rt::this_executor()).now() - listing_age_max;
    co_return co_await list_since(std::move(ns), since);
}

rt::Task<Result<std::vector<StreamPtr>>> MetadataCatalog::list_since(
    std::string ns, MonoTime since
) {
    Retry retry;
    while (true) {
        if (auto cached = cache_.list(ns, since)) {
            co_return std::move(*cached);
        }
        const std::vector<StreamName> stale = cache_.stale(ns);
        if (stale.size() > stale_max || !cache_.listed_since(ns, since)) {
            LKS_CO_TRY(co_await read_all(ns));
        }
        for (const StreamName& name : cache_.stale(ns)) {
            const auto stream = co_await read(name);
            if (!stream.ok() && !stream.is(ErrorCode::not_found)) {
                co_return stream.error();
            }
        }
        if (auto cached = cache_.list(ns, since)) {
            co_return std::move(*cached);
        }
        const Error moving = conflict("namespace {} changes faster than it is read", ns);
        if (!co_await retry.again(moving)) {
            co_return unavailable("{}", moving.message);
        }
    }
}

rt::Task<Status> MetadataCatalog::read_all(std::string ns) {
    const MonoTime now = (co_await rt::this_executor()).now();
    const StreamCache::Ticket ticket = cache_.begin_load();
    const ListedStreams found = LKS_CO_TRY(co_await list_streams(
        store_,
        ns,
        [this](const StreamName& name, meta::VersionId version) {
            return cache_.find(name, version);
        }
    ));
    cache_.listed(ticket, {.ns = ns, .when = now}, found.streams);
    for (const StreamName& name : found.unclear) {
        const auto stream = co_await read(name);
        if (!stream.ok() && !stream.is(ErrorCode::not_found)) {
            log::error("catalog", "stream_damaged error={}", stream.error().to_string());
        }
    }
    co_return Status();
}

rt::Task<Result<StreamPtr>> MetadataCatalog::read_changed(StreamName name, Status changed) {
    cache_.changed(name, std::nullopt);
    LKS_CO_TRY(std::move(changed));
    co_return co_await read(std::move(name));
}

rt::Task<Result<StreamPtr>> MetadataCatalog::change_properties(
    StreamName name, Incarnation incarnation, PropertiesChange change
) {
    Status changed = co_await life_cycle_.change_properties(name, incarnation, std::move(change));
    co_return co_await read_changed(std::move(name), std::move(changed));
}

rt::Task<Result<StreamPtr>> MetadataCatalog::grow(
    StreamName name, Incarnation incarnation, std::uint32_t partitions
) {
    Status grown = co_await life_cycle_.grow(name, incarnation, partitions);
    co_return co_await read_changed(std::move(name), std::move(grown));
}

rt::Task<Status> MetadataCatalog::drop(StreamName name, std::optional<Incarnation> incarnation) {
    Status status = co_await life_cycle_.drop(name, incarnation);
    cache_.changed(name, std::nullopt);
    co_return status;
}

rt::Task<Result<std::int64_t>> MetadataCatalog::allocate_producer_ids(std::int64_t count) {
    if (count < 1 || count > 1'000'000) {
        co_return invalid_argument("{} producer ids asked for; 1 to 1000000 are given", count);
    }
    Retry retry;
    while (true) {
        const auto first = co_await take_producer_ids(count);
        if (first.ok() || !co_await retry.again(first.error())) {
            co_return first;
        }
    }
}

/// A block whose answer was lost is never given.
rt::Task<Result<std::int64_t>> MetadataCatalog::take_producer_ids(std::int64_t count) {
    meta::Put put{.key = std::string(keys::producer_ids), .expect = meta::Expect::absent()};
    std::int64_t first = 0;
    const Result<meta::Record> record =
        co_await store_.get({.key = std::string(keys::producer_ids)});
    if (record.ok()) {
        first = LKS_CO_TRY(parse_producer_ids(record->value.view()));
        put.expect = meta::Expect::at(record->version.id);
    } else if (!record.is(ErrorCode::not_found)) {
        co_return record.error();
    }
    if (first > std::numeric_limits<std::int64_t>::max() - count) {
        co_return exhausted("all producer ids have been given");
    }
    put.value = Bytes::own(producer_ids_json(first + count));
    LKS_CO_TRY(co_await meta::put(store_, std::move(put)));
    co_return first;
}

}  // namespace lakestream::catalog
