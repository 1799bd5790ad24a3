// SPDX-License-Identifier: Apache-2.0
// Random values for every generated message, made from its field table.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "codec/kafka/fields.h"
#include "codec/kafka/gen/errors.h"
#include "codec/kafka/uuid.h"
#include "lakestream/bytes.h"

namespace lakestream::codec::kafka::testing {

/// SplitMix64: the same seed gives the same messages.
class Chance {
  public:
    explicit Chance(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    /// 0 .. bound-1.
    std::uint64_t below(std::uint64_t bound) { return next() % bound; }
    bool one_in(std::uint64_t n) { return below(n) == 0; }

  private:
    std::uint64_t state_;
};

template <class T>
void randomize(T& value, int version, Chance& chance);

/// Lengths around the places where the length's own encoding grows.
inline std::size_t random_length(Chance& chance) {
    constexpr std::size_t edges[] = {0, 1, 2, 13, 126, 127, 128, 300};
    return edges[chance.below(std::size(edges))];
}

template <class T>
T random_number(Chance& chance) {
    using Limits = std::numeric_limits<T>;
    switch (chance.below(4)) {
        case 0: return static_cast<T>(chance.below(100));
        case 1: return Limits::max();
        case 2: return Limits::lowest();
        default: return static_cast<T>(chance.next());
    }
}

inline void random_value(bool& value, int, Chance& chance) {
    value = chance.one_in(2);
}
inline void random_value(double& value, int, Chance& chance) {
    value = static_cast<double>(static_cast<std::int64_t>(chance.next())) / 3;
}
inline void random_value(ErrorCode& value, int, Chance& chance) {
    value = static_cast<ErrorCode>(random_number<std::int16_t>(chance));
}
inline void random_value(Uuid& value, int, Chance& chance) {
    for (std::byte& byte : value.bytes) {
        byte = static_cast<std::byte>(chance.next());
    }
}
inline void random_value(std::string& value, int, Chance& chance) {
    value.assign(random_length(chance), static_cast<char>('a' + chance.below(26)));
}
inline void random_value(Bytes& value, int, Chance& chance) {
    std::vector<std::byte> bytes(random_length(chance) * (1 + chance.below(3)));
    for (std::byte& byte : bytes) {
        byte = static_cast<std::byte>(chance.next());
    }
    value = Bytes::own(std::move(bytes));
}
inline void random_value(Slices& value, int version, Chance& chance) {
    Bytes bytes;
    random_value(bytes, version, chance);
    value = Slices(std::move(bytes));
}
template <class T>
    requires std::is_integral_v<T>
void random_value(T& value, int, Chance& chance) {
    value = random_number<T>(chance);
}
template <HasFields T>
void random_value(T& value, int version, Chance& chance) {
    randomize(value, version, chance);
}
template <class T>
void random_value(std::vector<T>& value, int version, Chance& chance) {
    value.resize(chance.below(4));
    for (T& element : value) {
        random_value(element, version, chance);
    }
}

/// Gives `value` a random value that `version` can carry: fields without a place in it keep their
/// defaults, null only where allowed, tagged fields often left out.
template <class T>
void randomize(T& value, int version, Chance& chance) {
    FieldsOf<T>::visit([&]<class M>(const FieldInfo& info, M T::* member) {
        if (!info.versions.contains(version) || (!info.tagged.empty() && chance.one_in(2))) {
            return;
        }
        M& field = value.*member;
        if constexpr (requires { field.has_value(); }) {
            if (info.nullable.contains(version) && chance.one_in(3)) {
                field.reset();
            } else {
                random_value(field.emplace(), version, chance);
            }
        } else {
            random_value(field, version, chance);
        }
    });
}

/// Changes a value to another one that its type can hold.
template <HasFields T>
void disturb(T& value);
inline void disturb(bool& value) {
    value = !value;
}
inline void disturb(double& value) {
    value += 1;
}
inline void disturb(ErrorCode& value) {
    value = value == ErrorCode::none ? ErrorCode::corrupt_message : ErrorCode::none;
}
inline void disturb(Uuid& value) {
    value.bytes[7] ^= std::byte{1};
}
inline void disturb(std::string& value) {
    value += "x";
}
inline void disturb(Bytes& value) {
    value = Bytes::copy(std::string(value.view()) + "x");
}
inline void disturb(Slices& value) {
    value.append(Bytes::copy("x"));
}
template <class T>
    requires std::is_integral_v<T>
void disturb(T& value) {
    value = static_cast<T>(value ^ 1);
}
template <class T>
void disturb(std::vector<T>& value) {
    value.emplace_back();
}
template <class T>
void disturb(std::optional<T>& value) {
    disturb(value ? *value : value.emplace());
}
template <HasFields T>
void disturb(T& value) {
    bool done = false;
    FieldsOf<T>::visit([&](const FieldInfo&, auto member) {
        if (!std::exchange(done, true)) {
            disturb(value.*member);
        }
    });
}

}  // namespace lakestream::codec::kafka::testing
