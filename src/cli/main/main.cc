// SPDX-License-Identifier: Apache-2.0
// The program: one command.
#include <algorithm>
#include <string>
#include <vector>

#include "cli/main/command_line.h"
#include "server/log_sink.h"
#include "server/process.h"

int main(int argc, char** argv, char** environment) {
    using namespace lakestream;  // NOLINT(google-build-using-namespace): main() has no namespace
    server::prepare_process();
    server::install_log_sink(log::Level::warn);
    std::vector<std::string> variables;
    for (; *environment != nullptr; ++environment) {
        variables.emplace_back(*environment);
    }
    const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    return cli::CommandLine(std::move(variables)).run(words);
}
