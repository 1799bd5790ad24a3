// SPDX-License-Identifier: Apache-2.0
// Retainer: trims the logs of all topics by their retention.
#pragma once

#include "catalog/catalog.h"
#include "clean/metrics.h"
#include "clean/retention.h"
#include "clean/settings.h"
#include "log/engine.h"
#include "meta/metadata_store.h"
#include "rt/signal.h"
#include "rt/task.h"

namespace lakestream::clean {

class Retainer {
  public:
    struct Seams {
        meta::MetadataStore& metadata;
        log::Engine& engine;
        catalog::Catalog& catalog;
    };

    Retainer(const CleanSettings& settings, Seams seams, CleanMetrics& metrics)
        : settings_(settings), seams_(seams), metrics_(metrics) {}

    /// Look at every log once, until `stop`. Errors: of listing the topics; one log's trouble is
    /// logged and keeps it as it is. Cost: 3 or 4 gets of each log with a limit, nothing written;
    /// 1 scan and a trim of one from which something expires.
    rt::Task<Status> apply(const rt::StopSource& stop);

  private:
    rt::Task<Status> apply_to(LogId log, RetentionPolicy policy);

    const CleanSettings& settings_;
    Seams seams_;
    CleanMetrics& metrics_;
};

}  // namespace lakestream::clean
