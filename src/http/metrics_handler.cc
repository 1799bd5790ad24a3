// SPDX-License-Identifier: Apache-2.0
// The Prometheus text format.
#include "http/metrics_handler.h"

#include <iterator>
#include <map>
#include <vector>

namespace lakestream::http {

namespace {

using metrics::Entry;

std::string escaped(std::string_view text, bool quotes) {
    std::string out;
    for (const char c : text) {
        if (c == '\\' || (quotes && c == '"')) {
            out += '\\';
        }
        out += c == '\n' ? "\\n" : std::string(1, c);
    }
    return out;
}

/// `{a="1",b="2"}`, with `le` last if given; empty without labels.
std::string label_text(const metrics::Labels& labels, std::string_view le = {}) {
    std::string out;
    for (const auto& [name, value] : labels) {
        out += fmt::format("{}{}=\"{}\"", out.empty() ? "" : ",", name, escaped(value, true));
    }
    if (!le.empty()) {
        out += fmt::format("{}le=\"{}\"", out.empty() ? "" : ",", le);
    }
    return out.empty() ? out : "{" + out + "}";
}

void append_histogram(std::string& out, const Entry& entry) {
    const auto& histogram = *static_cast<const metrics::Histogram*>(entry.metric);
    auto end = std::back_inserter(out);
    std::uint64_t count = 0;
    for (std::size_t i = 0; i <= histogram.bounds().size(); ++i) {
        count += histogram.count_in_bucket(i);
        const std::string le = i < histogram.bounds().size()
                                   ? fmt::format("{}", histogram.bounds()[i])
                                   : std::string("+Inf");
        fmt::format_to(end, "{}_bucket{} {}\n", entry.name, label_text(entry.labels, le), count);
    }
    const std::string labels = label_text(entry.labels);
    fmt::format_to(end, "{}_sum{} {}\n", entry.name, labels, histogram.sum());
    fmt::format_to(end, "{}_count{} {}\n", entry.name, labels, count);
}

void append_value(std::string& out, const Entry& entry) {
    auto end = std::back_inserter(out);
    if (entry.collect != nullptr) {
        for (const metrics::Sample& sample : (*entry.collect)()) {
            fmt::format_to(end, "{}{} {}\n", entry.name, label_text(sample.labels), sample.value);
        }
        return;
    }
    const std::string labels = label_text(entry.labels);
    switch (entry.kind) {
        case Entry::Kind::counter: {
            const auto& counter = *static_cast<const metrics::Counter*>(entry.metric);
            fmt::format_to(end, "{}{} {}\n", entry.name, labels, counter.value());
            break;
        }
        case Entry::Kind::gauge: {
            const auto& gauge = *static_cast<const metrics::Gauge*>(entry.metric);
            fmt::format_to(end, "{}{} {}\n", entry.name, labels, gauge.value());
            break;
        }
        case Entry::Kind::histogram: append_histogram(out, entry); break;
    }
}

}  // namespace

std::string prometheus_text(const metrics::Registry& registry) {
    const std::vector<Entry> entries = registry.entries();
    std::map<std::string_view, std::vector<const Entry*>> by_name;
    for (const Entry& entry : entries) {
        by_name[entry.name].push_back(&entry);
    }
    std::string out;
    for (const auto& [name, same] : by_name) {
        fmt::format_to(
            std::back_inserter(out),
            "# HELP {} {}\n# TYPE {} {}\n",
            name,
            escaped(same.front()->help, false),
            name,
            metrics::type_name(same.front()->kind)
        );
        for (const Entry* entry : same) {
            append_value(out, *entry);
        }
    }
    return out;
}

rt::Task<Response> MetricsHandler::handle(Request) {
    co_return Response{
        .content_type = "text/plain; version=0.0.4; charset=utf-8",
        .body = prometheus_text(registry_),
    };
}

}  // namespace lakestream::http
