// SPDX-License-Identifier: Apache-2.0
// Texts of the command line: files, numbers and times in, bytes as JSON out.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "codec/record_reader.h"

namespace lakestream::cli {

/// One line to stdout. Errors: `unavailable` (closed pipe, full disk).
Status put_line(std::string_view line);

/// The same for any text.
Status put_text(std::string_view text);

/// Writes out what `put_line` holds. Errors: as `put_line`, for any line so far.
Status flush_lines();

/// Whether stdout is a pipe that nobody reads any more: what a command prints is not wanted.
bool is_output_unread();

/// `lakestream: TEXT` to stderr. That it cannot be written is nobody's concern: who would be told?
void complain(std::string_view text) noexcept;

/// What failed of several things that a command does: all is said, the last by who ends it.
class Failures {
  public:
    void add(Status done);
    Status last() && { return std::move(last_); }

  private:
    Status last_;
};

/// The bytes of a file, up to `bytes_max`: more than that are not waited for. Errors: `not_found`
/// (absent, a folder, not readable).
Result<std::string> read_file(
    const std::string& path, std::size_t bytes_max = std::numeric_limits<std::size_t>::max()
);

/// A decimal integer >= 0. Errors: `invalid_argument`.
Result<std::int64_t> parse_integer(std::string_view text);

/// Milliseconds since the epoch: a decimal number of them, or `2026-07-01T12:34:56Z` with optional
/// fraction. Errors: `invalid_argument`.
Result<std::int64_t> parse_timestamp(std::string_view text);

/// Whether the bytes are well-formed UTF-8.
bool is_utf8(std::string_view bytes);

/// `name` with the bytes as text; `name_base64` if they are not UTF-8; null stays null.
void put_bytes(nlohmann::json& object, const std::string& name, codec::NullableBytes bytes);

}  // namespace lakestream::cli
