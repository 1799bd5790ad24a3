// SPDX-License-Identifier: Apache-2.0
// `/metrics`: the registry as Prometheus reads it.
#pragma once

#include <string>

#include "base/metrics.h"
#include "http/server.h"

namespace lakestream::http {

/// Prometheus text format 0.0.4: by name, then in the order of registration.
std::string prometheus_text(const metrics::Registry& registry);

/// The registry outlives it; registered metrics live until the server has stopped.
class MetricsHandler final : public Handler {
  public:
    explicit MetricsHandler(const metrics::Registry& registry) : registry_(registry) {}
    rt::Task<Response> handle(Request request) override;

  private:
    const metrics::Registry& registry_;
};

}  // namespace lakestream::http
