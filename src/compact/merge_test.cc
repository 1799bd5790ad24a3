// SPDX-License-Identifier: Apache-2.0
// Which small objects are merged, and how often a byte is written again.
#include "compact/merge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "rt/rng.h"

namespace lakestream::compact {
namespace {

constexpr std::int64_t mib = 1 << 20;

/// Pieces of these sizes, one offset each, joined.
std::vector<CompactedPiece> pieces_of(const std::vector<std::int64_t>& sizes) {
    std::vector<CompactedPiece> pieces;
    for (const std::int64_t size : sizes) {
        const Offset begin(static_cast<std::int64_t>(pieces.size()));
        pieces.push_back(
            {.range = {begin, begin + 1}, .location = "", .payload_bytes = size, .max_timestamp = 1}
        );
    }
    return pieces;
}

/// First and count of what is merged.
std::pair<std::int64_t, std::size_t> plan(
    const std::vector<CompactedPiece>& pieces, const MergeLimits& limits = {}
) {
    const auto run = plan_merge(pieces, limits);
    return run.empty() ? std::pair(std::int64_t{-1}, std::size_t{0})
                       : std::pair(run.front().range.begin.v, run.size());
}

constexpr std::pair<std::int64_t, std::size_t> nothing{-1, 0};

TEST(PlanMerge, takes_as_many_small_neighbours_as_it_can) {
    EXPECT_EQ(plan(pieces_of({})), nothing);
    EXPECT_EQ(plan(pieces_of(std::vector<std::int64_t>(7, mib))), nothing);
    EXPECT_EQ(plan(pieces_of(std::vector<std::int64_t>(8, mib))), std::pair(0L, 8UL));
    EXPECT_EQ(plan(pieces_of(std::vector<std::int64_t>(100, mib))), std::pair(0L, 64UL));
    EXPECT_EQ(plan(pieces_of(std::vector<std::int64_t>(30, 20 * mib))), std::pair(0L, 12UL));
    EXPECT_EQ(plan(pieces_of(std::vector<std::int64_t>(30, 64 * mib))), nothing);
    EXPECT_EQ(plan(pieces_of(std::vector<std::int64_t>(8, mib)), {.pieces_min = 0}), nothing);
}

TEST(PlanMerge, leaves_large_ones_and_those_of_others_alone) {
    auto pieces = pieces_of(std::vector<std::int64_t>(20, mib));
    pieces[5].payload_bytes = 64 * mib;
    EXPECT_EQ(plan(pieces), std::pair(6L, 14UL));
    pieces[15].max_timestamp.reset();
    EXPECT_EQ(plan(pieces), std::pair(6L, 9UL));
    pieces[10].range.begin = Offset(9);  // as while a replacement is half done
    EXPECT_EQ(plan(pieces), nothing);
}

TEST(PlanMerge, does_not_write_a_large_one_again_for_a_few_small_ones) {
    EXPECT_EQ(plan(pieces_of({40 * mib, 1, 1, 1, 1, 1, 1, 1})), nothing);
    EXPECT_EQ(plan(pieces_of({40 * mib, 1, 1, 1, 1, 1, 1, 1, 1})), std::pair(1L, 8UL));
    auto far = pieces_of(std::vector<std::int64_t>(8, 1));
    far.back().range.end = Offset(std::int64_t{1} << 31);  // an index record counts in 32 bits
    EXPECT_EQ(plan(far), nothing);
}

TEST(PlanMerge, a_byte_is_written_again_a_few_times_and_few_pieces_stay) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        rt::Rng rng(seed);
        const std::int64_t typical = mib << rng.below(5);
        std::vector<std::int64_t> sizes;
        std::int64_t written = 0;
        std::int64_t merged = 0;
        for (int i = 0; i < 2000; ++i) {
            sizes.push_back(
                typical / 2 +
                static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(typical)))
            );
            written += sizes.back();
            for (auto run = plan(pieces_of(sizes)); run != nothing; run = plan(pieces_of(sizes))) {
                const auto first = sizes.begin() + run.first;
                const auto last = first + static_cast<std::ptrdiff_t>(run.second);
                std::int64_t total = 0;
                for (auto at = first; at != last; ++at) {
                    total += *at;
                }
                merged += total;
                *first = total;
                sizes.erase(first + 1, last);
            }
        }
        EXPECT_LE(merged, 3 * written) << "seed " << seed << " typical " << typical;
        const auto small =
            std::ranges::count_if(sizes, [](std::int64_t size) { return size < 64 * mib; });
        EXPECT_LE(small, 24) << "seed " << seed << " typical " << typical;
    }
}

}  // namespace
}  // namespace lakestream::compact
