// SPDX-License-Identifier: Apache-2.0
// From text to values and back; settings from the environment and from flags.
#include "server/settings.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <numeric>
#include <utility>

#include "base/assert.h"
#include "base/format.h"
#include "net/net.h"

namespace lakestream::server {

namespace {

constexpr std::string_view environment_prefix = "LAKESTREAM_";

struct Scale {
    std::string_view suffix;
    std::int64_t factor;
};

// Largest first: the shortest exact text of a value is found by the first factor that divides it.
constexpr Scale byte_scales[] = {
    {"GiB", std::int64_t{1} << 30},
    {"MiB", std::int64_t{1} << 20},
    {"KiB", std::int64_t{1} << 10},
    {"", 1},
};
constexpr Scale time_scales[] = {
    {"h", 3'600'000'000'000},
    {"min", 60'000'000'000},
    {"s", 1'000'000'000},
    {"ms", 1'000'000},
    {"us", 1000},
    {"ns", 1},
};
constexpr Scale plain_scales[] = {{"", 1}};

std::span<const Scale> scales_of(Unit unit) {
    switch (unit) {
        case Unit::bytes: return byte_scales;
        case Unit::time: return time_scales;
        case Unit::none:
        case Unit::address:
        case Unit::url: return plain_scales;
    }
    LKS_UNREACHABLE();
}

std::string show_number(std::int64_t value, Unit unit) {
    const auto scales = scales_of(unit);
    for (const Scale& scale : scales) {
        if (value % scale.factor == 0 && (value != 0 || scale.factor == 1)) {
            return fmt::format("{}{}", value / scale.factor, scale.suffix);
        }
    }
    LKS_UNREACHABLE();
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(separator), text.size());
        std::string_view part = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        while (!part.empty() && part.front() == ' ') {
            part.remove_prefix(1);
        }
        while (!part.empty() && part.back() == ' ') {
            part.remove_suffix(1);
        }
        if (!part.empty()) {
            parts.emplace_back(part);
        }
    }
    return parts;
}

Result<std::int64_t> parse_number(const Setting& setting, std::string_view text) {
    std::int64_t number = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    const std::string_view suffix = text.substr(static_cast<std::size_t>(parsed.ptr - text.data()));
    const auto scales = scales_of(setting.unit);
    const auto* scale = std::ranges::find(scales, suffix, &Scale::suffix).base();
    const bool zero_time = number == 0 && suffix.empty();  // zero needs no unit
    if (zero_time) {
        scale = &plain_scales[0];
    }
    std::int64_t value = 0;
    if (parsed.ec != std::errc() || (!zero_time && scale == scales.data() + scales.size()) ||
        __builtin_mul_overflow(number, scale->factor, &value) || value < setting.min ||
        value > setting.max) {
        return invalid_argument("\"{}\" is not: {}", text, describe_type(setting));
    }
    return value;
}

Status check_choice(const Setting& setting, const std::string& text) {
    const std::vector<std::string> choices = split(setting.choices, ' ');
    if (!choices.empty() && std::ranges::find(choices, text) == choices.end()) {
        return invalid_argument("\"{}\" is not: {}", text, describe_type(setting));
    }
    return {};
}

Status check_text(const Setting& setting, const std::string& text) {
    LKS_TRY(check_choice(setting, text));
    if (setting.unit == Unit::address && !text.empty()) {
        LKS_TRY(net::Address::parse(text));
    }
    if (setting.unit == Unit::url && text.find("://") == std::string::npos) {
        return invalid_argument("\"{}\" is not: {}", text, describe_type(setting));
    }
    return {};
}

template <class... Cases>
struct Overloaded : Cases... {
    using Cases::operator()...;
};

std::string upper_snake(std::string_view name) {
    std::string out(name);
    for (char& c : out) {
        c = c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    return out;
}

std::vector<std::string> all_names() {
    std::vector<std::string> names;
    for (const SettingTable& table : setting_tables()) {
        for (const Setting& setting : table.settings) {
            names.emplace_back(setting.name);
        }
    }
    return names;
}

}  // namespace

bool NodeSettings::has_role(std::string_view role) const {
    return std::ranges::find(roles, role) != roles.end();
}

Status use_data_dir(Settings& settings, const std::string& folder) {
    if (folder.empty()) {
        return invalid_argument("the name of the data folder is empty");
    }
    std::error_code failed;
    const std::filesystem::path absolute = std::filesystem::absolute(folder, failed);
    if (failed) {
        return not_found(
            "data folder {}: the current folder is not there any more ({}); change to one that is, "
            "or name a folder from / on",
            folder,
            failed.message()
        );
    }
    const std::string path = absolute.lexically_normal().string();
    settings.storage = fmt::format("file://{}", path);
    settings.metadata = fmt::format("embedded://{}/metadata", path);
    return {};
}

const Setting* find_setting(std::string_view name) {
    for (const SettingTable& table : setting_tables()) {
        const auto found = std::ranges::find(table.settings, name, &Setting::name);
        if (found != table.settings.end()) {
            return &*found;
        }
    }
    return nullptr;
}

std::string environment_name(const Setting& setting) {
    return std::string(environment_prefix) + upper_snake(setting.name);
}

std::string flag_name(const Setting& setting) {
    std::string out = fmt::format("--{}", setting.name);
    std::ranges::replace(out, '.', '-');
    std::ranges::replace(out, '_', '-');
    return out;
}

std::string describe_type(const Setting& setting) {
    Settings defaults;
    const auto number = [&](auto* place) {
        using Number = std::remove_pointer_t<decltype(place)>;
        std::int64_t max = setting.max;
        if constexpr (std::is_integral_v<Number>) {
            if (std::cmp_greater(max, std::numeric_limits<Number>::max())) {
                max = static_cast<std::int64_t>(std::numeric_limits<Number>::max());
            }
        }
        const std::string_view what = setting.unit == Unit::bytes  ? "bytes"
                                      : setting.unit == Unit::time ? "time"
                                                                   : "number";
        return fmt::format(
            "{}, {} to {}",
            what,
            show_number(setting.min, setting.unit),
            show_number(max, setting.unit)
        );
    };
    return std::visit(
        Overloaded{
            [&](std::string*) -> std::string {
                if (!setting.choices.empty()) {
                    return fmt::format("one of {}", fmt::join(split(setting.choices, ' '), ", "));
                }
                return setting.unit == Unit::address ? "HOST:PORT"
                       : setting.unit == Unit::url   ? "SCHEME://PLACE"
                                                     : "text";
            },
            [](bool*) -> std::string { return "true or false"; },
            [&](std::vector<std::string>*) -> std::string {
                return fmt::format("list of {}", fmt::join(split(setting.choices, ' '), ", "));
            },
            number,
        },
        setting.place(defaults)
    );
}

std::string show_value(const Setting& setting, const Settings& settings) {
    Settings copy = settings;  // a Place is for writing too
    return std::visit(
        Overloaded{
            [](const std::string* text) -> std::string { return *text; },
            [](const bool* flag) -> std::string { return *flag ? "true" : "false"; },
            [](const std::vector<std::string>* list) -> std::string {
                return fmt::format("{}", fmt::join(*list, ","));
            },
            [&](const Duration* time) -> std::string {
                return show_number(time->count(), setting.unit);
            },
            [&](const auto* number) -> std::string {
                return show_number(static_cast<std::int64_t>(*number), setting.unit);
            },
        },
        setting.place(copy)
    );
}

Status assign(const Setting& setting, Settings& settings, std::string_view text) {
    return std::visit(
        Overloaded{
            [&](std::string* place) -> Status {
                std::string value(text);
                LKS_TRY(check_text(setting, value));
                *place = std::move(value);
                return {};
            },
            [&](bool* place) -> Status {
                if (text != "true" && text != "false") {
                    return invalid_argument("\"{}\" is not: {}", text, describe_type(setting));
                }
                *place = text == "true";
                return {};
            },
            [&](std::vector<std::string>* place) -> Status {
                std::vector<std::string> values = split(text, ',');
                for (const std::string& value : values) {
                    LKS_TRY(check_choice(setting, value));
                }
                *place = std::move(values);
                return {};
            },
            [&](Duration* place) -> Status {
                *place = Duration(LKS_TRY(parse_number(setting, text)));
                return {};
            },
            [&](auto* place) -> Status {
                using Number = std::remove_pointer_t<decltype(place)>;
                const std::int64_t value = LKS_TRY(parse_number(setting, text));
                if (!std::in_range<Number>(value)) {
                    return invalid_argument("\"{}\" is not: {}", text, describe_type(setting));
                }
                *place = static_cast<Number>(value);
                return {};
            },
        },
        setting.place(settings)
    );
}

namespace {

std::string advice(std::string_view name, std::span<const std::string> known) {
    const auto near = nearest(name, known);
    return near.has_value() ? fmt::format("; the nearest is {}", *near)
                            : "; `lakestream server --help` has all";
}

}  // namespace

Result<std::vector<Assignment>> read_environment(std::span<const std::string> environment) {
    std::vector<std::string> known;
    for (const std::string& name : all_names()) {
        known.push_back(environment_name(*find_setting(name)));
    }
    const std::vector<std::string> names = all_names();
    std::vector<Assignment> out;
    for (const std::string& entry : environment) {
        if (!entry.starts_with(environment_prefix)) {
            continue;
        }
        const std::size_t equals = std::min(entry.find('='), entry.size());
        const std::string name = entry.substr(0, equals);
        const auto found = std::ranges::find(known, name);
        if (found == known.end()) {
            return invalid_argument(
                "environment: unknown variable {}{}", name, advice(name, known)
            );
        }
        out.push_back({
            .setting = find_setting(names[static_cast<std::size_t>(found - known.begin())]),
            .text = entry.substr(std::min(equals + 1, entry.size())),
            .origin = fmt::format("environment {}", name),
        });
    }
    return out;
}

Result<Assignment> read_value(std::string_view name, std::string text, std::string origin) {
    const Setting* const setting = find_setting(name);
    if (setting == nullptr) {
        return invalid_argument("{}: unknown key {}{}", origin, name, advice(name, all_names()));
    }
    return Assignment{.setting = setting, .text = std::move(text), .origin = std::move(origin)};
}

Status apply_settings(std::span<const Assignment> assignments, Settings& settings) {
    for (const Assignment& assignment : assignments) {
        Status done = assign(*assignment.setting, settings, assignment.text);
        if (!done.ok()) {
            return std::move(done).error().with_context(
                fmt::format("{}: {}", assignment.origin, assignment.setting->name)
            );
        }
    }
    return check_settings(settings);
}

std::vector<std::string> changed_settings(const Settings& settings) {
    const Settings defaults;
    std::vector<std::string> out;
    for (const std::string& name : all_names()) {
        const Setting& setting = *find_setting(name);
        const std::string value = show_value(setting, settings);
        if (value != show_value(setting, defaults)) {
            out.push_back(fmt::format("{}={}", name, value));
        }
    }
    return out;
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
    const auto distance = [&](std::string_view other) {
        std::vector<std::size_t> row(other.size() + 1);
        std::iota(row.begin(), row.end(), std::size_t{0});
        for (std::size_t i = 1; i <= word.size(); ++i) {
            std::size_t diagonal = std::exchange(row[0], i);
            for (std::size_t j = 1; j <= other.size(); ++j) {
                const std::size_t changed = diagonal + (word[i - 1] == other[j - 1] ? 0 : 1);
                diagonal = row[j];
                row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
            }
        }
        return row.back();
    };
    const auto found = std::ranges::min_element(candidates, {}, distance);
    if (found == candidates.end() || distance(*found) * 3 > word.size()) {
        return std::nullopt;
    }
    return *found;
}

}  // namespace lakestream::server
