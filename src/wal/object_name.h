// SPDX-License-Identifier: Apache-2.0
// Names of WAL objects: `YYYY/MM/DD/HH/mm/ss/<uuid>`, in UTC.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace lakestream::wal {

/// A new unique name; the date is cut to seconds, `random` becomes a version 4 UUID.
std::string make_object_name(WallTime date, std::array<std::byte, 16> random);

/// The date in a name, to the second; none for names of another form.
std::optional<WallTime> object_date(std::string_view name);

}  // namespace lakestream::wal
