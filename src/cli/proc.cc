// SPDX-License-Identifier: Apache-2.0
// Reads /proc.
#include "cli/proc.h"

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace lakestream::cli {

namespace {

Result<std::string> read_file(const std::string& path) {
    std::ifstream in(path);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    if (text.empty()) {
        return not_found("cannot read {}: is the process running?", path);
    }
    return text;
}

/// The number behind `name:` in /proc/PID/status, in KiB there.
std::uint64_t kib_of(const std::string& status, const std::string& name) {
    std::istringstream in(status);
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with(name + ":")) {
            std::uint64_t value = 0;
            std::istringstream(line.substr(name.size() + 1)) >> value;
            return value;
        }
    }
    return 0;
}

}  // namespace

Result<ProcessUsage> process_usage(int pid) {
    const std::string folder = fmt::format("/proc/{}/", pid);
    const std::string stat = LKS_TRY(read_file(folder + "stat"));
    const std::string status = LKS_TRY(read_file(folder + "status"));
    // The second field is the name, in brackets, and may hold spaces: count from behind it.
    std::istringstream fields(stat.substr(stat.rfind(')') + 1));
    std::string skipped;
    for (int field = 3; field < 14; ++field) {
        fields >> skipped;
    }
    double user = 0;
    double system = 0;
    fields >> user >> system;
    return ProcessUsage{
        .cpu_seconds = (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK)),
        .rss_bytes = kib_of(status, "VmRSS") << 10,
        .peak_bytes = kib_of(status, "VmHWM") << 10,
    };
}

}  // namespace lakestream::cli
