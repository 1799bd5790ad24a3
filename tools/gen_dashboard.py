#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints deploy/grafana/lakestream.json: the dashboard, from the rows below."""

import json

HERE = '{job="lakestream",instance=~"$instance"}'


def here(metric: str, more: str = "") -> str:
    """The metric, ours unless it is the process's, of the chosen instances; `more` are further
    matchers."""
    metric = metric if metric.startswith(("process_", "lakestream_")) else f"lakestream_{metric}"
    return metric + HERE[:-1] + (f",{more}" if more else "") + "}"


def rate(metric: str, by: str = "instance", more: str = "") -> str:
    return f"sum by ({by}) (rate({here(metric, more)}[$__rate_interval]))"


def quantile(q: float, metric: str, by: str = "instance", more: str = "") -> str:
    return f"histogram_quantile({q}, {rate(metric + '_bucket', by + ', le', more)})"


def hit_ratio(name: str, by: str) -> str:
    hits, misses = rate(f"{name}_hits_total", by), rate(f"{name}_misses_total", by)
    return f"{hits} / ({hits} + {misses})"


def filled(used: str, limit: str, budget: str) -> str:
    of_budget = here(limit, f'budget="{budget}"')
    return f"sum by (instance) ({here(used)}) / sum by (instance) ({of_budget})"


# Rows of panels: title, unit, and (query, legend) each.
ROWS = {
    "At a glance": [
        ("Ready", "bool_yes_no", [(here("node_ready"), "{{instance}}")]),
        ("Written", "Bps", [(rate("kafka_received_bytes_total"), "{{instance}}")]),
        ("Read", "Bps", [(rate("kafka_sent_bytes_total"), "{{instance}}")]),
        ("Oldest record not durable", "s", [(here("wal_oldest_pending_seconds"), "{{instance}}")]),
        ("Oldest record not compacted", "s", [(here("compact_backlog_seconds"), "{{instance}}")]),
        (
            "Oldest record in no table",
            "s",
            [(f"max by (instance) ({here('table_lag_seconds')})", "{{instance}}")],
        ),
    ],
    "Kafka": [
        ("Requests", "reqps", [(rate("kafka_requests_total", "api"), "{{api}}")]),
        ("Latency, 99 of 100", "s", [(quantile(0.99, "kafka_request_seconds", "api"), "{{api}}")]),
        ("Errors", "ops", [(rate("kafka_errors_total", "api, error"), "{{api}} {{error}}")]),
        (
            "Connections",
            "short",
            [
                (here("kafka_connections"), "open {{instance}}"),
                (rate("kafka_connections_refused_total"), "refused a second {{instance}}"),
            ],
        ),
        ("Requests running", "short", [(here("kafka_requests_running"), "{{instance}}")]),
        (
            "Requests that waited or were refused",
            "ops",
            [
                (rate("kafka_requests_waited_total"), "waited {{instance}}"),
                (rate("kafka_requests_refused_total"), "refused {{instance}}"),
            ],
        ),
    ],
    "WAL": [
        ("Objects by cause", "ops", [(rate("wal_flushes_total", "cause"), "{{cause}}")]),
        (
            "Object size",
            "bytes",
            [
                (quantile(0.5, "wal_object_size_bytes"), "half {{instance}}"),
                (quantile(0.99, "wal_object_size_bytes"), "99 of 100 {{instance}}"),
            ],
        ),
        (
            "Age when cut, and time to publish, 99 of 100",
            "s",
            [
                (quantile(0.99, "wal_flush_age_seconds"), "age {{instance}}"),
                (quantile(0.99, "wal_publish_seconds"), "publish {{instance}}"),
            ],
        ),
        ("Objects waiting", "short", [(here("wal_objects_waiting"), "{{instance}}")]),
        (
            "Failures",
            "ops",
            [
                (rate("wal_put_failures_total"), "not stored {{instance}}"),
                (rate("wal_publish_unknown_total"), "outcome unknown {{instance}}"),
                (rate("wal_abandoned_total"), "given up {{instance}}"),
                (rate("log_append_rejections_total"), "rejected {{instance}}"),
            ],
        ),
        (
            "Since the last success",
            "s",
            [
                (here("wal_last_store_age_seconds"), "stored {{instance}}"),
                (here("wal_last_publish_age_seconds"), "published {{instance}}"),
            ],
        ),
    ],
    "Reads and caches": [
        (
            "Payload read, by source",
            "Bps",
            [(rate("log_read_bytes_total", "source"), "{{source}}")],
        ),
        (
            "Hits of caches",
            "percentunit",
            [
                (hit_ratio("log_section_cache", "instance"), "sections {{instance}}"),
                (hit_ratio("compact_cache", "piece"), "compacted {{piece}}"),
            ],
        ),
        (
            "Memory budgets used",
            "percentunit",
            [
                (
                    filled("kafka_request_bytes", "kafka_memory_limit_bytes", "request"),
                    "requests {{instance}}",
                ),
                (
                    filled("kafka_response_bytes", "kafka_memory_limit_bytes", "response"),
                    "responses {{instance}}",
                ),
                (
                    filled("log_append_bytes", "log_memory_limit_bytes", "append"),
                    "appends {{instance}}",
                ),
                (filled("log_tail_bytes", "log_memory_limit_bytes", "tail"), "tail {{instance}}"),
                (
                    filled("log_section_cache_bytes", "log_memory_limit_bytes", "section_cache"),
                    "sections {{instance}}",
                ),
                (
                    filled("log_section_read_bytes", "log_memory_limit_bytes", "section_read"),
                    "reads {{instance}}",
                ),
                (
                    f"{here('compact_cache_bytes')} / {here('compact_cache_limit_bytes')}",
                    "compacted {{instance}}",
                ),
            ],
        ),
    ],
    "Object store and metadata": [
        (
            "Object requests",
            "reqps",
            [(rate("objstore_requests_total", "store, operation"), "{{store}} {{operation}}")],
        ),
        (
            "Object requests that failed",
            "reqps",
            [
                (
                    rate(
                        "objstore_requests_total",
                        "store, outcome",
                        'outcome=~"failed|unknown|throttled"',
                    ),
                    "{{store}} {{outcome}}",
                ),
            ],
        ),
        (
            "Object latency, 99 of 100",
            "s",
            [
                (
                    quantile(0.99, "objstore_request_seconds", "store, operation"),
                    "{{store}} {{operation}}",
                )
            ],
        ),
        (
            "Metadata requests",
            "reqps",
            [
                (rate("meta_writes_total"), "writes {{instance}}"),
                (rate("meta_commits_total"), "commits {{instance}}"),
                (rate("meta_reads_total", "from"), "reads from {{from}}"),
            ],
        ),
        (
            "Metadata latency, 99 of 100",
            "s",
            [
                (quantile(0.99, "meta_commit_seconds"), "commit {{instance}}"),
                (quantile(0.99, "meta_read_seconds"), "read {{instance}}"),
            ],
        ),
        (
            "Disk free",
            "percentunit",
            [
                (f"{here('disk_free_bytes')} / {here('disk_size_bytes')}", "{{of}} {{instance}}"),
            ],
        ),
    ],
    "Compaction and tables": [
        ("Backlog", "bytes", [(here("compact_backlog_bytes"), "{{instance}}")]),
        (
            "Spill",
            "bytes",
            [
                (here("compact_spill_bytes"), "used {{instance}}"),
                (here("compact_spill_limit_bytes"), "limit {{instance}}"),
            ],
        ),
        ("Compacted payload", "Bps", [(rate("compact_payload_bytes_total"), "{{instance}}")]),
        ("Tables furthest behind", "s", [(f"topk(10, {here('table_lag_seconds')})", "{{topic}}")]),
        (
            "Records in no table yet",
            "short",
            [(f"topk(10, {here('table_lag_records')})", "{{topic}}")],
        ),
        ("Tables by state", "short", [(f"sum by (state) ({here('tables')})", "{{state}}")]),
        (
            "Commits and failures",
            "ops",
            [
                (rate("table_commits_total"), "table commits {{instance}}"),
                (rate("compact_failures_total"), "failures {{instance}}"),
            ],
        ),
        (
            "Time of a table commit, 99 of 100",
            "s",
            [(quantile(0.99, "table_commit_seconds"), "{{instance}}")],
        ),
        (
            "Since the last success",
            "s",
            [
                (here("compact_last_round_age_seconds"), "round {{instance}}"),
                (here("compact_last_object_age_seconds"), "object {{instance}}"),
                (here("table_last_commit_age_seconds"), "table commit {{instance}}"),
            ],
        ),
    ],
    "Process": [
        (
            "Processor",
            "percentunit",
            [(f"rate({here('process_cpu_seconds_total')}[$__rate_interval])", "{{instance}}")],
        ),
        ("Resident memory", "bytes", [(here("process_resident_memory_bytes"), "{{instance}}")]),
        (
            "Open files",
            "short",
            [
                (here("process_open_fds"), "open {{instance}}"),
                (here("process_max_fds"), "limit {{instance}}"),
            ],
        ),
        (
            "Work waiting for a thread",
            "short",
            [(here("lakestream_process_work_waiting"), "{{pool}} {{instance}}")],
        ),
        (
            "Event loops lagging",
            "short",
            [(here("lakestream_process_loops_lagging"), "{{instance}}")],
        ),
        ("Uptime", "s", [(f"time() - {here('process_start_time_seconds')}", "{{instance}}")]),
    ],
}

COLUMNS, WIDTH, HEIGHT = 3, 8, 7
SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def panel(number: int, place: int, top: int, title: str, unit: str, queries: list) -> dict:
    return {
        "id": number,
        "type": "timeseries",
        "title": title,
        "datasource": SOURCE,
        "gridPos": {
            "x": place % COLUMNS * WIDTH,
            "y": top + place // COLUMNS * HEIGHT,
            "w": WIDTH,
            "h": HEIGHT,
        },
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "options": {"tooltip": {"mode": "multi", "sort": "desc"}},
        "targets": [
            {"refId": chr(ord("A") + i), "expr": expr, "legendFormat": legend}
            for i, (expr, legend) in enumerate(queries)
        ],
    }


def panels() -> list[dict]:
    made: list[dict] = []
    top = 0
    for title, row in ROWS.items():
        made.append(
            {
                "id": len(made) + 1,
                "type": "row",
                "title": title,
                "collapsed": False,
                "panels": [],
                "gridPos": {"x": 0, "y": top, "w": COLUMNS * WIDTH, "h": 1},
            }
        )
        top += 1
        for place, (name, unit, queries) in enumerate(row):
            made.append(panel(len(made) + 1, place, top, name, unit, queries))
        top += -(-len(row) // COLUMNS) * HEIGHT
    return made


def dashboard() -> dict:
    return {
        "uid": "lakestream",
        "title": "Lakestream",
        "tags": ["lakestream"],
        "schemaVersion": 38,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {
            "list": [
                {"name": "datasource", "type": "datasource", "query": "prometheus"},
                {
                    "name": "instance",
                    "type": "query",
                    "datasource": SOURCE,
                    "query": 'label_values(lakestream_build_info{job="lakestream"}, instance)',
                    "refresh": 2,
                    "multi": True,
                    "includeAll": True,
                },
            ]
        },
        "panels": panels(),
    }


if __name__ == "__main__":
    print(json.dumps(dashboard(), indent=1))
