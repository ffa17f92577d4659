// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>

namespace curtail::meter {

/// The energy counter of one GPU, from the library NVML of NVIDIA's driver. GPUs have it since the
/// generation Volta.
class GpuEnergy {
  public:
    /// `bus_id` is the GPU's address on the PCI bus, such as "0000:3B:00.0". `library` is NVML.
    explicit GpuEnergy(std::string const& bus_id, std::string const& library = "libnvidia-ml.so.1");
    ~GpuEnergy();
    GpuEnergy(GpuEnergy&&) noexcept;
    GpuEnergy& operator=(GpuEnergy&&) = delete;

    /// Returns the energy in joules since the last call, or since the constructor. Returns an empty
    /// optional if it is unknown.
    [[nodiscard]] std::optional<double> take_j();

  private:
    struct Nvml;
    std::unique_ptr<Nvml> nvml_;  ///< null if there is no such library or GPU
    std::optional<double> last_j_;
};

}  // namespace curtail::meter
