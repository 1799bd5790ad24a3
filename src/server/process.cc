// SPDX-License-Identifier: Apache-2.0
// Signals, limits, and the life of the process's node.
#include "server/process.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include <utility>

#include "base/format.h"
#include "base/log.h"
#include "server/blocking.h"
#include "server/leaves.h"
#include "server/log_sink.h"

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

using NodePtr = std::unique_ptr<Node>;

rt::Task<Result<NodePtr>> start_node(NodeSettings settings, Seams seams) {
    NodePtr node = make_node(std::move(settings), std::move(seams));
    Status started = co_await node->start();
    if (!started.ok()) {
        co_await node->stop((co_await rt::this_executor()).now());
        co_return std::move(started).error();
    }
    co_return node;
}

rt::Task<void> stop_node(NodePtr node, Duration patience) {
    co_await node->stop((co_await rt::this_executor()).now() + patience);
    node.reset();
}

Seams seams_of(Leaves& leaves) {
    std::vector<rt::Executor*> executors;
    for (std::size_t i = 0; i < leaves.loops().size(); ++i) {
        executors.push_back(&leaves.loops()[i]);
    }
    return {
        .executors = std::move(executors),
        .network = leaves.network(),
        .objects = leaves.objects(),
        .metadata = leaves.metadata(),
        .metrics = leaves.registry(),
        .compaction = leaves.compaction(),
    };
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
    const auto leaves = LKS_TRY(Leaves::open(settings, Open::create));
    rt::Executor& home = leaves->loops()[0];
    NodePtr node = LKS_TRY(run_blocking(home, start_node(settings.node, seams_of(*leaves))));
    log::info("server", "ready cluster={} shards={}", node->cluster_id(), leaves->loops().size());
    ready(*node);

    const std::string_view signal = wait_for_stop();
    log::info("server", "stopping signal={} drain_max={}s", signal, settings.drain_max / 1s);
    stop_at_next_signal();
    run_blocking(home, stop_node(std::move(node), settings.drain_max));
    log::info("server", "stopped");
    return {};
}

}  // namespace lakestream::server
