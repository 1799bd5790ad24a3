// SPDX-License-Identifier: Apache-2.0
// Reading and making sequence keys.
#include "meta/sequence_keys.h"

#include <charconv>
#include <limits>

#include "base/result.h"

namespace lakestream::meta {

namespace {

constexpr std::size_t digits = 20;  // of 2^64-1
constexpr std::uint64_t number_max = std::numeric_limits<std::uint64_t>::max();

void append_number(std::string& key, std::uint64_t number) {
    char text[1 + digits];
    for (std::size_t i = digits; i > 0; --i) {
        text[i] = static_cast<char>('0' + number % 10);
        number /= 10;
    }
    text[0] = '-';
    key.append(text, sizeof(text));
}

// At most 20 leading digits count, as in the servers.
Result<std::uint64_t> read_number(std::string_view part) {
    std::uint64_t number = 0;
    const char* const end = part.data() + std::min(part.size(), digits);
    if (std::from_chars(part.data(), end, number).ec != std::errc()) {
        return invalid_argument("'{}' under the sequence's name is not a number", part);
    }
    return number;
}

}  // namespace

std::string sequence_key(std::string_view prefix, std::span<const std::uint64_t> numbers) {
    std::string key;
    key.reserve(prefix.size() + numbers.size() * (1 + digits));
    key.append(prefix);
    for (const std::uint64_t number : numbers) {
        append_number(key, number);
    }
    return key;
}

std::string sequence_end(std::string_view prefix) {
    return sequence_key(prefix, std::span(&number_max, 1));
}

Result<SequenceNumbers> current_numbers(std::string_view prefix, std::string_view highest) {
    SequenceNumbers numbers;
    if (!highest.starts_with(prefix)) {
        return numbers;
    }
    highest.remove_prefix(prefix.size());
    std::size_t dash = highest.find('-');
    while (dash != std::string_view::npos) {
        const std::size_t next = highest.find('-', dash + 1);
        numbers.push_back(LKS_TRY(read_number(highest.substr(dash + 1, next - dash - 1))));
        dash = next;
    }
    return numbers;
}

Result<SequenceNumbers> next_numbers(
    const SequenceNumbers& current, std::span<const std::uint64_t> deltas
) {
    if (deltas.empty() || deltas[0] == 0) {
        return invalid_argument("the first delta of a sequence put must be above 0");
    }
    if (deltas.size() < current.size()) {
        return invalid_argument(
            "{} deltas for a sequence with {} numbers", deltas.size(), current.size()
        );
    }
    SequenceNumbers next(deltas.begin(), deltas.end());
    for (std::size_t i = 0; i < current.size(); ++i) {
        if (__builtin_add_overflow(next[i], current[i], &next[i])) {
            return invalid_argument("number {} of the sequence would pass 2^64-1", i);
        }
    }
    if (next[0] == number_max) {
        return invalid_argument("the first number of a sequence ends at 2^64-2");
    }
    return next;
}

}  // namespace lakestream::meta
