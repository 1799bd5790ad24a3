// SPDX-License-Identifier: Apache-2.0
// Nemeses: what befalls the hosts while chaos lasts. Crashes are World's: they come between steps.
#pragma once

#include "rt/scope.h"
#include "sim/world.h"

namespace lakestream::sim {

/// All that the knobs turn on, each on its own time.
class Nemeses {
  public:
    explicit Nemeses(World& world) : world_(world), scope_(world.make_actor()) {}
    void start();

  private:
    /// Every `mean` or so, `act` on a random host, and `undo` it within `length_max`.
    rt::Task<void> strike(
        Duration mean,
        Duration length_max,
        void (*act)(World& world, Host& host, Duration length),
        void (*undo)(Host& host)
    );

    World& world_;
    rt::TaskScope scope_;
};

}  // namespace lakestream::sim
