// SPDX-License-Identifier: Apache-2.0
// Parsing and printing of the command line's texts.
#include "cli/text.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/format.h"
#include "codec/base64.h"

namespace lakestream::cli {

namespace {

/// The number in exactly these columns.
std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
    if (text.size() < at + count) {
        return std::nullopt;
    }
    int value = 0;
    for (const char c : text.substr(at, count)) {
        if (c < '0' || c > '9') {
            return std::nullopt;
        }
        value = value * 10 + (c - '0');
    }
    return value;
}

/// Bytes of the UTF-8 sequence that begins so; 0 when none does.
std::size_t sequence_length(unsigned first) {
    if (first < 0x80) {
        return 1;
    }
    if (first < 0xc2 || first > 0xf4) {
        return 0;
    }
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/// No over-long forms, no surrogates, nothing beyond U+10FFFF.
bool second_fits(unsigned first, unsigned second) {
    const unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const unsigned high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    return low <= second && second <= high;
}

/// `.123456` or nothing, as milliseconds.
std::optional<int> fraction_ms(std::string_view text) {
    if (text.empty()) {
        return 0;
    }
    std::string padded(text.substr(1));
    if (text.front() != '.' || padded.empty() ||
        !digits(padded, 0, std::min<std::size_t>(padded.size(), 9))) {
        return std::nullopt;
    }
    padded.resize(std::max<std::size_t>(padded.size(), 3), '0');
    return digits(padded, 0, 3);
}

}  // namespace

Status put_text(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
        return unavailable("cannot write to stdout: {}", std::strerror(errno));
    }
    return {};
}

Status put_line(std::string_view line) {
    LKS_TRY(put_text(line));
    return put_text("\n");
}

Status flush_lines() {
    if (std::fflush(stdout) != 0) {
        return unavailable("cannot write to stdout: {}", std::strerror(errno));
    }
    if (std::ferror(stdout) != 0) {
        return unavailable("not all could be written to stdout");
    }
    return {};
}

bool is_output_unread() {
    pollfd out{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
    return ::poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

void complain(std::string_view text) noexcept {
    constexpr std::string_view name = "lakestream: ";
    std::fwrite(name.data(), 1, name.size(), stderr);
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fputc('\n', stderr);
}

void Failures::add(Status done) {
    if (done.ok()) {
        return;
    }
    if (!last_.ok()) {
        complain(last_.error().message);
    }
    last_ = std::move(done);
}

Result<std::string> read_file(const std::string& path, std::size_t bytes_max) {
    errno = 0;
    std::ifstream in(path, std::ios::binary);
    if (!in) {
        return not_found("cannot read {}: {}", path, std::strerror(errno));
    }
    std::error_code ignored;
    // A folder can be opened; the first read of it throws.
    if (std::filesystem::is_directory(path, ignored)) {
        return not_found("cannot read {}: it is a folder", path);
    }
    std::string read;
    for (std::array<char, 1 << 16> chunk{}; in && read.size() < bytes_max;) {
        const std::size_t wanted = std::min(chunk.size(), bytes_max - read.size());
        in.read(chunk.data(), static_cast<std::streamsize>(wanted));
        read.append(chunk.data(), static_cast<std::size_t>(in.gcount()));
    }
    return read;
}

Result<std::int64_t> parse_integer(std::string_view text) {
    std::int64_t value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || value < 0) {
        return invalid_argument("\"{}\" is not a number", text);
    }
    return value;
}

Result<std::int64_t> parse_timestamp(std::string_view text) {
    if (auto number = parse_integer(text); number.ok()) {
        return number;
    }
    const Error wrong = invalid_argument(
        "\"{}\" is neither milliseconds nor a time like 2026-07-01T12:34:56Z", text
    );
    constexpr std::string_view form = "0000-00-00T00:00:00";
    if (text.size() <= form.size() || text.back() != 'Z') {
        return wrong;
    }
    for (std::size_t i = 0; i < form.size(); ++i) {
        if (form[i] != '0' && text[i] != form[i]) {
            return wrong;
        }
    }
    const auto year = digits(text, 0, 4);
    const auto month = digits(text, 5, 2);
    const auto day = digits(text, 8, 2);
    const auto hour = digits(text, 11, 2);
    const auto minute = digits(text, 14, 2);
    const auto second = digits(text, 17, 2);
    const auto ms = fraction_ms(text.substr(form.size(), text.size() - form.size() - 1));
    if (!year || !month || !day || !hour || !minute || !second || !ms) {
        return wrong;
    }
    const std::chrono::year_month_day date(
        std::chrono::year(*year),
        std::chrono::month(static_cast<unsigned>(*month)),
        std::chrono::day(static_cast<unsigned>(*day))
    );
    if (!date.ok() || *hour > 23 || *minute > 59 || *second > 59) {
        return wrong;
    }
    const auto time = std::chrono::sys_days(date).time_since_epoch() + std::chrono::hours(*hour) +
                      std::chrono::minutes(*minute) + std::chrono::seconds(*second) +
                      std::chrono::milliseconds(*ms);
    return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

bool is_utf8(std::string_view bytes) {
    const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
    for (std::size_t i = 0; i < bytes.size();) {
        const std::size_t length = sequence_length(at(i));
        if (length == 0 || i + length > bytes.size() ||
            (length > 1 && !second_fits(at(i), at(i + 1)))) {
            return false;
        }
        for (std::size_t k = 2; k < length; ++k) {
            if ((at(i + k) & 0xc0U) != 0x80) {
                return false;
            }
        }
        i += length;
    }
    return true;
}

void put_bytes(nlohmann::json& object, const std::string& name, codec::NullableBytes bytes) {
    if (!bytes.has_value()) {
        object[name] = nullptr;
        return;
    }
    const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    if (is_utf8(text)) {
        object[name] = text;
    } else {
        object[name + "_base64"] = codec::base64_encode(*bytes);
    }
}

}  // namespace lakestream::cli
