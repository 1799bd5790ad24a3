// SPDX-License-Identifier: Apache-2.0
// Progress: a line on the terminal that says how far long work is.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "rt/epoll/loop.h"

namespace lakestream::cli {

/// Draws on stderr when that is a terminal, else never. The line is gone when the work is done.
class Progress {
  public:
    /// `what`: "objects", "MB". `total` 0: not known.
    Progress(std::string what, std::uint64_t total);
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    ~Progress();

    /// Draws ten times a second at most; else costs a look at the clock.
    void show(std::uint64_t done);

    /// `[#####               ]  25% 3/12 objects`; without a total, `3 objects`.
    static std::string text(std::uint64_t done, std::uint64_t total, const std::string& what);

  private:
    const std::string what_;
    const std::uint64_t total_;
    const bool terminal_;
    const rt::SystemClock clock_;
    MonoTime next_;
    bool drawn_ = false;
};

}  // namespace lakestream::cli
