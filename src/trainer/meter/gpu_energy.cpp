// SPDX-License-Identifier: Apache-2.0
#include "trainer/meter/gpu_energy.hpp"

#include <dlfcn.h>

#include <utility>

namespace curtail::meter {

// The functions of NVML that this class calls, as declared in nvml.h. All return 0 on success.
struct GpuEnergy::Nvml {
    using Device = void*;
    void* library{nullptr};
    int (*shutdown)(){nullptr};
    int (*total_energy)(Device device, unsigned long long* millijoules){nullptr};
    Device device{nullptr};

    template <class Function>
    [[nodiscard]] bool find(char const* name, Function& function) const
    {
        function = reinterpret_cast<Function>(dlsym(library, name));
        return function != nullptr;
    }

    // True if the GPU was found. If so, shutdown() is due at the end.
    [[nodiscard]] bool open(std::string const& bus_id, std::string const& path)
    {
        int (*initialize)() = nullptr;
        int (*handle)(char const*, Device*) = nullptr;
        library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) return false;
        bool const complete = find("nvmlInit_v2", initialize) && find("nvmlShutdown", shutdown) &&
                              find("nvmlDeviceGetHandleByPciBusId_v2", handle) &&
                              find("nvmlDeviceGetTotalEnergyConsumption", total_energy);
        if (!complete || initialize() != 0) {
            shutdown = nullptr;
            return false;
        }
        return handle(bus_id.c_str(), &device) == 0;
    }

    [[nodiscard]] std::optional<double> read_j() const
    {
        unsigned long long millijoules = 0;
        if (total_energy(device, &millijoules) != 0) return std::nullopt;
        return 1e-3 * static_cast<double>(millijoules);
    }

    Nvml() = default;
    Nvml(Nvml const&) = delete;
    Nvml& operator=(Nvml const&) = delete;
    ~Nvml()
    {
        if (shutdown != nullptr) shutdown();
        if (library != nullptr) dlclose(library);
    }
};

GpuEnergy::GpuEnergy(std::string const& bus_id, std::string const& library)
{
    auto nvml = std::make_unique<Nvml>();
    if (!nvml->open(bus_id, library)) return;
    nvml_ = std::move(nvml);
    last_j_ = nvml_->read_j();
}

GpuEnergy::~GpuEnergy() = default;
GpuEnergy::GpuEnergy(GpuEnergy&&) noexcept = default;

std::optional<double> GpuEnergy::take_j()
{
    if (!nvml_) return std::nullopt;
    auto const before = std::exchange(last_j_, nvml_->read_j());
    if (!before || !last_j_) return std::nullopt;
    return *last_j_ - *before;
}

}  // namespace curtail::meter
