// SPDX-License-Identifier: Apache-2.0
// Making and reading object names.
#include "wal/object_name.h"

#include <fmt/format.h>

#include <chrono>

#include "base/uuid.h"

namespace lakestream::wal {

namespace {

/// `digits` decimal digits and a slash, removed from `rest`; none when they are not there.
std::optional<int> take_number(std::string_view& rest, std::size_t digits) {
    if (rest.size() <= digits || rest[digits] != '/') {
        return std::nullopt;
    }
    int value = 0;
    for (const char digit : rest.substr(0, digits)) {
        if (digit < '0' || digit > '9') {
            return std::nullopt;
        }
        value = value * 10 + (digit - '0');
    }
    rest.remove_prefix(digits + 1);
    return value;
}

}  // namespace

std::string make_object_name(WallTime date, std::array<std::byte, 16> random) {
    const auto since_epoch = date.time_since_epoch();
    const std::chrono::sys_days day(std::chrono::floor<std::chrono::days>(since_epoch));
    const std::chrono::year_month_day ymd(day);
    const std::chrono::hh_mm_ss time(
        std::chrono::floor<std::chrono::seconds>(since_epoch - day.time_since_epoch())
    );
    return fmt::format(
        "{:04}/{:02}/{:02}/{:02}/{:02}/{:02}/{}",
        static_cast<int>(ymd.year()),
        static_cast<unsigned>(ymd.month()),
        static_cast<unsigned>(ymd.day()),
        time.hours().count(),
        time.minutes().count(),
        time.seconds().count(),
        uuid_text(make_uuid(random))
    );
}

std::optional<WallTime> object_date(std::string_view name) {
    const auto year = take_number(name, 4);
    const auto month = year ? take_number(name, 2) : std::nullopt;
    const auto day = month ? take_number(name, 2) : std::nullopt;
    const auto hour = day ? take_number(name, 2) : std::nullopt;
    const auto minute = hour ? take_number(name, 2) : std::nullopt;
    const auto second = minute ? take_number(name, 2) : std::nullopt;
    if (!second || name.empty() || *hour > 23 || *minute > 59 || *second > 59) {
        return std::nullopt;
    }
    const std::chrono::year_month_day ymd(
        std::chrono::year(*year),
        std::chrono::month(static_cast<unsigned>(*month)),
        std::chrono::day(static_cast<unsigned>(*day))
    );
    if (!ymd.ok()) {
        return std::nullopt;
    }
    const std::chrono::seconds since_epoch =
        std::chrono::sys_days(ymd).time_since_epoch() + std::chrono::hours(*hour) +
        std::chrono::minutes(*minute) + std::chrono::seconds(*second);
    return WallTime(since_epoch);
}

}  // namespace lakestream::wal
