// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>

// The loops of a merge over one block of values (merge_loops.inl). They are compiled once for each
// kind of processor, and use plain pointers: checks of bounds would cost more than the arithmetic.
namespace curtail::protocol::loops {

/// So many values of each delta are summed before the sums of squares are added up.
constexpr std::size_t block = 2048;
/// One loop reads up to so many deltas at the same time. Of more deltas, the first are summed
/// block by block before.
constexpr std::size_t most_streams = 4;

/// What a loop reads and writes, at the place of one block. The result may lie in the same place as
/// an input, because no value depends on another index.
struct Places {
    std::array<float const*, most_streams> delta{};
    std::array<float, most_streams> scale{};
    float const* partial{};  ///< the sums of the deltas before; null: zeros
    float const* theta{};
    float const* momentum{};  ///< null: zeros
    float* result{};
    float* new_momentum{};
    float eta{};
    float mu{};
};

/// What a loop adds to.
struct LoopSums {
    std::array<double, most_streams> sumsq{};  ///< of each stream
    bool finite{true};                         ///< all results
};

/// Computes one block of so many values.
using Loop = void (*)(Places const& places, std::size_t count, LoopSums& sums);

/// The loops for one kind of processor. Each array has the loop for n deltas at the index n.
struct LoopTable {
    using Loops = std::array<Loop, most_streams + 1>;
    Loops add;       ///< result := partial + the weighted deltas
    Loops average;   ///< see average_step()
    Loops nesterov;  ///< see nesterov_step()
    /// Copies `count` values past the caches, because nobody reads them soon.
    void (*copy_past_caches)(float const* from, std::size_t count, float* to);
    void (*finish_copies)();  ///< other threads see the copies before any later store
};
extern LoopTable const baseline;  ///< for every processor
extern LoopTable const avx2;
extern LoopTable const avx512;  ///< needs F, DQ and VL

}  // namespace curtail::protocol::loops
