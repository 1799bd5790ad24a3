// SPDX-License-Identifier: Apache-2.0
// What the public handles point to.
#pragma once

#include <memory>
#include <string>

#include "api/core.h"
#include "catalog/catalog.h"
#include "lakestream/catalog.h"

namespace lakestream::api {

/// One log, as it was opened. Immutable.
struct LogHandle {
    std::shared_ptr<Core> core;
    catalog::StreamPtr stream;
    LogId id;
};

/// The table of a stream of this name. Immutable.
struct TableHandle {
    std::shared_ptr<Core> core;
    catalog::StreamName stream;
    std::string location;
};

}  // namespace lakestream::api
