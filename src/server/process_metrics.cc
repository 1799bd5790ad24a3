// SPDX-License-Identifier: Apache-2.0
// Numbers from /proc and statvfs.
#include "server/process_metrics.h"

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "base/format.h"
#include "base/version.h"

namespace lakestream::server {

namespace {

/// With less, writes are about to fail.
constexpr std::uint64_t free_bytes_min = 16 << 20;

double cpu_seconds() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct MemoryPages {
    std::uint64_t all = 0;
    std::uint64_t resident = 0;
};

MemoryPages memory_pages() {
    MemoryPages pages;
    std::ifstream("/proc/self/statm") >> pages.all >> pages.resident;
    return pages;
}

double page_bytes() {
    return static_cast<double>(::sysconf(_SC_PAGESIZE));
}

double count_entries(const char* folder) {
    std::error_code failed;
    double count = 0;
    for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end;
         at.increment(failed)) {
        ++count;
    }
    return count;
}

double open_files_max() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    return static_cast<double>(limit.rlim_cur);
}

}  // namespace

std::vector<DiskSpace> measure_disks(const std::vector<DiskFolder>& folders) {
    std::vector<DiskSpace> disks;
    for (const DiskFolder& folder : folders) {
        struct statvfs space{};
        if (::statvfs(folder.folder.c_str(), &space) == 0) {
            disks.push_back({
                .of = folder.of,
                .folder = folder.folder,
                .free_bytes = space.f_bavail * space.f_frsize,
                .size_bytes = space.f_blocks * space.f_frsize,
            });
        }
    }
    return disks;
}

Status check_disks(const std::vector<DiskSpace>& disks) {
    for (const DiskSpace& disk : disks) {
        if (disk.free_bytes < free_bytes_min) {
            return exhausted(
                "{} MiB are left for {} in {}: make room before writes fail",
                disk.free_bytes >> 20,
                disk.of,
                disk.folder
            );
        }
    }
    return {};
}

ProcessMetrics::ProcessMetrics(
    metrics::Registry& registry, const rt::Clock& clock, std::vector<DiskFolder> folders
)
    : clock_(clock),
      started_(clock.mono_now()),
      folders_(std::move(folders)),
      registrations_(registry) {
    register_process();
    register_disks();
}

void ProcessMetrics::register_process() {
    metrics::Registrations& out = registrations_;
    const double started = static_cast<double>(to_ms(clock_.wall_now())) / 1000;
    out.collect_gauge(
        "lakestream_build_info",
        "What runs here; always 1.",
        {"version", "compiler"},
        [] {
            return std::vector<metrics::Sample>{
                {.labels = {{"version", std::string(version)}, {"compiler", __VERSION__}},
                 .value = 1}
            };
        }
    );
    out.collect(
        "process_cpu_seconds_total",
        "Processor time, of the system for this process too.",
        metrics::Entry::Kind::counter,
        {},
        [] { return metrics::sample(cpu_seconds()); }
    );
    out.collect_gauge("process_resident_memory_bytes", "Resident memory.", [] {
        return metrics::sample(static_cast<double>(memory_pages().resident) * page_bytes());
    });
    out.collect_gauge("process_virtual_memory_bytes", "Address space.", [] {
        return metrics::sample(static_cast<double>(memory_pages().all) * page_bytes());
    });
    out.collect_gauge("process_threads", "Threads.", [] {
        return metrics::sample(count_entries("/proc/self/task"));
    });
    out.collect_gauge("process_open_fds", "Open files and connections.", [] {
        return metrics::sample(count_entries("/proc/self/fd"));
    });
    out.collect_gauge("process_max_fds", "Open files that the system allows.", [] {
        return metrics::sample(open_files_max());
    });
    out.collect_gauge("process_start_time_seconds", "When it started, since 1970.", [started] {
        return metrics::sample(started);
    });
    out.collect_gauge("lakestream_process_uptime_seconds", "Since it started.", [this] {
        const std::chrono::duration<double> uptime = clock_.mono_now() - started_;
        return metrics::sample(uptime.count());
    });
}

void ProcessMetrics::register_disks() {
    const auto add = [this](std::string_view name, std::string_view help, auto value) {
        registrations_.collect_gauge(name, help, {"of", "folder"}, [this, value] {
            std::vector<metrics::Sample> samples;
            for (const DiskSpace& disk : disks()) {
                samples.push_back({
                    .labels = {{"of", disk.of}, {"folder", disk.folder}},
                    .value = static_cast<double>(value(disk)),
                });
            }
            return samples;
        });
    };
    add("lakestream_disk_free_bytes",
        "Room left where storage or metadata are.",
        [](const DiskSpace& disk) { return disk.free_bytes; });
    add("lakestream_disk_size_bytes", "Size of that file system.", [](const DiskSpace& disk) {
        return disk.size_bytes;
    });
}

}  // namespace lakestream::server
