// SPDX-License-Identifier: Apache-2.0
// Scratch files: written by the Arrow module, stored, and removed.
#pragma once

#include <string>

#include "base/result.h"

namespace lakestream::compact {

/// A file that cannot be removed is left: the folder is emptied at the next start.
void remove_local_file(const std::string& path);

/// An empty folder, of this path. Errors: `unsupported`, naming it and what to do.
Status make_empty_folder(const std::string& path);

}  // namespace lakestream::compact
