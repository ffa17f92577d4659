// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a merge of three contributions with an outer Nesterov step, on one thread. Uses
// huge pages where possible, as numpy and the merges of a site do. Prints one line of JSON.
//
//     bench_merge [parameters [repeats]]      by default, those of tests/peers/merge.py
#include "rounds/merge.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/large_memory.hpp"

int main(int argc, char** argv)
{
    using namespace curtail;
    auto const size = argc > 1 ? std::stoul(argv[1]) : std::size_t{92'274'688};
    int const repeats = argc > 2 ? std::stoi(argv[2]) : 5;
    auto const values = [size](float start) {
        auto out = large_vector<float>(size);
        for (std::size_t i = 0; i < size; ++i)
            out[i] = start + static_cast<float>(i % 1009) * 1e-3F;
        return out;
    };
    auto const theta = values(0.1F);
    auto const momentum = values(0.2F);
    std::vector<std::vector<float>> const all{values(0.3F), values(0.4F), values(0.5F)};
    std::vector<std::span<float const>> const spans(all.begin(), all.end());
    std::vector<float> const scale{0.5F, 0.3F, 0.2F};
    auto result = large_vector<float>(size);
    auto new_momentum = large_vector<float>(size);
    auto best = Millis::max();
    for (int i = 0; i < repeats; ++i) {
        auto const began = monotonic_now();
        rounds::nesterov_step({theta, momentum, 0.7F, 0.9F}, {spans, scale}, result, new_momentum);
        best = std::min<Millis>(best, monotonic_now() - began);
    }
    fmt::print("{{\"merge_s\": {}, \"check\": {}}}\n", static_cast<double>(best.count()) / 1000,
               result.back());
}
