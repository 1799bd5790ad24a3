// SPDX-License-Identifier: Apache-2.0
// docs/metrics.md, from a node.
#pragma once

#include <string>

#include "base/result.h"

namespace lakestream::server {

/// The document: one row for each metric of a node that is started for this, in a temporary folder,
/// and stopped. Blocks. Errors: of starting it.
Result<std::string> metrics_markdown();

}  // namespace lakestream::server
