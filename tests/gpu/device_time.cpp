// SPDX-License-Identifier: Apache-2.0
#include "gpu/device_time.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

namespace curtail::check {
namespace {

double seconds_of_series(std::function<void()> const& call, int calls, c10::Device device)
{
    auto const begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call();
    wait_for(device);
    std::chrono::duration<double> const took = std::chrono::steady_clock::now() - begin;
    return took.count() / calls;
}

}  // namespace

void wait_for(c10::Device device)
{
    if (!device.is_cpu())
        c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index());
}

double seconds_of(std::function<void()> const& call, c10::Device device, double enough_s)
{
    constexpr int few = 3;
    call();
    wait_for(device);
    double const first = seconds_of_series(call, few, device);
    std::array<double, 3> series{};
    double const each = enough_s / static_cast<double>(series.size());
    int const calls = static_cast<int>(std::clamp(std::ceil(each / first), 1.0, 1e6));
    for (auto& seconds : series) seconds = seconds_of_series(call, calls, device);
    std::sort(series.begin(), series.end());
    return series[1];
}

}  // namespace curtail::check
