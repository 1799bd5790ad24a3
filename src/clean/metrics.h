// SPDX-License-Identifier: Apache-2.0
// What cleaning tells about itself.
#pragma once

#include "base/metrics.h"
#include "rt/executor.h"

namespace lakestream::clean {

struct CleanMetrics {
    metrics::Counter passes;
    metrics::Counter failures;
    metrics::Counter wal_objects;  // deleted
    metrics::Counter wal_bytes;
    metrics::Counter compacted_objects;  // files deleted
    metrics::Counter compacted_bytes;
    metrics::Counter index_records;  // deleted
    metrics::Counter trims;          // by retention
    metrics::Gauge waiting;          // objects free, not yet ripe
    metrics::Gauge pinned_bytes;     // of WAL objects older than two passes that somebody refers to
    metrics::Gauge pinned_log;       // that refers to most of them; -1: none
    metrics::LastSuccess pass;
    metrics::LastSuccess retention;  // applied to all topics

    /// `executor` tells how old the last successes are.
    void register_in(metrics::Registrations& out, rt::Executor& executor) const {
        out.add("lakestream_clean_passes_total", "Cleaning passes that ended well.", passes);
        out.add("lakestream_clean_failures_total", "Passes or parts that failed.", failures);
        out.add("lakestream_clean_wal_objects_total", "WAL objects deleted.", wal_objects);
        out.add("lakestream_clean_wal_bytes_total", "Bytes of deleted WAL objects.", wal_bytes);
        out.add(
            "lakestream_clean_compacted_objects_total",
            "Files of compacted objects deleted.",
            compacted_objects
        );
        out.add(
            "lakestream_clean_compacted_bytes_total",
            "Bytes of deleted files of compacted objects.",
            compacted_bytes
        );
        out.add(
            "lakestream_clean_index_records_total",
            "Index records of trimmed offsets deleted.",
            index_records
        );
        out.add("lakestream_clean_retention_trims_total", "Logs trimmed by retention.", trims);
        out.add(
            "lakestream_clean_waiting_objects",
            "Objects that nobody refers to, not yet deleted.",
            waiting
        );
        out.add(
            "lakestream_clean_pinned_bytes",
            "Bytes of WAL objects that are old and still referred to.",
            pinned_bytes
        );
        out.add(
            "lakestream_clean_pinned_log",
            "The log that keeps most of lakestream_clean_pinned_bytes; -1: none.",
            pinned_log
        );
        out.collect_gauge(
            "lakestream_clean_last_pass_age_seconds",
            "Time since a cleaning pass ended well; grows while there is nothing to clean.",
            [this, &executor] { return metrics::sample(pass.age(executor.now())); }
        );
        out.collect_gauge(
            "lakestream_clean_last_retention_age_seconds",
            "Time since retention was applied to all topics.",
            [this, &executor] { return metrics::sample(retention.age(executor.now())); }
        );
    }
};

}  // namespace lakestream::clean
