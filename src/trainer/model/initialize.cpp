// SPDX-License-Identifier: Apache-2.0
#include "trainer/model/initialize.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <functional>
#include <future>
#include <numbers>
#include <random>
#include <span>
#include <vector>

namespace curtail::model {
namespace {

using Raw = std::span<std::uint64_t const>;

// In [0, 1), 53 bits.
double uniform(std::uint64_t raw) { return static_cast<double>(raw >> 11) * 0x1p-53; }

void make_uniform(Raw raw, std::span<float> out, double bound)
{
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<float>(bound * (2 * uniform(raw[i]) - 1));
}

// Box-Muller transform: two normal numbers from two uniform ones.
void make_normal(Raw raw, std::span<float> out, double deviation)
{
    for (std::size_t i = 0; i < out.size(); i += 2) {
        double const radius = deviation * std::sqrt(-2 * std::log(1 - uniform(raw[i])));
        double const angle = 2 * std::numbers::pi * uniform(raw[i + 1]);
        out[i] = static_cast<float>(radius * std::cos(angle));
        if (i + 1 < out.size()) out[i + 1] = static_cast<float>(radius * std::sin(angle));
    }
}

// The C++ standard defines the engine's output exactly, but not that of its distributions, so
// these are our own. One thread draws the numbers of a slice in order, while others make the
// elements of the slices before it. The elements therefore do not depend on the threads.
class Random {
  public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}

    using Make = void (*)(Raw raw, std::span<float> out, double scale);
    void fill(std::span<float> out, Make make, double scale)
    {
        constexpr std::size_t slice = std::size_t{1} << 20;  // even: a pair stays together
        constexpr std::size_t most_threads = 4;
        std::deque<std::future<void>> begun;
        for (std::size_t first = 0; first < out.size(); first += slice) {
            auto const part = out.subspan(first, std::min(slice, out.size() - first));
            bool const in_pairs = make == make_normal;
            std::vector<std::uint64_t> raw(in_pairs ? part.size() + part.size() % 2 : part.size());
            std::generate(raw.begin(), raw.end(), std::ref(engine_));
            begun.push_back(std::async(std::launch::async,
                                       [=, raw = std::move(raw)] { make(raw, part, scale); }));
            if (begun.size() < most_threads) continue;
            begun.front().get();
            begun.pop_front();
        }
        for (auto& part : begun) part.get();
    }

  private:
    std::mt19937_64 engine_;
};

}  // namespace

Parameters initial_parameters(config::Model const& shape, std::uint64_t seed)
{
    Parameters parameters(shape);
    Random random(seed);
    constexpr std::array uniform_endings{"c_q.weight", "c_k.weight", "c_v.weight", "c_fc.weight"};
    double const bound = std::sqrt(3.0 / static_cast<double>(shape.width));
    for (auto const& place : parameter_places(shape)) {
        auto const out = parameters.values().subspan(static_cast<std::size_t>(place.offset),
                                                     static_cast<std::size_t>(place.numel()));
        if (place.name == "transformer.wte.weight") random.fill(out, make_normal, 1);
        else if (place.name == "lm_head.weight") random.fill(out, make_normal, 0.001);
        else if (place.name == "resid_lambdas") std::fill(out.begin(), out.end(), 1.0F);
        else if (std::ranges::any_of(uniform_endings, [&](std::string_view ending) {
                     return place.name.ends_with(ending);
                 }))
            random.fill(out, make_uniform, bound);
    }
    return parameters;
}

}  // namespace curtail::model
