// SPDX-License-Identifier: Apache-2.0
// The draw: a random subset of faults with wildly different weights, and limits from tiny to huge.
#include "sim/knobs.h"

#include <fmt/format.h>

#include <algorithm>

#include "log/fold.h"

namespace lakestream::sim {

namespace {

using Rng = rt::Rng;

/// Off in most worlds, else rare or frequent.
template <class Ratio>
void draw_ratio(Rng& rng, Ratio& ratio, std::uint64_t at_least_one_in) {
    if (rng.chance(2, 5)) {
        ratio = {1, at_least_one_in * pick<std::uint64_t>(rng, {1, 3, 10, 50})};
    }
}

objstore::FaultOptions draw_objects(Rng& rng, std::uint64_t mildness) {
    objstore::FaultOptions options;
    objstore::FaultRule rule;
    for (objstore::FaultRates& rates : rule.rates.values) {
        draw_ratio(rng, rates.fail_before, mildness);
        draw_ratio(rng, rates.lose_answer, mildness);
        draw_ratio(rng, rates.apply_late, mildness);
        draw_ratio(rng, rates.throttle, mildness * 10);
        draw_ratio(rng, rates.disk_full, mildness * 5);
        draw_ratio(rng, rates.decayed, mildness * 2);
        draw_ratio(rng, rates.short_body, mildness);
        draw_ratio(rng, rates.flipped_bit, mildness * 2);
        draw_ratio(rng, rates.wrong_range, mildness * 2);
        draw_ratio(rng, rates.slow, mildness * 2);
    }
    options.rules.push_back(rule);
    options.latency_min = pick<Duration>(rng, {0ms, 1ms, 10ms});
    options.latency_max = options.latency_min + pick<Duration>(rng, {0ms, 5ms, 100ms});
    options.slow_max = pick<Duration>(rng, {100ms, 3s, 30s});
    options.late_max = pick<Duration>(rng, {100ms, 10s, 120s});
    options.throttle_burst = pick<Duration>(rng, {100ms, 2s});
    options.settle = pick<Duration>(rng, {0ms, 0ms, 0ms, 50ms, 2s});
    return options;
}

meta::testing::MetadataFaults draw_metadata(Rng& rng, std::uint64_t mildness) {
    meta::testing::MetadataFaults faults;
    draw_ratio(rng, faults.refuse, mildness);
    draw_ratio(rng, faults.drop, mildness);
    draw_ratio(rng, faults.lose_answer, mildness);
    draw_ratio(rng, faults.apply_late, mildness);
    draw_ratio(rng, faults.fail_read, mildness);
    draw_ratio(rng, faults.cut_scan, mildness);
    draw_ratio(rng, faults.delay_change, mildness);
    draw_ratio(rng, faults.repeat_change, mildness);
    draw_ratio(rng, faults.gap, mildness);
    faults.late_max = pick<Duration>(rng, {10ms, 5s, 60s});
    faults.change_delay_max = pick<Duration>(rng, {10ms, 2s, 20s});
    faults.request_delay_max = pick<Duration>(rng, {0ms, 3ms, 50ms});
    faults.answer_delay_max = pick<Duration>(rng, {0ms, 3ms, 50ms});
    return faults;
}

net::SimWiresOptions draw_wires(Rng& rng) {
    net::SimWiresOptions wires;
    wires.latency_max = pick<Duration>(rng, {20us, 2ms, 50ms});
    wires.window_bytes = pick<std::size_t>(rng, {2 << 10, 64 << 10, 1 << 20});
    wires.segment_bytes_max = pick<std::size_t>(rng, {100, 1500, 64 << 10});
    wires.resets_per_million_segments = pick<std::uint64_t>(rng, {0, 0, 10, 1000});
    return wires;
}

log::EngineSettings draw_log(Rng& rng) {
    log::EngineSettings log;
    log.object_bytes_max = pick<std::uint64_t>(rng, {200, 4 << 10, 16 << 20});
    log.uploads_max = pick<std::size_t>(rng, {1, 2, 4, 16});
    log.objects_waiting_max = pick<std::size_t>(rng, {1, 3, 32});
    log.publish_puts_max = pick<std::size_t>(rng, {1, 3, 10'000});
    log.publish_bytes_max = pick<std::uint64_t>(rng, {1, 1 << 10, 4 << 20});
    log.linger = pick<Duration>(rng, {0ms, 0ms, 1ms, 50ms});
    log.append_bytes_max = pick<std::uint64_t>(rng, {256 << 10, 1 << 20, 64 << 20});
    log.tail_cache_bytes_max = pick<std::uint64_t>(rng, {0, 1 << 10, 64 << 10, 64 << 20});
    log.section_cache_bytes_max = pick<std::uint64_t>(rng, {0, 4 << 10, 64 << 20});
    log.section_read_bytes_max = pick<std::uint64_t>(rng, {0, 4 << 10, 64 << 20});
    log.header_cache_objects_max = pick<std::size_t>(rng, {1, 4, 1024});
    log.snapshot_records = pick<std::size_t>(rng, {1, 7, 50, 1000});
    log.store_failure_patience = pick<Duration>(rng, {10ms, 2s});
    log.backoff_max = pick<Duration>(rng, {50ms, 2s});
    log.damage_patience = pick<Duration>(rng, {1s, 5s});
    return log;
}

kafka::ServerOptions draw_kafka(Rng& rng) {
    kafka::ServerOptions kafka;
    kafka.connection.requests_in_flight_max = pick<std::uint32_t>(rng, {1, 5, 128});
    kafka.connection.bytes_in_flight_max = pick<std::uint64_t>(rng, {4 << 10, 128 << 20});
    kafka.connection.idle_max = pick<Duration>(rng, {3s, 600s});
    kafka.shard.request_bytes = pick<std::uint64_t>(rng, {1 << 20, 256 << 20});
    kafka.shard.response_bytes = pick<std::uint64_t>(rng, {1 << 20, 256 << 20});
    kafka.shard.fetch_bytes_floor = pick<std::uint64_t>(rng, {1 << 10, 256 << 10});
    kafka.shard.fetch_sessions_max = pick<std::size_t>(rng, {0, 2, 1000});
    kafka.shard.fetch_session_partitions_max = pick<std::size_t>(rng, {3, 200'000});
    kafka.shard.fetch_session_age_min = pick<Duration>(rng, {0s, 120s});
    kafka.broker.auto_create_topics = rng.chance(1, 2);
    kafka.broker.fetch_bytes_max = pick<std::uint32_t>(rng, {1 << 10, 55 << 20});
    kafka.broker.producer_ids_block = pick<std::int64_t>(rng, {1, 10, 1000});
    kafka.broker.time_searches_max = pick<std::size_t>(rng, {1, 8});
    return kafka;
}

compact::CompactorSettings draw_compact(Rng& rng) {
    compact::CompactorSettings compact;
    compact.tick = pick<Duration>(rng, {50ms, 500ms, 3s});
    compact.table_interval = pick<Duration>(rng, {2s, 10s, 30s});
    compact.table_file_bytes_max = pick<std::uint64_t>(rng, {10'000, 1 << 20, 16 << 20});
    compact.compact_bytes = pick<std::uint64_t>(rng, {1000, 20'000, 1 << 20});
    compact.compact_bytes_max = pick<std::uint64_t>(rng, {3000, 100'000, 1 << 20});
    compact.compact_age = pick<Duration>(rng, {500ms, 5s, 60s});
    compact.merge_objects = pick<std::uint64_t>(rng, {0, 2, 4, 8});
    compact.spill_segment_bytes = pick<std::uint64_t>(rng, {500, 1 << 20});
    compact.spill_bytes_max =
        compact.spill_segment_bytes + pick<std::uint64_t>(rng, {30'000, 1 << 20});
    compact.tables_default = true;
    return compact;
}

clean::CleanSettings draw_clean(Rng& rng) {
    clean::CleanSettings clean;
    clean.interval = pick<Duration>(rng, {300ms, 3s, 30s});
    clean.readers_grace = pick<Duration>(rng, {0ms, 1s, 20s});
    // By the metadata store's clock, which is never set back here: then A is enough.
    clean.unreferenced_age = log::publish_window + pick<Duration>(rng, {1s, 10min});
    clean.objects_per_pass = pick<std::size_t>(rng, {3, 50, 20'000});
    clean.retention_interval = pick<Duration>(rng, {1s, 30s});
    return clean;
}

WorkloadKnobs draw_workload(Rng& rng) {
    WorkloadKnobs work;
    work.topics = rng.between(1, 2);
    work.partitions = pick<std::size_t>(rng, {1, 2, 5});
    work.producers = rng.between(1, 3);
    work.plain = rng.between(0, 2);
    work.consumers = rng.between(1, 2);
    work.rereaders = rng.between(0, 1);
    work.time_seekers = rng.between(0, 1);
    work.churners = rng.chance(1, 4) ? 1 : 0;
    work.lane_batches = pick<std::size_t>(rng, {15, 40, 120});
    work.in_flight = rng.between(1, 5);
    work.records_max = pick<std::size_t>(rng, {1, 5, 50});
    work.value_bytes_max = pick<std::size_t>(rng, {10, 300, 3000});
    work.think_max = pick<Duration>(rng, {0ms, 20ms, 1s});
    return work;
}

Duration sometimes(Rng& rng, Duration mean) {
    return rng.chance(2, 5) ? mean / pick<std::int64_t>(rng, {1, 3}) : Duration(0);
}

NemesisKnobs draw_nemeses(Rng& rng) {
    NemesisKnobs nemeses;
    nemeses.crash_steps = rng.chance(1, 2) ? pick<std::uint64_t>(rng, {3000, 15'000, 50'000}) : 0;
    nemeses.down_max = pick<Duration>(rng, {10ms, 2s, 20s});
    nemeses.restart_every = sometimes(rng, 40s);
    nemeses.drain_max = pick<Duration>(rng, {0ms, 300ms, 10s});
    nemeses.pause_every = sometimes(rng, 30s);
    nemeses.pause_max = pick<Duration>(rng, {100ms, 5s, 40s});
    nemeses.cut_every = sometimes(rng, 30s);
    nemeses.cut_max = pick<Duration>(rng, {100ms, 5s, 40s});
    nemeses.reset_every = sometimes(rng, 20s);
    nemeses.storm_every = sometimes(rng, 30s);
    nemeses.storm_max = pick<Duration>(rng, {1s, 10s, 60s});
    nemeses.full_every = sometimes(rng, 40s);
    nemeses.skew_every = sometimes(rng, 30s);
    nemeses.skew_max = pick<Duration>(rng, {100ms, 30s, 2h});
    return nemeses;
}

void no_faults(Knobs& knobs) {
    knobs.objects.rules.clear();
    knobs.objects.settle = Duration(0);
    knobs.metadata = {
        .request_delay_max = knobs.metadata.request_delay_max,
        .answer_delay_max = knobs.metadata.answer_delay_max,
    };
    knobs.wires.resets_per_million_segments = 0;
    knobs.nemeses = {};
}

void only_crashes(Knobs& knobs, Rng& rng) {
    no_faults(knobs);
    knobs.nemeses.crash_steps = pick<std::uint64_t>(rng, {1000, 4000, 12'000});
    knobs.nemeses.down_max = pick<Duration>(rng, {1ms, 500ms, 5s});
}

void bad_stores(Knobs& knobs, Rng& rng) {
    knobs.objects = draw_objects(rng, 8);
    knobs.metadata = draw_metadata(rng, 8);
    knobs.nemeses.storm_every = 15s;
    knobs.workload.plain = 2;
}

void many_nodes(Knobs& knobs, Rng& rng) {
    knobs.nodes = 3;
    knobs.workload.topics = 1;
    knobs.workload.partitions = rng.between(1, 2);
    knobs.workload.plain = 1;
    knobs.metadata = draw_metadata(rng, 10);
}

/// The publish window of 30 minutes is met: nodes sleep through it, clocks are hours apart.
void long_windows(Knobs& knobs, Rng& rng) {
    knobs.nodes = rng.between(2, 3);
    knobs.nemeses = {};
    knobs.nemeses.pause_every = 10min;
    knobs.nemeses.pause_max = 50min;
    knobs.nemeses.skew_every = 15min;
    knobs.nemeses.skew_max = 3h;
    knobs.metadata.late_max = pick<Duration>(rng, {5s, 20min, 45min});
    knobs.workload.think_max = pick<Duration>(rng, {1min, 5min});
    knobs.workload.plain = 1;
    knobs.chaos = 3h;
}

void topics_come_and_go(Knobs& knobs, Rng& rng) {
    knobs.workload.churners = rng.between(1, 3);
    knobs.workload.producers = 1;
}

/// Every node takes itself for the coordinator of every group.
void groups(Knobs& knobs, Rng& rng) {
    knobs.workload.topics = 1;
    knobs.workload.partitions = rng.between(1, 4);
    knobs.workload.producers = 1;
    knobs.workload.consumers = 0;
    knobs.workload.groups = rng.between(1, 3);
    knobs.workload.members = rng.between(1, 4);
    knobs.workload.think_max = pick<Duration>(rng, {50ms, 500ms});
    knobs.kafka.groups.initial_rebalance_delay = pick<Duration>(rng, {0ms, 1s});
    knobs.metadata = draw_metadata(rng, 10);
    knobs.chaos = pick<Duration>(rng, {60s, 180s});
}

/// Several compactors on every log, committers on every table, and crashes between their steps.
void compacted_logs(Knobs& knobs, Rng& rng) {
    knobs.nodes = rng.between(1, 3);
    knobs.workload.topics = 1;
    knobs.workload.partitions = rng.between(1, 3);
    knobs.workload.producers = rng.between(1, 2);
    knobs.workload.lane_batches = pick<std::size_t>(rng, {15, 40});
    knobs.workload.plain = 1;
    knobs.workload.rereaders = 1;
    knobs.workload.time_seekers = 1;
    knobs.workload.think_max = pick<Duration>(rng, {20ms, 1s});
    knobs.nemeses.crash_steps = pick<std::uint64_t>(rng, {0, 2000, 10'000});
    knobs.nemeses.down_max = pick<Duration>(rng, {1ms, 2s});
    knobs.chaos = pick<Duration>(rng, {10s, 40s});
    knobs.compaction = true;
}

/// Compacted logs are trimmed and cleaned; half of the worlds are long enough for WAL objects to
/// go while clients write and read.
void cleaned_logs(Knobs& knobs, Rng& rng) {
    compacted_logs(knobs, rng);
    knobs.cleaning = true;
    knobs.clean = draw_clean(rng);
    knobs.workload.trimmers = rng.between(1, 2);
    knobs.workload.churners = rng.chance(1, 3) ? 1 : 0;
    if (rng.chance(1, 2)) {
        knobs.compact.tick = pick<Duration>(rng, {3s, 20s});
        knobs.compact.table_interval = 1min;
        knobs.compact.compact_age = pick<Duration>(rng, {10s, 5min});
        knobs.clean.interval = pick<Duration>(rng, {10s, 3min});
        knobs.workload.think_max = pick<Duration>(rng, {1min, 4min});
        knobs.nemeses.pause_every = rng.chance(1, 2) ? Duration(10min) : Duration(0);
        knobs.nemeses.pause_max = pick<Duration>(rng, {1min, 50min});
        knobs.nemeses.crash_steps = pick<std::uint64_t>(rng, {0, 10'000, 50'000});
        knobs.metadata.late_max = pick<Duration>(rng, {5s, 20min, 45min});
        knobs.chaos = 3h;
    }
}

struct Scenario {
    ScenarioName name;
    void (*adjust)(Knobs&, Rng&);
};

constexpr Scenario scenarios[] = {
    {{"calm", "no faults: everything works, and an idle node sends nothing"},
     [](Knobs& knobs, Rng&) { no_faults(knobs); }},
    {{"swarm", "a random subset of all faults"}, [](Knobs&, Rng&) {}},
    {{"crash", "SIGKILL between all steps, and nothing else"}, only_crashes},
    {{"stores", "stores that fail, lose answers and apply late"}, bad_stores},
    {{"nodes", "three nodes append to the same logs"}, many_nodes},
    {{"window", "nodes sleep through the publish window, clocks are hours apart"}, long_windows},
    {{"topics", "topics are created, deleted and created again"}, topics_come_and_go},
    {{"groups", "members of consumer groups go from node to node, and sleep, and are replaced"},
     groups},
    {{"tables", "several compactors and committers, killed between their steps"}, compacted_logs},
    {{"cleaning", "trimmed and cleaned while it is read, written, compacted and killed"},
     cleaned_logs},
    {{"swarm_tables", "swarm with compactors; only when asked for, while seeds are open", true},
     [](Knobs& knobs, Rng&) { knobs.compaction = true; }},
};

}  // namespace

std::vector<ScenarioName> scenario_names() {
    std::vector<ScenarioName> names;
    for (const Scenario& scenario : scenarios) {
        names.push_back(scenario.name);
    }
    return names;
}

Knobs draw_knobs(std::string_view scenario, std::uint64_t seed) {
    Rng rng(seed);
    Knobs knobs;
    knobs.seed = seed;
    knobs.nodes = rng.between(1, 3);
    knobs.shards = rng.between(1, 2);
    knobs.metadata_shards = pick<std::size_t>(rng, {1, 1, 2, 4});
    knobs.chaos = pick<Duration>(rng, {10s, 60s, 180s});
    knobs.wires = draw_wires(rng);
    knobs.log = draw_log(rng);
    knobs.kafka = draw_kafka(rng);
    knobs.objects = draw_objects(rng, 60);
    knobs.objects_storm = draw_objects(rng, 3);
    knobs.metadata = draw_metadata(rng, 60);
    knobs.metadata_storm = draw_metadata(rng, 3);
    knobs.workload = draw_workload(rng);
    knobs.nemeses = draw_nemeses(rng);
    knobs.compact = draw_compact(rng);
    for (const Scenario& each : scenarios) {
        if (each.name.name == scenario) {
            each.adjust(knobs, rng);
        }
    }
    // Late writes of a node that died, or another node's, are learned from notifications.
    knobs.log.shared_metadata = true;
    return knobs;
}

namespace {

std::string faults_of(const objstore::FaultOptions& options) {
    std::string text;
    for (const objstore::FaultRule& rule : options.rules) {
        for (std::size_t i = 0; i < objstore::operation_count; ++i) {
            const objstore::FaultRates& rates = rule.rates.values[i];
            const std::pair<std::string_view, objstore::Ratio> all[] = {
                {"fail", rates.fail_before},
                {"lose", rates.lose_answer},
                {"late", rates.apply_late},
                {"throttle", rates.throttle},
                {"full", rates.disk_full},
                {"decayed", rates.decayed},
                {"short", rates.short_body},
                {"bit", rates.flipped_bit},
                {"range", rates.wrong_range},
                {"slow", rates.slow},
            };
            for (const auto& [name, ratio] : all) {
                if (ratio.numerator > 0) {
                    text += fmt::format(
                        " {}.{}=1/{}", objstore::operation_names.values[i], name, ratio.denominator
                    );
                }
            }
        }
    }
    return text +
           fmt::format(" settle={}ms late_max={}ms", options.settle / 1ms, options.late_max / 1ms);
}

std::string faults_of(const meta::testing::MetadataFaults& faults) {
    const std::pair<std::string_view, meta::testing::Ratio> all[] = {
        {"refuse", faults.refuse},
        {"drop", faults.drop},
        {"lose", faults.lose_answer},
        {"late", faults.apply_late},
        {"fail_read", faults.fail_read},
        {"cut_scan", faults.cut_scan},
        {"delay_change", faults.delay_change},
        {"repeat_change", faults.repeat_change},
        {"gap", faults.gap},
    };
    std::string text;
    for (const auto& [name, ratio] : all) {
        if (ratio.times > 0) {
            text += fmt::format(" {}=1/{}", name, ratio.of);
        }
    }
    return text + fmt::format(" late_max={}ms", faults.late_max / 1ms);
}

/// The lines of the compactor and the cleaner.
std::string background_of(const Knobs& knobs) {
    const compact::CompactorSettings& compact = knobs.compact;
    return fmt::format(
        "compaction={} tick={}ms interval={}ms file={} bytes={}-{} age={}ms merge={} spill={} "
        "segment={}\n"
        "cleaning={} interval={}ms grace={}ms age={}s per_pass={} trimmers={}\n",
        knobs.compaction,
        compact.tick / 1ms,
        compact.table_interval / 1ms,
        compact.table_file_bytes_max,
        compact.compact_bytes,
        compact.compact_bytes_max,
        compact.compact_age / 1ms,
        compact.merge_objects,
        compact.spill_bytes_max,
        compact.spill_segment_bytes,
        knobs.cleaning,
        knobs.clean.interval / 1ms,
        knobs.clean.readers_grace / 1ms,
        knobs.clean.unreferenced_age / 1s,
        knobs.clean.objects_per_pass,
        knobs.workload.trimmers
    );
}

}  // namespace

std::string describe(const Knobs& knobs) {
    const log::EngineSettings& log = knobs.log;
    const kafka::ServerOptions& kafka = knobs.kafka;
    const WorkloadKnobs& work = knobs.workload;
    return fmt::format(
        "nodes={} shards={} metadata_shards={} chaos={}s\n"
        "log: object={} uploads={} waiting={} puts={} publish={} linger={}ms append={} tail={} "
        "sections={} reads={} headers={} snapshot={}\n"
        "kafka: requests={} bytes={} shard_requests={} shard_responses={} floor={} sessions={} "
        "fetch_max={}\n"
        "work: topics={} partitions={} producers={} plain={} consumers={} rereaders={} seekers={} "
        "churners={} groups={}x{} in_flight={} records={} value={} think={}ms\n"
        "{}objects:{}\nmetadata:{}",
        knobs.nodes,
        knobs.shards,
        knobs.metadata_shards,
        knobs.chaos / 1s,
        log.object_bytes_max,
        log.uploads_max,
        log.objects_waiting_max,
        log.publish_puts_max,
        log.publish_bytes_max,
        log.linger / 1ms,
        log.append_bytes_max,
        log.tail_cache_bytes_max,
        log.section_cache_bytes_max,
        log.section_read_bytes_max,
        log.header_cache_objects_max,
        log.snapshot_records,
        kafka.connection.requests_in_flight_max,
        kafka.connection.bytes_in_flight_max,
        kafka.shard.request_bytes,
        kafka.shard.response_bytes,
        kafka.shard.fetch_bytes_floor,
        kafka.shard.fetch_sessions_max,
        kafka.broker.fetch_bytes_max,
        work.topics,
        work.partitions,
        work.producers,
        work.plain,
        work.consumers,
        work.rereaders,
        work.time_seekers,
        work.churners,
        work.groups,
        work.members,
        work.in_flight,
        work.records_max,
        work.value_bytes_max,
        work.think_max / 1ms,
        background_of(knobs),
        faults_of(knobs.objects),
        faults_of(knobs.metadata)
    );
}

}  // namespace lakestream::sim
