// SPDX-License-Identifier: Apache-2.0
// A run: one world of a scenario from its beginning to the audit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/planted.h"
#include "sim/world.h"

namespace lakestream::sim {

/// What came out, and how much happened.
struct Outcome {
    std::optional<Finding> finding;
    std::uint64_t trace = 0;  // of every step: same seed, same trace
    std::uint64_t steps = 0;
    std::uint64_t crashes = 0;
    std::uint64_t batches = 0;
    std::uint64_t acknowledged = 0;
};

enum class Narrate : bool { no, yes };

/// Chaos for a while; then all faults stop, and within a bounded time everything must converge;
/// then the audit. The world is left standing: run many of them in processes of their own.
Outcome run(std::string_view scenario, std::uint64_t seed, Planted planted, Narrate narrate);

}  // namespace lakestream::sim
