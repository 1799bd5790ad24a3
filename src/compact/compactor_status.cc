// SPDX-License-Identifier: Apache-2.0
// What the compactor has left to do, and its metrics.
#include <algorithm>
#include <utility>

#include "base/format.h"
#include "compact/compactor.h"

namespace lakestream::compact {

namespace {

constexpr Duration status_interval = 1s;

/// Tables told apart in metrics: those that are furthest behind.
constexpr std::size_t tables_listed_max = 1000;

std::optional<MonoTime> earlier(std::optional<MonoTime> a, MonoTime b) {
    return a.has_value() ? std::min(*a, b) : b;
}

double seconds_since(std::optional<MonoTime> since, MonoTime now) {
    return since.has_value() ? std::chrono::duration<double>(now - *since).count() : 0;
}

std::string full_name(const catalog::StreamName& name) {
    return name.ns == "default" ? name.name : fmt::format("{}/{}", name.ns, name.name);
}

}  // namespace

MonoTime Compactor::since(LogId log, const LogWork& work, Offset from) const {
    const MonoTime now = seams_.executor.now();
    const Chunk* const chunk = spill_.find(log, from);
    if (chunk == nullptr || chunk->created == WallTime()) {
        return work.known_since == MonoTime() ? now : work.known_since;
    }
    // A clock that was set back makes nothing younger than now.
    const Duration age = seams_.executor.clock().wall_now() - chunk->created;
    return now - std::max(age, Duration(0));
}

TableStatus Compactor::status_of(const TableWork& table) const {
    TableStatus status{
        .stream = table.stream->name,
        .state = table.aside  ? TableState::suspended
                 : table.open ? TableState::open
                              : TableState::opening,
        .reason = table.reason,
        .last_commit = table.last_commit,
    };
    for (const LogId log : table.stream->logs) {
        const auto work = logs_.find(log);
        const Offset from = table.position(log);
        if (work != logs_.end() && work->second.known_end > from) {
            status.lag_records += work->second.known_end - from;
            status.behind_since = earlier(status.behind_since, since(log, work->second, from));
        }
    }
    return status;
}

void Compactor::update_status() {
    const MonoTime now = seams_.executor.now();
    if (now < next_status_) {
        return;
    }
    next_status_ = now + status_interval;
    CompactorStatus status;
    std::int64_t outside = 0;  // records that are not brought in
    for (const auto& [log, work] : logs_) {
        const Offset cursor = work.state.state.cursor;
        if (work.known_end > cursor) {
            status.backlog_records += work.known_end - cursor;
            outside += std::max<std::int64_t>(work.known_end - std::max(work.spilled, cursor), 0);
            status.backlog_since = earlier(status.backlog_since, since(log, work, cursor));
        }
    }
    if (spill_.records() > 0) {
        record_bytes_ =
            static_cast<double>(spill_.payload_bytes()) / static_cast<double>(spill_.records());
    }
    status.backlog_bytes = spill_.payload_bytes() +
                           static_cast<std::uint64_t>(static_cast<double>(outside) * record_bytes_);
    for (const auto& [name, table] : tables_) {
        if (table.stream != nullptr) {
            status.tables.push_back(status_of(table));
        }
    }
    status_ = std::move(status);
}

void Compactor::register_metrics() {
    metrics::Registrations& out = registrations_;
    const CompactorMetrics& m = metrics_;
    out.add("lakestream_compact_wal_fetches_total", "WAL objects fetched.", m.wal_fetches);
    out.add("lakestream_compact_wal_bytes_total", "Bytes of WAL objects fetched.", m.wal_bytes);
    out.add("lakestream_compact_objects_total", "Compacted objects written.", m.compacted);
    out.add("lakestream_compact_payload_bytes_total", "Payload in them.", m.compacted_bytes);
    out.add("lakestream_compact_merges_total", "Compacted objects made of smaller ones.", m.merges);
    out.add("lakestream_compact_merged_bytes_total", "Payload in them.", m.merged_bytes);
    out.add("lakestream_compact_failures_total", "Rounds or parts that failed.", m.failures);
    out.add("lakestream_compact_spill_bytes", "Bytes on the spill disk.", m.spill_bytes);
    out.add("lakestream_table_commits_total", "Commits to tables.", m.table_commits);
    out.add("lakestream_table_rows_total", "Rows committed to tables.", m.table_rows);
    out.add(
        "lakestream_table_unreadable_records_total",
        "Records in no table, because their batch does not decode.",
        m.table_unreadable
    );
    out.add(
        "lakestream_table_commit_seconds",
        "Time of a commit, from writing its data file on.",
        m.table_commit
    );
    const auto add_gauge = [&](std::string_view name, std::string_view help, auto value) {
        out.collect_gauge(name, help, [this, value] {
            return metrics::sample(value(seams_.executor.now()));
        });
    };
    add_gauge(
        "lakestream_compact_spill_limit_bytes",
        "Beyond this the spill is emptied before more is brought in.",
        [this](MonoTime) { return static_cast<double>(settings_.spill_bytes_max); }
    );
    add_gauge(
        "lakestream_compact_backlog_records",
        "Records that are not compacted yet.",
        [this](MonoTime) { return static_cast<double>(status_.backlog_records); }
    );
    add_gauge(
        "lakestream_compact_backlog_bytes",
        "Payload that is not compacted yet; of what is not brought in an estimate.",
        [this](MonoTime) { return static_cast<double>(status_.backlog_bytes); }
    );
    add_gauge(
        "lakestream_compact_backlog_seconds",
        "Age of the oldest record that is not compacted; 0: all are.",
        [this](MonoTime now) { return seconds_since(status_.backlog_since, now); }
    );
    add_gauge(
        "lakestream_compact_last_round_age_seconds",
        "Since the compactor last looked at everything without an error; none yet: absent.",
        [this](MonoTime now) { return metrics_.round.age(now); }
    );
    add_gauge(
        "lakestream_compact_last_object_age_seconds",
        "Since an object was last compacted; none yet: absent.",
        [this](MonoTime now) { return metrics_.compaction.age(now); }
    );
    add_gauge(
        "lakestream_table_last_commit_age_seconds",
        "Since any table was last committed to; none yet: absent.",
        [this](MonoTime now) { return metrics_.commit.age(now); }
    );
    register_table_metrics();
}

void Compactor::register_table_metrics() {
    metrics::Registrations& out = registrations_;
    out.collect_gauge(
        "lakestream_tables",
        "Tables by state: open (takes rows), opening (to be opened), suspended (cannot go on).",
        {"state"},
        [this] {
            std::vector<metrics::Sample> samples;
            for (const auto& [state, name] : table_state_names) {
                const auto count = std::ranges::count(status_.tables, state, &TableStatus::state);
                samples.push_back(
                    {.labels = {{"state", std::string(name)}}, .value = static_cast<double>(count)}
                );
            }
            return samples;
        }
    );
    const auto add_lag = [&](std::string_view name, std::string_view help, auto lag) {
        out.collect_gauge(name, help, {"topic"}, [this, lag] {
            const MonoTime now = seams_.executor.now();
            std::vector<metrics::Sample> samples;
            for (const TableStatus& table : status_.tables) {
                samples.push_back(
                    {.labels = {{"topic", full_name(table.stream)}}, .value = lag(table, now)}
                );
            }
            if (samples.size() > tables_listed_max) {
                std::ranges::sort(samples, std::ranges::greater(), &metrics::Sample::value);
                samples.resize(tables_listed_max);
            }
            return samples;
        });
    };
    add_lag(
        "lakestream_table_lag_records",
        "Records of a topic that are not in its table; of the 1000 topics with the most.",
        [](const TableStatus& table, MonoTime) { return static_cast<double>(table.lag_records); }
    );
    add_lag(
        "lakestream_table_lag_seconds",
        "Age of the oldest record of a topic that is not in its table; of the 1000 topics with the "
        "most.",
        [](const TableStatus& table, MonoTime now) {
            return seconds_since(table.behind_since, now);
        }
    );
}

}  // namespace lakestream::compact
