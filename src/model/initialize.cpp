// SPDX-License-Identifier: Apache-2.0
#include "model/initialize.hpp"

#include <cmath>
#include <numbers>
#include <random>

namespace curtail::model {
namespace {

// The C++ standard defines the engine's output exactly, but not that of its distributions, so
// these are our own.
class Random {
  public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}

    // In [0, 1), 53 bits.
    double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

    void fill_uniform(std::span<float> out, double bound)
    {
        for (auto& x : out) x = static_cast<float>(bound * (2 * uniform() - 1));
    }

    // Box-Muller transform: two normal numbers from two uniform ones.
    void fill_normal(std::span<float> out, double deviation)
    {
        for (std::size_t i = 0; i < out.size(); i += 2) {
            double const radius = deviation * std::sqrt(-2 * std::log(1 - uniform()));
            double const angle = 2 * std::numbers::pi * uniform();
            out[i] = static_cast<float>(radius * std::cos(angle));
            if (i + 1 < out.size()) out[i + 1] = static_cast<float>(radius * std::sin(angle));
        }
    }

  private:
    std::mt19937_64 engine_;
};

bool ends_with_any(std::string const& name, std::initializer_list<char const*> endings)
{
    for (std::string_view ending : endings)
        if (name.ends_with(ending)) return true;
    return false;
}

}  // namespace

Parameters initial_parameters(config::Model const& shape, std::uint64_t seed)
{
    Parameters parameters(shape);
    Random random(seed);
    double const bound = std::sqrt(3.0 / static_cast<double>(shape.width));
    for (auto const& place : parameter_places(shape)) {
        auto const out = parameters.values().subspan(static_cast<std::size_t>(place.offset),
                                                     static_cast<std::size_t>(place.numel()));
        if (place.name == "transformer.wte.weight") random.fill_normal(out, 1);
        else if (place.name == "lm_head.weight") random.fill_normal(out, 0.001);
        else if (place.name == "resid_lambdas") std::fill(out.begin(), out.end(), 1.0F);
        else if (ends_with_any(place.name,
                               {"c_q.weight", "c_k.weight", "c_v.weight", "c_fc.weight"}))
            random.fill_uniform(out, bound);
    }
    return parameters;
}

}  // namespace curtail::model
