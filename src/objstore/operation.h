// SPDX-License-Identifier: Apache-2.0
// Operation: the kinds of requests a store is asked, for budgets, metrics and faults.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lakestream::objstore {

enum class Operation : std::uint8_t { put, get, head, list, remove };

inline constexpr std::size_t operation_count = 5;

/// One T for each kind: `rates[Operation::put]`.
template <class T>
struct PerOperation {
    std::array<T, operation_count> values{};

    T& operator[](Operation operation) { return values[static_cast<std::size_t>(operation)]; }
    const T& operator[](Operation operation) const {
        return values[static_cast<std::size_t>(operation)];
    }
};

inline constexpr PerOperation<std::string_view> operation_names{
    {"put", "get", "head", "list", "remove"}
};

}  // namespace lakestream::objstore
