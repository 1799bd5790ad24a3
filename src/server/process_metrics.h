// SPDX-License-Identifier: Apache-2.0
// ProcessMetrics: what the operating system says about this process and its disks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "base/result.h"
#include "rt/clock.h"

namespace lakestream::server {

/// Where something is stored, and how much room is left there for this process.
struct DiskSpace {
    std::string of;  // `storage` or `metadata`
    std::string folder;
    std::uint64_t free_bytes = 0;
    std::uint64_t size_bytes = 0;
};

/// What the process keeps in a local folder.
struct DiskFolder {
    std::string of;
    std::string folder;
};

/// Those whose room is known, now.
std::vector<DiskSpace> measure_disks(const std::vector<DiskFolder>& folders);

/// `exhausted` when so little is left that writes are about to be refused.
Status check_disks(const std::vector<DiskSpace>& disks);

/// The names that Prometheus' own clients use (`process_…`), the build, and disks. The clock
/// outlives it.
class ProcessMetrics {
  public:
    ProcessMetrics(
        metrics::Registry& registry, const rt::Clock& clock, std::vector<DiskFolder> folders
    );
    ProcessMetrics(const ProcessMetrics&) = delete;
    ProcessMetrics& operator=(const ProcessMetrics&) = delete;

    std::vector<DiskSpace> disks() const { return measure_disks(folders_); }

  private:
    void register_process();
    void register_disks();

    const rt::Clock& clock_;
    const MonoTime started_;
    const std::vector<DiskFolder> folders_;
    metrics::Registrations registrations_;
};

}  // namespace lakestream::server
