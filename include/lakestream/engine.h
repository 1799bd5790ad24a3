// SPDX-License-Identifier: Apache-2.0
// Engine: Lakestream inside a program: opens stores, owns the threads.
//
//     auto engine = lakestream::Engine::open({.data_dir = "data"});
//     auto catalog = engine->catalog();
//     auto stream = catalog.create({.name = {"events"}}).get();
//
// docs/api.md has a tour, examples/first_stream a program.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lakestream/catalog.h"
#include "lakestream/options.h"
#include "lakestream/result.h"

namespace lakestream {

/// One at a time on one metadata folder. Threads: one per core for everything that waits, and a few
/// for files and for work that needs a core; callbacks of futures run on the former. The engine
/// changes nothing of the process: no signal handler, no limit, no locale. Warnings go to stderr.
class Engine {
  public:
    /// Open the stores, finish what a crash left half done, start the roles. Blocks, for some tens
    /// of milliseconds. Errors name what to do: `invalid_argument` (options, with a known setting
    /// that is near), `unsupported` (a folder that cannot be made or written), `already_exists`
    /// (another engine has the folder: its process; the Kafka port is taken), `corrupt` (metadata).
    static Result<Engine> open(const EngineOptions& options);

    Engine(Engine&&) noexcept;
    Engine& operator=(Engine&&) noexcept;
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    /// Closes. Not from a callback of a future.
    ~Engine();

    /// Streams, and through them logs and tables. These may outlive the engine: their calls then
    /// end with `cancelled`.
    StreamCatalog catalog() const;

    /// Where Kafka clients are served, `HOST:PORT` with the port that the system chose; none
    /// without Role::broker.
    std::optional<std::string> kafka_address() const;

    /// Take no more calls, let those that were made end, stop the roles, save what makes the next
    /// start fast. Blocks until then: appends end at their time-outs at the latest. Not needed for
    /// durability. A second call does nothing. Errors: `invalid_argument` (from a callback).
    Status close();

  private:
    explicit Engine(std::shared_ptr<api::Core> core);

    std::shared_ptr<api::Core> core_;  // shared with the handles; closed before the engine goes
};

}  // namespace lakestream
