// SPDX-License-Identifier: Apache-2.0
// Rows: what a command lists, as aligned columns or as JSON lines with the same names.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/commands.h"

namespace lakestream::cli {

/// Text is written by `finish`, since the widest cell of a column decides; JSON at once. Names of
/// columns are snake_case; the heading of `log_end` is LOG-END.
class Rows {
  public:
    Rows(RecordFormat format, std::vector<std::string> columns);

    /// One cell per column. Text: null is `-`, lists are joined by commas. Errors: of `put_line`.
    Status add(const std::vector<nlohmann::json>& cells);

    /// The text. Errors: of `put_line`.
    Status finish();

  private:
    Status put(const std::vector<std::string>& row) const;

    const RecordFormat format_;
    const std::vector<std::string> columns_;
    std::vector<std::size_t> widths_;
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace lakestream::cli
