// SPDX-License-Identifier: Apache-2.0
// Commands over the data folder of a stopped node.
#pragma once

#include <functional>

#include "cli/main/command_line.h"

namespace lakestream::cli {

using StoredAction = std::function<Result<Exit>(const server::Settings&)>;

/// What the command does with the folder that --data-dir says.
void act_stored(CommandLine& line, CLI::App& command, StoredAction action);

/// The same for a check: what is damaged beyond reading was found to be so (`failed`); with all
/// other errors nothing is known (`unchecked`).
void act_check(CommandLine& line, CLI::App& command, StoredAction action);

}  // namespace lakestream::cli
