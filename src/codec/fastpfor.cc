// SPDX-License-Identifier: Apache-2.0
// Packing and unpacking of blocks and tail.
#include "codec/fastpfor.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/assert.h"
#include "base/result.h"
#include "codec/reader.h"
#include "codec/writer.h"

namespace lakestream::codec {

namespace {

constexpr std::size_t block_values = 32;
constexpr std::size_t group_blocks = 4;
constexpr unsigned width_max = 32;

using Block = std::array<std::uint32_t, block_values>;

/// The next 32 deltas, and how many bits the largest needs.
struct Deltas {
    Block block;
    unsigned width;
};

Deltas take_deltas(std::span<const std::uint32_t, block_values> values, std::uint32_t& previous) {
    Deltas deltas;
    std::uint32_t all_bits = 0;
    for (std::size_t i = 0; i < block_values; ++i) {
        deltas.block[i] = values[i] - previous;
        previous = values[i];
        all_bits |= deltas.block[i];
    }
    deltas.width = static_cast<unsigned>(std::bit_width(all_bits));
    return deltas;
}

void write_block(Writer& out, const Deltas& deltas) {
    std::uint64_t pending = 0;
    unsigned bits = 0;
    for (const std::uint32_t delta : deltas.block) {
        pending |= static_cast<std::uint64_t>(delta) << bits;
        bits += deltas.width;
        if (bits >= 32) {
            out.uint32(static_cast<std::uint32_t>(pending));
            pending >>= 32;
            bits -= 32;
        }
    }
}

void write_tail(Writer& out, std::span<const std::uint32_t> values, std::uint32_t previous) {
    std::uint32_t word = 0;
    unsigned bits = 0;
    const auto put = [&](std::uint32_t byte) {
        word |= byte << bits;
        bits += 8;
        if (bits == 32) {
            out.uint32(word);
            word = 0;
            bits = 0;
        }
    };
    for (const std::uint32_t value : values) {
        std::uint32_t delta = value - previous;
        previous = value;
        for (; delta >= 0x80; delta >>= 7) {
            put(delta & 0x7f);
        }
        put(delta | 0x80);
    }
    if (bits != 0) {
        out.uint32(word);
    }
}

/// Append a block's values. False if the input ends early or the width cannot be.
bool read_block(
    Reader& in, unsigned width, std::uint32_t& previous, std::vector<std::uint32_t>& values
) {
    if (width > width_max) {
        return false;
    }
    const std::uint64_t mask = (1UL << width) - 1;
    std::uint64_t pending = 0;
    unsigned bits = 0;
    for (std::size_t i = 0; i < block_values; ++i) {
        if (bits < width) {
            pending |= static_cast<std::uint64_t>(in.uint32()) << bits;
            bits += 32;
        }
        previous += static_cast<std::uint32_t>(pending & mask);
        pending >>= width;
        bits -= width;
        values.push_back(previous);
    }
    return in.ok();
}

/// Append `count` values. False if the input ends early or a number has more than 32 bits.
bool read_tail(
    Reader& in, std::size_t count, std::uint32_t previous, std::vector<std::uint32_t>& values
) {
    std::uint32_t word = 0;
    unsigned bytes_left = 0;
    while (count > 0) {
        std::uint64_t delta = 0;
        std::uint32_t byte = 0;
        for (unsigned shift = 0; byte < 0x80; shift += 7) {
            if (shift > 28) {
                return false;
            }
            if (bytes_left == 0) {
                word = in.uint32();
                bytes_left = 4;
            }
            byte = word & 0xff;
            word >>= 8;
            --bytes_left;
            delta |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
        }
        if (!in.ok() || delta > 0xffffffff) {
            return false;
        }
        previous += static_cast<std::uint32_t>(delta);
        values.push_back(previous);
        --count;
    }
    return in.ok();
}

bool read_blocks(Reader& in, std::size_t blocks, std::vector<std::uint32_t>& values) {
    std::uint32_t previous = 0;
    while (blocks > 0) {
        const std::uint32_t header = in.uint32();
        const std::size_t together = blocks >= group_blocks ? group_blocks : 1;
        if (together == 1 && header > width_max) {
            return false;
        }
        for (std::size_t i = together; i-- > 0;) {
            if (!read_block(in, (header >> (8 * i)) & 0xff, previous, values)) {
                return false;
            }
        }
        blocks -= together;
    }
    return in.ok();
}

}  // namespace

Bytes fastpfor_encode(std::span<const std::uint32_t> values) {
    LKS_ASSERT(values.size() < (1UL << 31));
    Writer out(4 * values.size() + 16);
    out.uint32(static_cast<std::uint32_t>(values.size()));
    if (!values.empty() && values.size() < block_values) {
        out.uint32(0);
    }
    std::uint32_t previous = 0;
    while (values.size() >= block_values) {
        const std::size_t blocks = values.size() / block_values;
        const std::size_t together = blocks >= group_blocks ? group_blocks : 1;
        std::array<Deltas, group_blocks> group;
        std::uint32_t header = 0;
        for (std::size_t i = 0; i < together; ++i) {
            group[i] = take_deltas(values.first<block_values>(), previous);
            header = (header << 8) | group[i].width;
            values = values.subspan(block_values);
        }
        out.uint32(header);
        for (std::size_t i = 0; i < together; ++i) {
            write_block(out, group[i]);
        }
    }
    write_tail(out, values, previous);
    return out.finish().join();
}

Result<std::vector<std::uint32_t>> fastpfor_decode(
    std::span<const std::byte> packed, std::size_t values_max
) {
    constexpr std::size_t word_bytes = 4;
    if (packed.empty() || packed.size() % word_bytes != 0) {
        return corrupt("packed integers take {} bytes, not whole words", packed.size());
    }
    Reader in(packed);
    const std::size_t count = in.uint32();
    if (count > values_max) {
        return corrupt("packed integers claim {} values; at most {} may be", count, values_max);
    }
    // Four blocks of width 0 are the densest form: one word for 128 values.
    if (count / (group_blocks * block_values) > in.remaining() / word_bytes) {
        return corrupt("packed integers claim {} values in {} bytes", count, packed.size());
    }
    std::vector<std::uint32_t> values;
    values.reserve(count);
    if (count > 0 && count < block_values) {
        in.skip(word_bytes);
    }
    const bool whole =
        read_blocks(in, count / block_values, values) &&
        read_tail(in, count % block_values, values.empty() ? 0 : values.back(), values);
    if (!whole) {
        return corrupt("packed integers are malformed at byte {}", in.position());
    }
    return values;
}

}  // namespace lakestream::codec
