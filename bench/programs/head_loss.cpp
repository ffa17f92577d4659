// SPDX-License-Identifier: Apache-2.0
// Times the softcapped cross entropy and its derivatives: the counterpart of
// bench/peers/head_loss.py. Prints one line of JSON: the median time in seconds and the peak memory
// in MiB, for the cross entropy of given logits and for the head from its input to its loss.
#include <ATen/Parallel.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "trainer/model/head.hpp"

using namespace curtail;

namespace {

constexpr std::int64_t tokens = 4096;
constexpr std::int64_t vocabulary = 65'536;
constexpr std::int64_t width = 256;
constexpr double scale = 1.0 / tokens;
constexpr int repeats = 5;

double peak_mib()
{
    rusage use{};
    getrusage(RUSAGE_SELF, &use);
    return static_cast<double>(use.ru_maxrss) / 1024;
}

// The median time of `body`, of which `prepare` is no part.
template <class Prepare, class Body>
double median_time(Prepare const& prepare, Body const& body)
{
    std::vector<double> times;
    for (int i = 0; i < repeats; ++i) {
        prepare();
        auto const begin = std::chrono::steady_clock::now();
        body();
        times.push_back(
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::sort(times.begin(), times.end());
    return times[repeats / 2];
}

double time_of_logits(model::Kernels const& kernels, at::Tensor const& target)
{
    auto const logits = at::randn({tokens, vocabulary}, at::TensorOptions(at::kFloat));
    auto const losses = at::zeros({tokens}, at::TensorOptions(at::kFloat));
    return median_time([&] { logits.normal_(); },
                       [&] { kernels.cross_entropy(logits, target, vocabulary, scale, losses); });
}

double time_of_head(model::Kernels const& kernels, at::Tensor const& target)
{
    auto const x = at::randn({tokens, width}, at::TensorOptions(at::kFloat));
    auto const head = at::randn({vocabulary, width}, x.options()).mul_(0.02);
    auto const dhead = at::zeros(head.sizes(), x.options());
    model::HeadScratch scratch;
    return median_time(
        [&] { dhead.zero_(); },
        [&] {
            (void)model::head_loss(kernels, x, head, {target, vocabulary}, scale, dhead, scratch);
        });
}

}  // namespace

int main(int argc, char** argv)
{
    c10::InferenceMode const no_autograd;
    at::set_num_threads(1);
    auto const kernels = model::cpu_kernels();
    auto const target = at::randint(vocabulary, {tokens}, at::TensorOptions(at::kLong));
    double const before = peak_mib();
    bool const logits = argc > 1 && std::strcmp(argv[1], "logits") == 0;
    double const time = logits ? time_of_logits(*kernels, target) : time_of_head(*kernels, target);
    fmt::print("{{\"seconds\": {:.6f}, \"memory_mib\": {:.1f}}}\n", time, peak_mib() - before);
}
