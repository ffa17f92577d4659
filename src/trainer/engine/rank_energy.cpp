// SPDX-License-Identifier: Apache-2.0
#include "trainer/engine/rank_energy.hpp"

#include <memory>

#include "trainer/engine/site_device.hpp"
#include "trainer/meter/gpu_energy.hpp"
#include "trainer/meter/rapl.hpp"

namespace curtail::trainer {
namespace {

// The meters of one rank; null if it has none of the kind.
struct Meters {
    std::unique_ptr<meter::Rapl> processors;
    std::unique_ptr<meter::GpuEnergy> gpu;

    [[nodiscard]] std::optional<double> take_j() const
    {
        double sum = 0;
        bool complete = true;
        auto const add = [&](std::optional<double> energy) {
            sum += energy.value_or(0);
            complete = complete && energy.has_value();
        };
        if (processors) add(processors->take_j());
        if (gpu) add(gpu->take_j());
        return complete ? std::optional(sum) : std::nullopt;
    }
};

}  // namespace

std::function<std::optional<double>()> rank_energy(c10::Device device, comm::PlaceOnNode on_node)
{
    auto const meters = std::make_shared<Meters>();
    if (on_node.rank == 0) meters->processors = std::make_unique<meter::Rapl>();
    if (!device.is_cpu())
        meters->gpu = std::make_unique<meter::GpuEnergy>(identity_of(device).bus_id);
    return [meters] { return meters->take_j(); };
}

}  // namespace curtail::trainer
