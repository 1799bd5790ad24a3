// SPDX-License-Identifier: Apache-2.0
// The log engine's metrics.
#include <string>

#include "base/format.h"
#include "log/node_engine.h"

namespace lakestream::log {

namespace {

constexpr std::array<std::string_view, flush_causes> cause_names{"idle", "linger", "slot", "full"};

}  // namespace

Duration NodeEngine::durability_lag() const {
    const auto oldest = flusher_->oldest();
    return oldest.has_value() ? scope_.executor().now() - *oldest : Duration(0);
}

void NodeEngine::register_flusher() {
    metrics::Registrations& out = registrations_;
    const FlusherMetrics& m = flusher_->metrics();
    out.add("lakestream_wal_objects_total", "WAL objects stored.", m.objects);
    out.add("lakestream_wal_object_bytes_total", "Bytes of WAL objects stored.", m.object_bytes);
    out.add("lakestream_wal_object_size_bytes", "Size of WAL objects.", m.size);
    out.add(
        "lakestream_wal_flush_age_seconds",
        "Age of the oldest entry of a WAL object when the object was cut.",
        m.age
    );
    for (std::size_t i = 0; i < flush_causes; ++i) {
        out.add(
            "lakestream_wal_flushes_total",
            "WAL objects cut, by why then: nothing was in the way (idle), log.linger was over "
            "(linger), an upload or the objects before it had to end first (slot), it holds no "
            "more (full).",
            m.cuts[i],
            {{"cause", std::string(cause_names[i])}}
        );
    }
    out.add("lakestream_wal_put_failures_total", "Attempts to store that failed.", m.put_failures);
    out.add("lakestream_wal_publishes_total", "Batches of index records written.", m.publishes);
    out.add(
        "lakestream_wal_publish_unknown_total",
        "Batches of index records whose outcome had to be looked up.",
        m.publish_unknown
    );
    out.add("lakestream_wal_resends_total", "Sections published again.", m.resends);
    out.add(
        "lakestream_wal_abandoned_total",
        "Sections that were given up before they were published; their appends have failed.",
        m.abandoned
    );
    out.add(
        "lakestream_wal_publish_seconds",
        "From a stored WAL object to answers for all of its entries.",
        m.latency
    );
    out.collect_gauge("lakestream_wal_objects_waiting", "WAL objects cut, not published.", [this] {
        return metrics::sample(static_cast<double>(flusher_->waiting()));
    });
    out.collect_gauge(
        "lakestream_wal_oldest_pending_seconds",
        "How long the oldest entry has waited that was cut and is not published; 0: none waits.",
        [this] { return metrics::sample(std::chrono::duration<double>(durability_lag()).count()); }
    );
    const auto add_age =
        [&](std::string_view name, std::string_view help, const metrics::LastSuccess& last) {
            out.collect_gauge(name, help, [this, &last] {
                return metrics::sample(last.age(scope_.executor().now()));
            });
        };
    add_age(
        "lakestream_wal_last_store_age_seconds",
        "Since a WAL object was last stored; none yet: absent.",
        m.stored
    );
    add_age(
        "lakestream_wal_last_publish_age_seconds",
        "Since index records were last written; none yet: absent.",
        m.published
    );
}

void NodeEngine::register_shards() {
    metrics::Registrations& out = registrations_;
    for (std::size_t i = 0; i < shards_.size(); ++i) {
        const metrics::Labels labels{{"shard", std::to_string(i)}};
        const ShardMetrics& m = shards_[i]->metrics();
        const SectionMetrics& sections = readers_[i]->metrics();
        out.add("lakestream_log_entries_total", "Entries taken.", m.entries, labels);
        out.add(
            "lakestream_log_duplicates_total",
            "Entries that were there already: an idempotent producer sent them again.",
            m.duplicates,
            labels
        );
        out.add("lakestream_log_voids_total", "Entries refused by verdict.", m.voids, labels);
        out.add("lakestream_log_scans_total", "Folds that needed a scan.", m.folds_by_scan, labels);
        out.add(
            "lakestream_log_append_rejections_total",
            "Entries refused because too many bytes wait to be stored.",
            m.append_rejections,
            labels
        );
        out.add("lakestream_log_tail_bytes", "Recent entries in memory.", m.tail_bytes, labels);
        const auto add_read = [&](std::string source, const metrics::Counter& counter) {
            out.add(
                "lakestream_log_read_bytes_total",
                "Payload read, by where it was found: in memory (tail), in WAL objects, in "
                "compacted ones.",
                counter,
                {{"shard", std::to_string(i)}, {"source", std::move(source)}}
            );
        };
        add_read("tail", m.read_tail_bytes);
        add_read("wal", m.read_wal_bytes);
        add_read("compacted", m.read_compacted_bytes);
        out.add(
            "lakestream_log_section_cache_hits_total",
            "Sections of WAL objects that were in the cache.",
            sections.hits,
            labels
        );
        out.add(
            "lakestream_log_section_cache_misses_total",
            "Sections of WAL objects that were fetched.",
            sections.misses,
            labels
        );
        out.add(
            "lakestream_log_section_cache_bytes", "Sections in the cache.", sections.bytes, labels
        );
    }
}

void NodeEngine::register_memory() {
    metrics::Registrations& out = registrations_;
    out.collect_gauge("lakestream_log_append_bytes", "Entries that wait to be stored.", [this] {
        return metrics::sample(static_cast<double>(append_memory_.used()));
    });
    out.collect_gauge(
        "lakestream_log_section_read_bytes",
        "Sections on their way from WAL objects.",
        [this] { return metrics::sample(static_cast<double>(section_reads_.used())); }
    );
    out.collect_gauge(
        "lakestream_log_section_reads_waiting",
        "Reads that wait until there is room for a section on its way.",
        [this] { return metrics::sample(static_cast<double>(section_reads_.waiting())); }
    );
    out.collect_gauge(
        "lakestream_log_memory_limit_bytes",
        "Limits of the log engine's memory, by setting: append, tail, section_cache, section_read.",
        {"budget"},
        [this] {
            const auto limit = [](std::string budget, std::uint64_t bytes) {
                return metrics::Sample{
                    .labels = {{"budget", std::move(budget)}},
                    .value = static_cast<double>(bytes),
                };
            };
            return std::vector<metrics::Sample>{
                limit("append", settings_.append_bytes_max),
                limit("tail", settings_.tail_cache_bytes_max),
                limit("section_cache", settings_.section_cache_bytes_max),
                limit("section_read", settings_.section_read_bytes_max),
            };
        }
    );
}

}  // namespace lakestream::log
