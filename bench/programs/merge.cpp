// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a merge of three contributions with an outer Nesterov step, on one thread:
// `merge_s` with all deltas at once, and `site_merge_s` as a site merges
// (protocol/chain/merger.hpp). A site adds each delta to a sum as it arrives, in chunks, and then
// replaces the sum by the new model. Both times are the best of all repeats. Uses huge pages where
// possible, as numpy and the merges of a site do. Prints one line of JSON. Fails if the two results
// do not have the same bits.
//
//     bench_merge [parameters [repeats]]      by default, those of bench/peers/merge.py
#include "protocol/rules/merge.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/core/clock.hpp"
#include "base/core/large_memory.hpp"
#include "protocol/chain/payload_values.hpp"

namespace curtail {
namespace {

constexpr float eta = 0.7F;
constexpr float mu = 0.9F;

std::vector<float> values(std::size_t size, float start)
{
    auto out = large_vector<float>(size);
    for (std::size_t i = 0; i < size; ++i) out[i] = start + static_cast<float>(i % 1009) * 1e-3F;
    return out;
}

struct Inputs {
    explicit Inputs(std::size_t size) : theta(values(size, 0.1F)), momentum(values(size, 0.2F))
    {
        for (float const start : {0.3F, 0.4F, 0.5F}) deltas.push_back(values(size, start));
    }
    std::vector<float> theta;
    std::vector<float> momentum;
    std::vector<std::vector<float>> deltas;
    std::vector<float> scale{0.5F, 0.3F, 0.2F};
};

struct Outputs {
    explicit Outputs(std::size_t size)
        : model(large_vector<float>(size)), momentum(large_vector<float>(size))
    {
    }
    std::vector<float> model;
    std::vector<float> momentum;
};

void merge_at_once(Inputs const& in, Outputs& out)
{
    std::vector<std::span<float const>> const spans(in.deltas.begin(), in.deltas.end());
    protocol::nesterov_step({in.theta, in.momentum, eta, mu}, {spans, in.scale}, out.model,
                            out.momentum);
}

std::span<float> place_in(std::vector<float>& result, std::size_t first, std::size_t count)
{
    if (result.size() < first + count) result.resize(first + count);
    return std::span(result).subspan(first, count);
}

void merge_as_a_site(Inputs const& in, Outputs& out)
{
    out.model.clear();
    out.momentum.clear();
    for (std::size_t i = 0; i < in.deltas.size(); ++i)
        chain::pass_in_chunks(in.deltas[i], [&](std::size_t first, std::span<float const> delta) {
            protocol::add_scaled(delta, in.scale[i], place_in(out.model, first, delta.size()));
        });
    chain::pass_in_chunks(in.momentum, [&](std::size_t first, std::span<float const> some) {
        std::copy(some.begin(), some.end(), place_in(out.momentum, first, some.size()).begin());
    });
    chain::pass_in_chunks(in.theta, [&](std::size_t first, std::span<float const> theta) {
        constexpr std::array whole{1.0F};
        auto const model = place_in(out.model, first, theta.size());
        auto const momentum = place_in(out.momentum, first, theta.size());
        std::array<std::span<float const>, 1> const sum{model};
        protocol::nesterov_step({theta, momentum, eta, mu}, {sum, whole}, model, momentum);
    });
}

bool have_same_bits(std::vector<float> const& a, std::vector<float> const& b)
{
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

template <class Merge>
double seconds(Merge merge, Inputs const& in, Outputs& out)
{
    auto const began = monotonic_now();
    merge(in, out);
    return FractionalSeconds(monotonic_now() - began).count();
}

int measure(std::size_t size, int repeats)
{
    Inputs const in(size);
    Outputs at_once(size), site(size);
    double merge_s = std::numeric_limits<double>::infinity(), site_merge_s = merge_s;
    for (int i = 0; i < repeats; ++i) {
        merge_s = std::min(merge_s, seconds(merge_at_once, in, at_once));
        site_merge_s = std::min(site_merge_s, seconds(merge_as_a_site, in, site));
    }
    if (!have_same_bits(at_once.model, site.model) ||
        !have_same_bits(at_once.momentum, site.momentum)) {
        fmt::print(stderr, "bench_merge: the merge of a site gives other bits\n");
        return 1;
    }
    fmt::print("{{\"merge_s\": {:.3f}, \"site_merge_s\": {:.3f}, \"check\": {}}}\n", merge_s,
               site_merge_s, site.model.back());
    return 0;
}

}  // namespace
}  // namespace curtail

int main(int argc, char** argv)
{
    auto const size = argc > 1 ? std::stoul(argv[1]) : std::size_t{92'274'688};
    return curtail::measure(size, argc > 2 ? std::stoi(argv[2]) : 5);
}
