// SPDX-License-Identifier: Apache-2.0
// The program: one command, and whether all that it printed was written.
#include <algorithm>
#include <string>
#include <vector>

#include "cli/main/command_line.h"
#include "cli/text.h"
#include "server/log_sink.h"
#include "server/process.h"

namespace {

/// Whether all that was printed has reached where it should go.
bool is_written_out() {
    const lakestream::Status status = lakestream::cli::flush_lines();
    if (!status.ok()) {
        lakestream::cli::complain(status.error().message);
    }
    return status.ok();
}

}  // namespace

int main(int argc, char** argv, char** environment) {
    using namespace lakestream;  // NOLINT(google-build-using-namespace): main() has no namespace
    server::prepare_process();
    server::install_log_sink(log::Level::warn);
    std::vector<std::string> variables;
    for (; *environment != nullptr; ++environment) {
        variables.emplace_back(*environment);
    }
    const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    const int exit = cli::CommandLine(std::move(variables)).run(words);
    return is_written_out() ? exit : static_cast<int>(cli::Exit::failed);
}
