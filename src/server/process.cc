// SPDX-License-Identifier: Apache-2.0
// Signals, limits, and the life of the process's node.
#include "server/process.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include "base/format.h"
#include "base/log.h"
#include "server/log_sink.h"
#include "server/running_node.h"

namespace lakestream::server {

namespace {

sigset_t stop_signals() {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGTERM);
    ::sigaddset(&set, SIGINT);
    return set;
}

/// Blocks until one of them comes.
std::string_view wait_for_stop() {
    const sigset_t set = stop_signals();
    int signal = 0;
    while (::sigwait(&set, &signal) != 0) {
    }
    return signal == SIGTERM ? "SIGTERM" : "SIGINT";
}

/// From now on the default action is taken: the process ends.
void stop_at_next_signal() {
    const sigset_t set = stop_signals();
    ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void raise_file_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);  // the default is worth running with
    }
}

}  // namespace

void prepare_process() {
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGXFSZ, SIG_IGN);
    const sigset_t set = stop_signals();
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    raise_file_limit();
}

Status run(const Settings& settings, const std::function<void(const Node&)>& ready) {
    install_log_sink(log_level(settings.log_level));
    for (const std::string& changed : changed_settings(settings)) {
        log::info("server", "setting {}", changed);
    }
    const auto running = LKS_TRY(RunningNode::start(settings));
    log::info(
        "server",
        "ready cluster={} shards={}",
        running->node().cluster_id(),
        running->leaves().loops().size()
    );
    ready(running->node());

    const std::string_view signal = wait_for_stop();
    log::info("server", "stopping signal={} drain_max={}s", signal, settings.drain_max / 1s);
    stop_at_next_signal();
    running->stop();
    log::info("server", "stopped");
    return {};
}

}  // namespace lakestream::server
