// SPDX-License-Identifier: Apache-2.0
// The server process: a node on production leaves, from start to the signal that ends it.
#pragma once

#include <functional>

#include "base/result.h"
#include "server/node.h"
#include "server/settings.h"
#include "server/supervisor.h"

namespace lakestream::server {

/// Call first in main(), before there are threads: a standard stream that is closed becomes one
/// that cannot be used (else the next file to be opened would get what is printed), broken pipes
/// and file size limits become errors of calls, and as many files may be open as the system allows.
void prepare_process();

/// Call before there are threads: SIGTERM, SIGINT and SIGHUP (unless it is ignored) wait until
/// `run` or `signal_came` asks for them.
void hold_signals();

/// Whether one of the signals that `hold_signals` holds has come. After the first, the next one
/// ends the process at once.
bool signal_came();

/// Run a node until one of these signals, then drain and stop it; a second signal ends the process
/// at once, which is as safe as any crash. `ready` is called once clients are served; the
/// supervisor is told then, and when it stops. Errors: it could not be started; the message names
/// the setting, folder or address and what to do.
Status run(
    const Settings& settings,
    const Supervisor& supervisor,
    const std::function<void(const Node&)>& ready
);

}  // namespace lakestream::server
