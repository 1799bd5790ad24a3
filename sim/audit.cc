// SPDX-License-Identifier: Apache-2.0
// Judgements on the whole.
#include "sim/audit.h"

#include <algorithm>
#include <set>

#include "base/format.h"
#include "codec/record_reader.h"
#include "compact/intent.h"
#include "index/key.h"
#include "index/record.h"
#include "log/index_value.h"
#include "log/start.h"
#include "sim/consumers.h"
#include "sim/trimmer.h"
#include "wal/object_name.h"

namespace lakestream::sim {

namespace {

using kafka_api::ErrorCode;

constexpr std::string_view fold_prefix = "/lks/fold/";
constexpr std::string_view compact_prefix = "/lks/compact/";

}  // namespace

rt::Task<void> Auditor::run() {
    for (const Partition& partition : ledger_.partitions) {
        for (const auto& host : world_.hosts) {
            Listing listing = co_await read(*host, partition);
            const auto [known, first] = read_.try_emplace(partition, listing);
            if (!first && known->second != listing) {
                world_.violated(
                    "INV-PREFIX",
                    fmt::format("{}: {} sees another log", partition.to_string(), host->name())
                );
            }
        }
    }
}

rt::Task<Result<Offset>> Auditor::load_end(Host& host, Partition partition) {
    Connection& connection = *LKS_CO_TRY(co_await connections_.get(host));
    kafka_api::ListOffsetsRequest request;
    request.topics.push_back(
        {.name = partition.topic,
         .partitions = {{.partition_index = partition.number, .timestamp = -1}}}
    );
    const auto response = LKS_CO_TRY(co_await connection.call<kafka_api::ListOffsetsResponse>(
        request, draw_version<kafka_api::ListOffsetsRequest>(rng()), executor_.now() + 30s
    ));
    const auto& answer = response.topics.at(0).partitions.at(0);
    if (answer.error_code != ErrorCode::none) {
        co_return unavailable("{}", to_string(answer.error_code));
    }
    co_return Offset(answer.offset);
}

namespace {

/// Empty when there is none.
std::string error_of(const Result<kafka_api::FetchResponse>& response) {
    if (!response.ok()) {
        return response.error().to_string();
    }
    const ErrorCode whole = response->error_code;
    const ErrorCode code =
        whole != ErrorCode::none ? whole : response->responses.at(0).partitions.at(0).error_code;
    return code == ErrorCode::none ? "" : std::string(to_string(code));
}

}  // namespace

rt::Task<Auditor::Listing> Auditor::read(Host& host, Partition partition) {
    Listing listing;
    Offset at(-1);
    while (at < Offset(0)) {
        const auto connection = co_await connections_.get(host);
        const auto start = connection.ok()
                               ? co_await load_start(**connection, executor_, ledger_, partition)
                               : Result<Offset>(connection.error());
        if (start.ok()) {
            at = *start;
            starts_[partition] = std::max(starts_[partition], at);
        } else {
            doing_ = fmt::format("the start of {}: {}", partition.to_string(), start.error());
            co_await nap(500ms);
        }
    }
    std::string failed;
    while (true) {
        const auto end = co_await load_end(host, partition);
        if (end.ok() && at >= *end && *end >= ledger_.acknowledged_end(partition)) {
            co_return listing;
        }
        doing_ = fmt::format(
            "{} reads {} from {}: {} {}",
            host.name(),
            partition.to_string(),
            at,
            end.ok() ? fmt::format("ends at {}", *end) : end.error().to_string(),
            failed
        );
        const auto connection = co_await connections_.get(host);
        if (!connection.ok()) {
            co_await nap(500ms);
            continue;
        }
        const auto response =
            co_await (*connection)
                ->call<kafka_api::FetchResponse>(
                    fetch_request(partition, ledger_.topic_ids[partition.topic], at, 50 << 20),
                    draw_version<kafka_api::FetchRequest>(rng()),
                    executor_.now() + 30s
                );
        failed = error_of(response);
        if (!failed.empty()) {
            co_await nap(500ms);
            continue;
        }
        const Bytes records =
            response->responses[0].partitions[0].records.value_or(Slices()).join();
        for (const Seen& seen : ledger_.parse(partition, at, records)) {
            if (seen.batch.has_value()) {
                listing.push_back(seen);
            }
        }
        at = ledger_.see(partition, at, records);
        co_await nap(10ms);
    }
}

void Auditor::judge() const {
    for (const auto& [partition, listing] : read_) {
        judge_acknowledged(partition, listing);
        judge_lanes(partition, listing);
        judge_queries(partition, listing);
    }
}

void Auditor::judge_same(const Auditor& before) const {
    for (const auto& [partition, listing] : read_) {
        if (before.read_.at(partition) != listing) {
            world_.violated(
                "INV-PREFIX", fmt::format("{}: compacted, it is another log", partition.to_string())
            );
        }
    }
}

TableRows Auditor::expected_rows() const {
    TableRows rows;
    for (const auto& [partition, listing] : read_) {
        auto& table = rows[partition.topic];
        for (const Seen& seen : listing) {
            const Batch& batch = ledger_.batches()[*seen.batch];
            auto reader = codec::RecordReader::open(batch.bytes, 64 << 20);
            LKS_ASSERT(reader.ok());
            for (codec::Record record; reader->next(record);) {
                table.push_back(table_row(
                    partition.number, seen.begin.v + record.offset_delta, record.key, record.value
                ));
            }
        }
    }
    return rows;
}

void Auditor::judge_acknowledged(const Partition& partition, const Listing& listing) const {
    std::map<std::size_t, Offset> visible;
    for (const Seen& seen : listing) {
        if (!visible.emplace(*seen.batch, seen.begin).second) {
            world_.violated(
                "INV-NO-DOUBLE",
                fmt::format("{}: batch {} is there twice", partition.to_string(), *seen.batch)
            );
        }
    }
    for (const Batch& batch : ledger_.batches()) {
        if (batch.partition != partition || !batch.acknowledged.has_value()) {
            continue;
        }
        if (*batch.acknowledged + batch.records <= start_of(partition)) {
            continue;  // trimmed
        }
        const auto found = visible.find(batch.id);
        if (found == visible.end() || found->second != *batch.acknowledged) {
            world_.violated(
                "INV-NO-LOSS",
                fmt::format(
                    "{}: batch {}, acknowledged at {}, is {}",
                    partition.to_string(),
                    batch.id,
                    *batch.acknowledged,
                    found == visible.end() ? "gone" : fmt::format("at {}", found->second)
                )
            );
        }
    }
}

void Auditor::judge_lanes(const Partition& partition, const Listing& listing) const {
    std::map<std::uint64_t, std::uint64_t> next;
    for (const Seen& seen : listing) {
        const Batch& batch = ledger_.batches()[*seen.batch];
        if (start_of(partition) > Offset(0)) {
            next.try_emplace(batch.lane, batch.place);  // those before may be trimmed
        }
        std::uint64_t& place = next[batch.lane];
        // A producer's sequence has no holes; on a connection some may be missing.
        if (batch.idempotent ? batch.place != place : batch.place < place) {
            world_.violated(
                "INV-ORDER",
                fmt::format(
                    "{}: batch {} at {} is number {} of lane {}, expected {}",
                    partition.to_string(),
                    batch.id,
                    seen.begin,
                    batch.place,
                    batch.lane,
                    place
                )
            );
        }
        place = batch.place + 1;
    }
}

void Auditor::judge_queries(const Partition& partition, const Listing& listing) const {
    for (const TimeQuery& query : ledger_.queries) {
        if (query.partition != partition || query.answered < start_of(partition)) {
            continue;
        }
        Offset first(-1);
        std::int64_t timestamp = -1;
        for (const Seen& seen : listing) {
            const Batch& batch = ledger_.batches()[*seen.batch];
            // A start may lie within a batch: its records before it answer no question.
            const auto trimmed =
                std::clamp<std::int64_t>(start_of(partition) - seen.begin, 0, batch.records);
            const auto found = std::find_if(
                batch.timestamps.begin() + trimmed,
                batch.timestamps.end(),
                [&](std::int64_t each) { return each >= query.timestamp; }
            );
            if (found != batch.timestamps.end()) {
                first = seen.begin + (found - batch.timestamps.begin());
                timestamp = *found;
                break;
            }
        }
        if (first != query.answered || timestamp != query.answered_timestamp) {
            world_.violated(
                "INV-NO-LOSS",
                fmt::format(
                    "{}: the first record at or after {} is at {} ({}), answered was {} ({})",
                    partition.to_string(),
                    query.timestamp,
                    first,
                    timestamp,
                    query.answered,
                    query.answered_timestamp
                )
            );
        }
    }
}

namespace {

struct Index {
    std::map<LogId, std::vector<meta::Record>> records;
    std::map<LogId, Offset> starts;
    std::map<LogId, std::string> intents;  // locations
    std::map<LogId, Bytes> snapshots;
};

Index load_index(World& world) {
    Index index;
    const auto all = world.metadata.scan({.begin = "", .end = "", .partition_key = {}});
    LKS_ASSERT(all.ok());
    for (const meta::Record& record : *all) {
        if (const auto key = index::parse_key(record.key); key.ok()) {
            index.records[key->log].push_back(record);
        } else if (record.key.starts_with(fold_prefix)) {
            index.snapshots[LogId(std::stoll(record.key.substr(fold_prefix.size())))] =
                record.value;
        } else if (const auto log = log::trimmed_log(record.key)) {
            const auto start = index::parse_mark(record.value);
            LKS_ASSERT(start.ok());
            index.starts[*log] = std::max(index.starts[*log], *start);
        } else if (record.key.starts_with(compact_prefix)) {
            const auto state = compact::decode_state(record.value);
            LKS_ASSERT(state.ok());
            if (state->intent.has_value()) {
                index.intents[LogId(std::stoll(record.key.substr(compact_prefix.size())))] =
                    state->intent->location;
            }
        }
    }
    return index;
}

/// The files of a compacted record, by the name that ends the object's: the folder is the topic's.
bool has_pair(const World& world, const std::string& location) {
    const std::string stem = location.substr(0, location.rfind('.'));
    std::size_t found = 0;
    std::string after;
    for (bool more = true; more;) {
        const auto page = world.compacted.list("", after, objstore::list_limit_max);
        LKS_ASSERT(page.ok());
        for (const objstore::ObjectInfo& object : page->objects) {
            after = object.name;
            found += object.name.ends_with("/" + stem + ".parquet") ||
                             object.name.ends_with("/" + stem + ".index")
                         ? 1
                         : 0;
        }
        more = page->more;
    }
    return found == 2;
}

/// Where the index of a log begins: before its start something may be gone.
Offset first_begin(const std::vector<meta::Record>& records, Offset start) {
    const auto value = index::IndexRecord::decode(records.front().value);
    const auto key = index::parse_key(records.front().key);
    LKS_ASSERT(value.ok() && key.ok());
    return std::min(key->end - value->message_count, start);
}

/// INV-COVER, INV-SNAPSHOT: without a gap, and compacted only as far as the snapshot goes.
void audit_compacted(
    World& world,
    LogId log,
    const std::vector<meta::Record>& records,
    const std::optional<log::FoldState>& snapshot,
    Offset start
) {
    Offset end = first_begin(records, start);
    for (const meta::Record& record : records) {
        const auto value = index::IndexRecord::decode(record.value);
        const auto key = index::parse_key(log, record.key);
        LKS_ASSERT(value.ok() && key.ok());
        const Offset begin = key->end - value->message_count;
        const bool compacted = value->file_type != index::FileType::raw;
        if (compacted ? begin > end : begin != end) {
            world.violated(
                "INV-COVER",
                fmt::format("log {}: {} begins at {} behind {}", log, record.key, begin, end)
            );
        }
        end = key->end;
        if (compacted && (!snapshot.has_value() || snapshot->end < end)) {
            world.violated(
                "INV-SNAPSHOT", fmt::format("log {}: compacted to {} beyond the snapshot", log, end)
            );
        }
        const OffsetRange range{begin, end};
        const bool is_void = snapshot.has_value() && snapshot->end >= end &&
                             snapshot->voids_in(range) == std::vector{range};
        if (end > start && !compacted && !is_void && !world.bucket.head(value->location).ok()) {
            world.violated(
                "INV-ACK-DURABLE", fmt::format("log {}: object {} is missing", log, value->location)
            );
        }
        if (compacted && end > start && !has_pair(world, value->location)) {
            world.violated(
                "INV-ACK-DURABLE",
                fmt::format("log {}: the pair {} is missing", log, value->location)
            );
        }
    }
}

/// Fold the records of a log and compare on the way with its snapshot.
void audit_log(
    World& world,
    LogId log,
    const std::vector<meta::Record>& records,
    const std::optional<log::FoldState>& snapshot,
    Offset start
) {
    log::FoldState state;
    const Offset begin = first_begin(records, start);
    if (begin > Offset(0)) {
        if (!snapshot.has_value() || snapshot->end < begin) {
            world.violated(
                "INV-SNAPSHOT", fmt::format("log {}: trimmed to {} beyond the snapshot", log, begin)
            );
            return;
        }
        state = *snapshot;
    }
    for (const meta::Record& record : records) {
        const auto value = index::IndexRecord::decode(record.value);
        const auto key = index::parse_key(log, record.key);
        LKS_ASSERT(value.ok() && key.ok());
        const OffsetRange range{key->end - value->message_count, key->end};
        const auto judge_object = [&] {
            // What was published too late may have lost its object before.
            if (key->end > start && state.voids_in(range) != std::vector{range} &&
                !world.bucket.head(value->location).ok()) {
                world.violated(
                    "INV-ACK-DURABLE",
                    fmt::format("log {}: object {} is missing", log, value->location)
                );
            }
        };
        if (begin > Offset(0) && key->end <= snapshot->end) {
            judge_object();
            continue;
        }
        const auto folded = log::to_fold_record(log, record, *value);
        if (!folded.ok() || folded->range.begin != state.end) {
            world.violated("INV-PREFIX", fmt::format("log {}: {} does not join", log, record.key));
            return;
        }
        log::fold(state, *folded);
        judge_object();
        if (snapshot.has_value() && state.end == snapshot->end && state != *snapshot) {
            world.violated(
                "INV-PREFIX",
                fmt::format("log {}: the fold snapshot at {} is another", log, state.end)
            );
        }
    }
    if (snapshot.has_value() && snapshot->end > state.end) {
        world.violated(
            "INV-PREFIX",
            fmt::format("log {}: a snapshot to {}, records to {}", log, snapshot->end, state.end)
        );
    }
}

}  // namespace

void audit_index(World& world) {
    const Index index = load_index(world);
    for (const auto& [log, records] : index.records) {
        if (world.metadata
                .get({.key = index::fence_key(log), .partition_key = index::partition_key(log)})
                .ok()) {
            continue;  // what is written to a dead log is garbage
        }
        std::optional<log::FoldState> snapshot;
        if (const auto found = index.snapshots.find(log); found != index.snapshots.end()) {
            auto decoded = log::decode_fold(found->second);
            LKS_ASSERT(decoded.ok());
            snapshot = std::move(*decoded);
        }
        const auto trimmed = index.starts.find(log);
        const Offset start = trimmed == index.starts.end() ? Offset(0) : trimmed->second;
        const bool compacted = std::ranges::any_of(records, [](const meta::Record& record) {
            const auto value = index::IndexRecord::decode(record.value);
            return value.ok() && value->file_type != index::FileType::raw;
        });
        if (compacted) {
            audit_compacted(world, log, records, snapshot, start);
        } else {
            audit_log(world, log, records, snapshot, start);
        }
    }
}

std::optional<WallTime> newest_object(const World& world) {
    std::optional<WallTime> newest;
    std::string after;
    for (bool more = true; more;) {
        const auto page = world.bucket.list("", after, objstore::list_limit_max);
        LKS_ASSERT(page.ok());
        for (const objstore::ObjectInfo& object : page->objects) {
            after = object.name;
            newest = std::max(newest, wal::object_date(object.name));
        }
        more = page->more;
    }
    return newest;
}

void audit_garbage(World& world) {
    const Index index = load_index(world);
    std::set<std::string> wal;
    std::set<std::string> pairs;
    for (const auto& [log, location] : index.intents) {
        pairs.insert(location);
    }
    for (const auto& [log, records] : index.records) {
        const auto known = index.starts.find(log);
        const Offset start = known == index.starts.end() ? Offset(0) : known->second;
        for (const meta::Record& record : records) {
            const auto value = index::IndexRecord::decode(record.value);
            const auto key = index::parse_key(log, record.key);
            LKS_ASSERT(value.ok() && key.ok());
            if (key->end > start) {
                (value->file_type == index::FileType::raw ? wal : pairs).insert(value->location);
            } else if (&record != &records.back() && key->end <= start) {
                world.violated(
                    "CLEAN", fmt::format("log {}: {} ends before its start", log, record.key)
                );
            }
        }
    }
    const auto judge = [&](const objstore::MemoryBucket& bucket, auto is_needed) {
        std::string after;
        for (bool more = true; more;) {
            const auto page = bucket.list("", after, objstore::list_limit_max);
            LKS_ASSERT(page.ok());
            for (const objstore::ObjectInfo& object : page->objects) {
                after = object.name;
                if (!is_needed(object.name)) {
                    world.violated("CLEAN", fmt::format("nobody needs {}", object.name));
                }
            }
            more = page->more;
        }
    };
    judge(world.bucket, [&](const std::string& name) { return wal.contains(name); });
    judge(world.compacted, [&](const std::string& name) {
        const std::string file = name.substr(name.rfind('/') + 1);
        return pairs.contains(file.substr(0, file.rfind('.')) + ".parquet");
    });
}

void audit_memory(World& world) {
    const std::set<std::string_view> empty_at_rest = {
        "lakestream_kafka_connections",
        "lakestream_kafka_request_bytes",
    };
    for (const auto& host : world.hosts) {
        for (const metrics::Entry& entry : host->life().metrics.entries()) {
            if (entry.kind != metrics::Entry::Kind::gauge || !empty_at_rest.contains(entry.name)) {
                continue;
            }
            const auto value = static_cast<const metrics::Gauge*>(entry.metric)->value();
            if (value != 0) {
                world.violated(
                    "INV-BOUNDED",
                    fmt::format("{}: {} is {} at rest", host->name(), entry.name, value)
                );
            }
        }
    }
}

}  // namespace lakestream::sim
