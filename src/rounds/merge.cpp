// SPDX-License-Identifier: Apache-2.0
#include "rounds/merge.hpp"

#include <stdexcept>

namespace curtail::rounds {
namespace {

void same_length(std::size_t a, std::size_t b)
{
    if (a != b) throw std::logic_error("a merge needs spans of equal length");
}

}  // namespace

std::vector<float> scales(std::span<Weighed const> included, std::int64_t discount_permille)
{
    double sum = 0;
    for (auto const& c : included) sum += static_cast<double>(c.tokens);
    std::vector<float> out;
    double const discount = static_cast<double>(discount_permille) / 1000;
    for (auto const& c : included) {
        auto const weight =
            static_cast<double>(c.tokens) / (1 + discount * static_cast<double>(c.staleness));
        out.push_back(sum > 0 ? static_cast<float>(weight / sum) : 0.0F);
    }
    return out;
}

void weighted_sum(std::span<std::span<float const> const> deltas, std::span<float const> scale,
                  std::span<float> g)
{
    same_length(deltas.size(), scale.size());
    for (auto const& d : deltas) same_length(d.size(), g.size());
    for (float& value : g) value = 0;
    for (std::size_t i = 0; i < deltas.size(); ++i)
        for (std::size_t j = 0; j < g.size(); ++j) g[j] = g[j] + scale[i] * deltas[i][j];
}

void average_step(std::span<float> theta, std::span<float const> g)
{
    same_length(theta.size(), g.size());
    for (std::size_t j = 0; j < g.size(); ++j) theta[j] = theta[j] - g[j];
}

void nesterov_step(std::span<float> theta, std::span<float> momentum, std::span<float const> g,
                   float eta, float mu)
{
    same_length(theta.size(), g.size());
    same_length(momentum.size(), g.size());
    for (std::size_t j = 0; j < g.size(); ++j) {
        momentum[j] = mu * momentum[j] + g[j];
        theta[j] = theta[j] - eta * (g[j] + mu * momentum[j]);
    }
}

}  // namespace curtail::rounds
