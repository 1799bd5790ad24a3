// SPDX-License-Identifier: Apache-2.0
// Report: what a check finds, line by line, on stdout.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "cli/commands.h"
#include "cli/text.h"

namespace lakestream::cli {

class Report {
  public:
    explicit Report(RecordFormat format) : format_(format) {}

    /// A line that is no problem.
    template <class... Args>
    void note(fmt::format_string<Args...> format, Args&&... args) {
        say("note", fmt::format(format, std::forward<Args>(args)...));
    }

    /// A line for one problem: it names the file or record, and what to do.
    template <class... Args>
    void problem(fmt::format_string<Args...> format, Args&&... args) {
        ++problems_;
        say("problem", fmt::format(format, std::forward<Args>(args)...));
    }

    std::uint64_t problems() const { return problems_; }
    /// Whether the lines could be written.
    const Status& output() const { return output_; }

  private:
    void say(std::string_view kind, const std::string& text);

    const RecordFormat format_;
    std::uint64_t problems_ = 0;
    Status output_;
};

}  // namespace lakestream::cli
