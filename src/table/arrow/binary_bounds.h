// SPDX-License-Identifier: Apache-2.0
// Lower and upper bound of a binary column, cut to 16 bytes as Iceberg's metrics are.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "lakestream/bytes.h"

namespace lakestream::table {

class BinaryBounds {
  public:
    static constexpr std::size_t bytes_max = 16;

    void add(std::string_view value) {
        const std::string_view prefix = value.substr(0, bytes_max);
        const bool cut = value.size() > bytes_max;
        if (!any_ || prefix < lower_) {
            lower_ = prefix;
        }
        if (!any_ || prefix > upper_) {
            upper_ = prefix;
            upper_cut_ = cut;
        } else if (cut && prefix == upper_) {
            upper_cut_ = true;
        }
        any_ = true;
    }

    /// None without values.
    std::optional<Bytes> lower() const {
        return any_ ? std::optional(Bytes::copy(lower_)) : std::nullopt;
    }

    /// At least every value; none without values, or when 16 bytes cannot say it.
    std::optional<Bytes> upper() const {
        if (!any_) {
            return std::nullopt;
        }
        std::string bound = upper_;
        if (upper_cut_) {
            bound.resize(bound.find_last_not_of('\xFF') + 1);
            if (bound.empty()) {
                return std::nullopt;
            }
            bound.back() = static_cast<char>(static_cast<unsigned char>(bound.back()) + 1);
        }
        return Bytes::copy(bound);
    }

  private:
    std::string lower_;
    std::string upper_;
    bool upper_cut_ = false;  // a value is longer than the upper bound
    bool any_ = false;
};

}  // namespace lakestream::table
