// SPDX-License-Identifier: Apache-2.0
// The server process: a node on production leaves, from start to the signal that ends it.
#pragma once

#include <functional>

#include "base/result.h"
#include "server/node.h"
#include "server/settings.h"

namespace lakestream::server {

/// Call first in main(), before there are threads: broken pipes and file size limits become errors
/// of calls, as many files may be open as the system allows, and SIGTERM and SIGINT wait until
/// `run` asks for them.
void prepare_process();

/// Run a node until SIGTERM or SIGINT, then drain and stop it; a second signal ends the process at
/// once, which is as safe as any crash. `ready` is called once clients are served. Errors: it could
/// not be started; the message names the setting, folder or address and what to do.
Status run(const Settings& settings, const std::function<void(const Node&)>& ready);

}  // namespace lakestream::server
