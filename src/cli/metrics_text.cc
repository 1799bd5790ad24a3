// SPDX-License-Identifier: Apache-2.0
// Samples: name{label="value",...} number.
#include "cli/metrics_text.h"

#include <algorithm>
#include <charconv>

#include "base/format.h"

namespace lakestream::cli {

namespace {

/// Reads `a="b",c="d"}` and takes it off. False when it is not that.
bool read_labels(std::string_view& text, std::map<std::string, std::string>& labels) {
    while (!text.starts_with('}')) {
        const std::size_t equals = text.find("=\"");
        if (equals == std::string_view::npos) {
            return false;
        }
        std::string& value = labels[std::string(text.substr(0, equals))];
        text.remove_prefix(equals + 2);
        while (!text.empty() && text.front() != '"') {
            if (text.front() == '\\' && text.size() > 1) {
                text.remove_prefix(1);
                value += text.front() == 'n' ? '\n' : text.front();
            } else {
                value += text.front();
            }
            text.remove_prefix(1);
        }
        if (text.empty()) {
            return false;
        }
        text.remove_prefix(1);
        if (text.starts_with(',')) {
            text.remove_prefix(1);
        }
    }
    text.remove_prefix(1);
    return true;
}

bool read_sample(std::string_view line, Sample& sample) {
    const std::size_t end = line.find_first_of("{ ");
    if (end == std::string_view::npos) {
        return false;
    }
    sample.name = line.substr(0, end);
    const bool labelled = line[end] == '{';
    line.remove_prefix(end + (labelled ? 1 : 0));
    if (labelled && !read_labels(line, sample.labels)) {
        return false;
    }
    if (!line.starts_with(' ')) {
        return false;
    }
    line.remove_prefix(1);
    const auto parsed = std::from_chars(line.data(), line.data() + line.size(), sample.value);
    return parsed.ec == std::errc() || line == "+Inf" || line == "NaN";
}

}  // namespace

Result<std::vector<Sample>> parse_metrics(std::string_view text) {
    std::vector<Sample> samples;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.empty() || line.starts_with('#')) {
            continue;
        }
        if (!read_sample(line, samples.emplace_back())) {
            return corrupt("metrics: line {} is no sample", number);
        }
    }
    return samples;
}

double sum_of(
    const std::vector<Sample>& samples,
    std::string_view name,
    const std::string& label,
    std::string_view value
) {
    double sum = 0;
    for (const Sample& sample : samples) {
        const auto found = sample.labels.find(label);
        if (sample.name == name &&
            (label.empty() || (found != sample.labels.end() && found->second == value))) {
            sum += sample.value;
        }
    }
    return sum;
}

bool has_metric(const std::vector<Sample>& samples, std::string_view name) {
    return std::ranges::any_of(samples, [&](const Sample& sample) { return sample.name == name; });
}

}  // namespace lakestream::cli
