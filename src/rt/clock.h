// SPDX-License-Identifier: Apache-2.0
// Clock: the only source of time.
#pragma once

#include "base/time.h"

namespace lakestream::rt {

/// Thread-safe. `mono_now` counts suspended time too, so that a machine that slept knows it.
class Clock {
  public:
    virtual ~Clock() = default;
    virtual MonoTime mono_now() const = 0;
    virtual WallTime wall_now() const = 0;
};

}  // namespace lakestream::rt
