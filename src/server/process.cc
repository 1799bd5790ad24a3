// SPDX-License-Identifier: Apache-2.0
// Signals, limits, and the life of the process's node.
#include "server/process.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

#include "base/format.h"
#include "base/log.h"
#include "server/log_sink.h"
#include "server/running_node.h"

namespace lakestream::server {

namespace {

/// Files that are no Kafka connections: the metadata's, HTTP's, objects being read and written.
constexpr rlim_t other_files = 512;

/// Whoever started us under nohup wants the closing terminal not to be heard.
bool hears_hangup() {
    struct sigaction now{};
    return ::sigaction(SIGHUP, nullptr, &now) == 0 && now.sa_handler != SIG_IGN;
}

sigset_t stop_signals() {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGTERM);
    ::sigaddset(&set, SIGINT);
    if (hears_hangup()) {
        ::sigaddset(&set, SIGHUP);
    }
    return set;
}

/// Blocks until one of them comes.
std::string_view wait_for_stop() {
    const sigset_t set = stop_signals();
    int signal = 0;
    while (::sigwait(&set, &signal) != 0) {
    }
    return signal == SIGTERM ? "SIGTERM" : signal == SIGINT ? "SIGINT" : "SIGHUP";
}

/// From now on the default action is taken: the process ends.
void stop_at_next_signal() {
    const sigset_t set = stop_signals();
    ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void occupy_standard_streams() {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(stream, F_GETFD) < 0) {
            ::open("/dev/null", O_RDONLY);  // takes the lowest free number, which is this one
        }
    }
}

void raise_file_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);  // the default is worth running with
    }
}

/// With fewer connections when there are not files for so many: the last clients would take those
/// that appends need.
Settings within_file_limit(Settings settings) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return settings;
    }
    const rlim_t left =
        std::max(limit.rlim_cur / 2, limit.rlim_cur - std::min(limit.rlim_cur, other_files));
    std::size_t& connections = settings.node.kafka.connections_max;
    if (connections > left) {
        log::warn(
            "server",
            "connections_max_lowered from={} to={} open_files_max={}; for more, raise the limit of "
            "open files (ulimit -n, LimitNOFILE)",
            connections,
            left,
            limit.rlim_cur
        );
        connections = left;
    }
    return settings;
}

void tell(const Supervisor& supervisor, std::string_view state) {
    if (const Status told = supervisor.notify(state); !told.ok()) {
        log::warn("server", "notify_failed state={} error={}", state, told.error());
    }
}

}  // namespace

void prepare_process() {
    occupy_standard_streams();
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGXFSZ, SIG_IGN);
    raise_file_limit();
}

void hold_signals() {
    const sigset_t set = stop_signals();
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

bool signal_came() {
    const sigset_t set = stop_signals();
    const timespec at_once{};
    if (::sigtimedwait(&set, nullptr, &at_once) < 0) {
        return false;
    }
    stop_at_next_signal();
    return true;
}

Status run(
    const Settings& settings,
    const Supervisor& supervisor,
    const std::function<void(const Node&)>& ready
) {
    install_log_sink(log_level(settings.log_level));
    for (const std::string& changed : changed_settings(settings)) {
        log::info("server", "setting {}", changed);
    }
    const auto running = LKS_TRY(RunningNode::start(within_file_limit(settings)));
    log::info(
        "server",
        "ready cluster={} shards={}",
        running->node().cluster_id(),
        running->leaves().loops().size()
    );
    ready(running->node());
    tell(supervisor, "READY=1");

    const std::string_view signal = wait_for_stop();
    log::info("server", "stopping signal={} drain_max={}s", signal, settings.drain_max / 1s);
    tell(supervisor, "STOPPING=1");
    stop_at_next_signal();
    running->stop();
    log::info("server", "stopped");
    return {};
}

}  // namespace lakestream::server
