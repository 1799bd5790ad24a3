// SPDX-License-Identifier: Apache-2.0
// The registry of metrics.
#include "base/metrics.h"

#include <algorithm>

namespace lakestream::metrics {

std::string_view type_name(Entry::Kind kind) {
    switch (kind) {
        case Entry::Kind::counter: return "counter";
        case Entry::Kind::gauge: return "gauge";
        case Entry::Kind::histogram: return "histogram";
    }
    return "untyped";
}

void Registry::add(
    std::string_view name, std::string_view help, const Counter& metric, Labels labels
) {
    const std::scoped_lock lock(mutex_);
    entries_.push_back(
        {std::string(name), std::string(help), std::move(labels), Entry::Kind::counter, &metric, {}}
    );
}

void Registry::add(
    std::string_view name, std::string_view help, const Gauge& metric, Labels labels
) {
    const std::scoped_lock lock(mutex_);
    entries_.push_back(
        {std::string(name), std::string(help), std::move(labels), Entry::Kind::gauge, &metric, {}}
    );
}

void Registry::add(
    std::string_view name, std::string_view help, const Histogram& metric, Labels labels
) {
    const std::scoped_lock lock(mutex_);
    entries_.push_back(
        {std::string(name),
         std::string(help),
         std::move(labels),
         Entry::Kind::histogram,
         &metric,
         {}}
    );
}

const void* Registry::add_collected(
    std::string_view name,
    std::string_view help,
    Entry::Kind kind,
    const std::vector<std::string>& label_names,
    Collect collect
) {
    Labels labels;
    for (const std::string& label : label_names) {
        labels.emplace_back(label, "");
    }
    auto shared = std::make_shared<const Collect>(std::move(collect));
    const void* const id = shared.get();
    const std::scoped_lock lock(mutex_);
    entries_.push_back(
        {std::string(name), std::string(help), std::move(labels), kind, id, std::move(shared)}
    );
    return id;
}

void Registry::remove(const void* metric) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(entries_, [metric](const Entry& entry) { return entry.metric == metric; });
}

std::vector<Entry> Registry::entries() const {
    const std::scoped_lock lock(mutex_);
    return entries_;
}

}  // namespace lakestream::metrics
