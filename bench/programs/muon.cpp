// SPDX-License-Identifier: Apache-2.0
// Times a step of Muon on 24 matrices of 512 x 512: all at once, and one after the other. Prints
// one line of JSON: the median times in seconds and the greatest difference of the weights.
#include <ATen/Parallel.h>
#include <ATen/ops/randn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "trainer/model/optim/muon.hpp"

using namespace curtail;

namespace {

constexpr std::int64_t count = 24;
constexpr std::int64_t size = 512;
constexpr int repeats = 5;
constexpr optim::MuonRates rates{0.02, 0.9, 0.1};

std::vector<at::Tensor> matrices(std::uint64_t seed)
{
    at::manual_seed(seed);
    std::vector<at::Tensor> all;
    for (std::int64_t k = 0; k < count; ++k)
        all.push_back(at::randn({size, size}, at::TensorOptions(at::kFloat)));
    return all;
}

template <class Body>
double median_time(Body const& body)
{
    std::vector<double> times;
    for (int i = 0; i < repeats; ++i) {
        auto const begin = std::chrono::steady_clock::now();
        body();
        times.push_back(
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::sort(times.begin(), times.end());
    return times[repeats / 2];
}

}  // namespace

int main()
{
    at::set_num_threads(1);
    auto const gradients = matrices(1);
    auto const together = matrices(2);
    auto const alone = matrices(2);
    optim::Muon batch(count, size, size, at::kFloat);
    std::vector<optim::Muon> loop;
    for (std::int64_t k = 0; k < count; ++k) loop.emplace_back(1, size, size, at::kFloat);
    double const batch_s = median_time([&] { batch.step(together, gradients, rates); });
    double const loop_s = median_time([&] {
        for (std::size_t k = 0; k < loop.size(); ++k)
            loop[k].step({&alone[k], 1}, {&gradients[k], 1}, rates);
    });
    double difference = 0;
    for (std::size_t k = 0; k < alone.size(); ++k)
        difference = std::max(difference, together[k].sub(alone[k]).abs().max().item<double>());
    fmt::print("{{\"batch_s\": {:.6f}, \"loop_s\": {:.6f}, \"difference\": {:.3g}}}\n", batch_s,
               loop_s, difference);
}
