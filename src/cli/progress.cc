// SPDX-License-Identifier: Apache-2.0
// Drawing of progress.
#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/format.h"

namespace lakestream::cli {

namespace {

constexpr Duration draw_every = 100ms;
constexpr std::size_t bar_width = 20;
constexpr std::string_view erase_line = "\r\x1b[K";

void draw(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
}

}  // namespace

Progress::Progress(std::string what, std::uint64_t total)
    : what_(std::move(what)),
      total_(total),
      terminal_(::isatty(STDERR_FILENO) == 1),
      next_(clock_.mono_now() + draw_every) {}

Progress::~Progress() {
    if (drawn_) {
        draw(erase_line);
    }
}

void Progress::show(std::uint64_t done) {
    if (!terminal_ || clock_.mono_now() < next_) {
        return;
    }
    next_ = clock_.mono_now() + draw_every;
    drawn_ = true;
    draw(fmt::format("{}{}", erase_line, text(done, total_, what_)));
}

std::string Progress::text(std::uint64_t done, std::uint64_t total, const std::string& what) {
    if (total == 0) {
        return fmt::format("{} {}", done, what);
    }
    const double part = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
    const auto filled = static_cast<std::size_t>(part * bar_width);
    return fmt::format(
        "[{:<{}}] {:3.0f}% {}/{} {}",
        std::string(filled, '#'),
        bar_width,
        part * 100,
        done,
        total,
        what
    );
}

}  // namespace lakestream::cli
