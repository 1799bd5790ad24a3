// SPDX-License-Identifier: Apache-2.0
// The registry of metrics.
#include "base/metrics.h"

#include <algorithm>

namespace lakestream::metrics {

void Registry::add(
    std::string_view name, std::string_view help, const Counter& metric, Labels labels
) {
    const std::scoped_lock lock(mutex_);
    entries_.push_back(
        {std::string(name), std::string(help), std::move(labels), Entry::Kind::counter, &metric}
    );
}

void Registry::add(
    std::string_view name, std::string_view help, const Gauge& metric, Labels labels
) {
    const std::scoped_lock lock(mutex_);
    entries_.push_back(
        {std::string(name), std::string(help), std::move(labels), Entry::Kind::gauge, &metric}
    );
}

void Registry::add(
    std::string_view name, std::string_view help, const Histogram& metric, Labels labels
) {
    const std::scoped_lock lock(mutex_);
    entries_.push_back(
        {std::string(name), std::string(help), std::move(labels), Entry::Kind::histogram, &metric}
    );
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
