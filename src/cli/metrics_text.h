// SPDX-License-Identifier: Apache-2.0
// Prometheus text, as a node's /metrics has it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lakestream::cli {

struct Sample {
    std::string name;
    std::map<std::string, std::string> labels;
    double value = 0;
};

/// The samples of one scrape; comments are left out. Errors: `corrupt`, naming the line.
Result<std::vector<Sample>> parse_metrics(std::string_view text);

/// The sum of a metric over the samples that have this label (an empty label: over all).
double sum_of(
    const std::vector<Sample>& samples,
    std::string_view name,
    const std::string& label = "",
    std::string_view value = ""
);

/// Whether there is any sample of this name.
bool has_metric(const std::vector<Sample>& samples, std::string_view name);

}  // namespace lakestream::cli
