// SPDX-License-Identifier: Apache-2.0
// One loop for all nemeses.
#include "sim/nemeses.h"

namespace lakestream::sim {

void Nemeses::start() {
    const NemesisKnobs& on = world_.knobs.nemeses;
    const auto nothing = [](Host&) {};
    scope_.spawn(strike(
        on.restart_every,
        on.drain_max,
        [](World&, Host& host, Duration patience) { host.stop(patience); },
        nothing
    ));
    scope_.spawn(strike(
        on.pause_every,
        on.pause_max,
        [](World&, Host& host, Duration length) { host.pause(length); },
        nothing
    ));
    scope_.spawn(strike(
        on.cut_every,
        on.cut_max,
        [](World&, Host& host, Duration) { host.set_cut_off(true); },
        [](Host& host) { host.set_cut_off(false); }
    ));
    scope_.spawn(strike(
        on.reset_every,
        Duration(0),
        [](World& world, Host& host, Duration) { world.wires.reset_all(host.name()); },
        nothing
    ));
    scope_.spawn(strike(
        on.storm_every,
        on.storm_max,
        [](World&, Host& host, Duration) { host.set_storm(true); },
        [](Host& host) { host.set_storm(false); }
    ));
    scope_.spawn(strike(
        on.full_every,
        on.storm_max,
        [](World&, Host& host, Duration) { host.set_full(true); },
        [](Host& host) { host.set_full(false); }
    ));
    scope_.spawn(strike(
        on.skew_every,
        on.skew_max,
        [](World& world, Host& host, Duration error) {
            const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(error);
            host.set_wall_error(world.outside.rng().chance(1, 2) ? ms : -ms);
        },
        nothing
    ));
}

rt::Task<void> Nemeses::strike(
    Duration mean,
    Duration length_max,
    void (*act)(World& world, Host& host, Duration length),
    void (*undo)(Host& host)
) {
    rt::Executor& executor = scope_.executor();
    while (mean > Duration(0) && world_.chaos) {
        co_await rt::sleep_until(executor.now() + up_to(executor.rng(), 2 * mean));
        if (!world_.chaos) {
            co_return;
        }
        Host& host = world_.random_host(executor.rng());
        const Duration length = up_to(executor.rng(), length_max);
        act(world_, host, length);
        co_await rt::sleep_until(executor.now() + length);
        if (world_.chaos) {
            undo(host);
        }
    }
}

}  // namespace lakestream::sim
