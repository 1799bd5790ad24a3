// SPDX-License-Identifier: Apache-2.0
// doctor: what of the machine or of a running node will hurt, and what to do about it.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "cli/commands.h"
#include "cli/http_get.h"
#include "cli/rows.h"
#include "cli/session.h"
#include "cli/text.h"
#include "cli/topic_info.h"

namespace lakestream::cli {

using nlohmann::json;

namespace {

constexpr rlim_t files_wanted = 65'536;
constexpr double gib = 1 << 30;
constexpr double fsync_slow_ms = 10;
constexpr int fsync_times = 15;

enum class Level : std::uint8_t { ok, note, warn, fail };

struct Finding {
    std::string check;
    Level level = Level::ok;
    std::string says;
    std::string todo;  // empty when all is well
};

std::string_view name_of(Level level) {
    constexpr std::string_view names[] = {"ok", "note", "warn", "fail"};
    return names[static_cast<std::size_t>(level)];
}

Finding check_files() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return {"open files", Level::warn, "the limit is not known", "see `ulimit -n`"};
    }
    // The process raises its own limit to the hard one.
    const bool few = limit.rlim_max < files_wanted;
    return {
        "open files",
        few ? Level::warn : Level::ok,
        fmt::format("{} may be open", limit.rlim_max),
        few ? fmt::format(
                  "raise it to {}: LimitNOFILE of the unit, or /etc/security/limits.conf",
                  files_wanted
              )
            : "",
    };
}

/// A number of /proc/meminfo, in bytes.
double memory_of(const std::string& meminfo, const std::string& name) {
    const std::size_t at = meminfo.find(name + ":");
    return at == std::string::npos
               ? 0
               : 1024 * std::strtod(meminfo.c_str() + at + name.size() + 1, nullptr);
}

Finding check_memory() {
    const auto meminfo = read_file("/proc/meminfo");
    const double available = meminfo.ok() ? memory_of(*meminfo, "MemAvailable") : 0;
    const bool little = available < gib;
    return {
        "memory",
        little ? Level::warn : Level::ok,
        fmt::format(
            "{:.1f} of {:.1f} GiB are available",
            available / gib,
            (meminfo.ok() ? memory_of(*meminfo, "MemTotal") : 0) / gib
        ),
        little ? "stop what else runs here, or lower log.tail_cache_bytes_max and "
                 "kafka.bytes_in_flight_max"
               : "",
    };
}

Finding check_cores() {
    return {
        .check = "cores",
        .says = fmt::format("{} may be used", rt::usable_cores()),
        .todo = "",
    };
}

Finding check_clock() {
    timex state{};
    const bool synchronised = ::adjtimex(&state) != TIME_ERROR;
    return {
        "clock",
        synchronised ? Level::ok : Level::warn,
        synchronised ? "is synchronised" : "nobody sets it",
        synchronised ? "" : "run chrony or systemd-timesyncd: retention and timestamps go by it",
    };
}

/// The folder, or the nearest one above it that exists.
std::string existing_folder(const std::string& folder) {
    std::error_code ignored;
    std::filesystem::path path = std::filesystem::absolute(folder, ignored);
    while (!std::filesystem::is_directory(path, ignored) && path.has_relative_path()) {
        path = path.parent_path();
    }
    return path.string();
}

Finding check_space(const std::string& folder) {
    struct statfs found{};
    if (::statfs(folder.c_str(), &found) != 0) {
        return {
            "disk space",
            Level::fail,
            fmt::format("{} cannot be looked at", folder),
            "check --data-dir and its permissions"
        };
    }
    const double block = static_cast<double>(found.f_bsize);
    const double free = block * static_cast<double>(found.f_bavail);
    const double all = block * static_cast<double>(found.f_blocks);
    const Level level = free < 0.5 * gib                     ? Level::fail
                        : free < 5 * gib || free < 0.1 * all ? Level::warn
                                                             : Level::ok;
    return {
        "disk space",
        level,
        fmt::format("{:.1f} of {:.1f} GiB are free in {}", free / gib, all / gib, folder),
        level == Level::ok ? ""
                           : "free some, or lower retention: `lakestream config set --topic TOPIC "
                             "retention.bytes=BYTES`",
    };
}

Finding check_file_system(const std::string& folder) {
    constexpr long tmpfs = 0x01021994;
    constexpr long nfs = 0x6969;
    struct statfs found{};
    if (::statfs(folder.c_str(), &found) != 0) {
        return {"file system", Level::warn, "is not known", "check --data-dir"};
    }
    if (found.f_type == tmpfs) {
        return {
            "file system",
            Level::warn,
            "is in memory",
            "put --data-dir on a disk: all is lost when the machine stops"
        };
    }
    if (found.f_type == nfs) {
        return {
            "file system",
            Level::warn,
            "is on a network",
            "put --data-dir on a local disk: locks and fsync of NFS are not to be relied on"
        };
    }
    return {.check = "file system", .says = "is on a disk", .todo = ""};
}

/// Median of some appends to a file without a name, in ms. Errors: nothing can be written.
Result<double> measure_fsync(const std::string& folder) {
    const int file = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0) {
        return unavailable("cannot write into {}: {}", folder, std::strerror(errno));
    }
    const rt::SystemClock clock;
    const std::vector<std::byte> block(4096);
    std::vector<double> times;
    bool written = true;
    for (int i = 0; i < fsync_times && written; ++i) {
        const MonoTime begin = clock.mono_now();
        written = ::write(file, block.data(), block.size()) > 0 && ::fdatasync(file) == 0;
        times.push_back(std::chrono::duration<double, std::milli>(clock.mono_now() - begin).count()
        );
    }
    ::close(file);
    if (!written) {
        return unavailable("cannot write into {}: {}", folder, std::strerror(errno));
    }
    std::ranges::nth_element(times, times.begin() + fsync_times / 2);
    return times[fsync_times / 2];
}

Finding check_fsync(const std::string& folder) {
    const auto ms = measure_fsync(folder);
    if (!ms.ok()) {
        return {
            "fsync",
            Level::warn,
            ms.error().message,
            "run as the user of the node, or check the permissions"
        };
    }
    const bool slow = *ms > fsync_slow_ms;
    return {
        "fsync",
        slow ? Level::warn : Level::ok,
        fmt::format("takes {:.2f} ms", *ms),
        slow ? "each acknowledgement waits for two: use a faster disk, or expect slow producers"
             : "",
    };
}

Finding check_data_dir(const Doctor& options) {
    std::error_code ignored;
    const std::filesystem::path data(options.data_dir);
    if (!std::filesystem::exists(data, ignored)) {
        return {
            "data folder",
            Level::note,
            fmt::format("there is no {}", options.data_dir),
            "`lakestream dev` makes it; --data-dir names another one"
        };
    }
    if (!std::filesystem::exists(data / "metadata", ignored)) {
        return {
            "data folder",
            Level::warn,
            fmt::format("{} has no folder metadata", options.data_dir),
            "is it the --data-dir of the node? A node that keeps its metadata elsewhere is fine"
        };
    }
    return {.check = "data folder", .says = options.data_dir + " is one", .todo = ""};
}

rt::Task<Status> ask_metadata(Broker& broker, std::string& says) {
    const MonoTime begin = broker.now();
    const auto found = LKS_CO_TRY(
        co_await broker.call<codec::kafka::MetadataResponse>(codec::kafka::MetadataRequest())
    );
    says = fmt::format(
        "{} broker{}, answered in {:.1f} ms",
        found.brokers.size(),
        found.brokers.size() == 1 ? "" : "s",
        std::chrono::duration<double, std::milli>(broker.now() - begin).count()
    );
    co_return Status();
}

Finding check_broker(const Doctor& options) {
    std::string says;
    Session session;
    const Status asked = session.run(with_broker(
        session.network(),
        options.bootstrap,
        [&] [[clang::coro_wrapper]] (Broker & broker) { return ask_metadata(broker, says); }
    ));
    if (!asked.ok()) {
        return {
            "broker",
            Level::fail,
            asked.error().message,
            "start one: `lakestream dev`; or name another: --bootstrap HOST:PORT"
        };
    }
    return {.check = "broker", .says = std::move(says), .todo = ""};
}

Finding check_ready(const Doctor& options) {
    const auto answer = http_get(options.http, "/readyz");
    if (!answer.ok()) {
        return {
            "ready",
            Level::warn,
            answer.error().message,
            "set http.listen on the node, or name it: --http HOST:PORT"
        };
    }
    if (answer->status == 200) {
        return {.check = "ready", .says = "the node takes requests", .todo = ""};
    }
    std::string why = fmt::format("it answers {}", answer->status);
    const json report = json::parse(answer->body, nullptr, false);
    if (report.is_object() && report.contains("checks") && report["checks"].is_array()) {
        for (const json& check : report["checks"]) {
            if (check.is_object() && check.value("reason", "") != "") {
                why += fmt::format("; {}: {}", check.value("name", ""), check.value("reason", ""));
            }
        }
    }
    return {"ready", Level::fail, std::move(why), "see the reasons, and the node's log"};
}

}  // namespace

Result<Exit> doctor(const Doctor& options) {
    const std::string folder = existing_folder(options.data_dir);
    const std::vector<Finding> findings = {
        check_files(),
        check_memory(),
        check_cores(),
        check_clock(),
        check_space(folder),
        check_file_system(folder),
        check_fsync(folder),
        check_data_dir(options),
        check_broker(options),
        check_ready(options),
    };
    Rows rows(options.format, {"check", "level", "says", "todo"});
    Exit exit = Exit::ok;
    for (const Finding& finding : findings) {
        exit = finding.level == Level::fail ? Exit::failed : exit;
        LKS_TRY(rows.add(
            {finding.check,
             name_of(finding.level),
             finding.says,
             finding.todo.empty() ? json(nullptr) : json(finding.todo)}
        ));
    }
    LKS_TRY(rows.finish());
    return exit;
}

}  // namespace lakestream::cli
