// SPDX-License-Identifier: Apache-2.0
#include "trainer/engine/peak_rate.hpp"

#include <algorithm>
#include <array>

namespace curtail::trainer {
namespace {

struct Gpu {
    std::string_view name;
    double tflops;
};

// From NVIDIA's data sheets and white papers, without sparsity: a sheet that gives only the rate
// with sparsity gives twice as much. Names are compared as a whole, because variants of a card
// (MIG, special editions) have other rates.
constexpr std::array gpus{
    // "NVIDIA A100 Tensor Core GPU" (data sheet)
    Gpu{"NVIDIA A100-SXM4-40GB", 312},
    Gpu{"NVIDIA A100-SXM4-80GB", 312},
    Gpu{"NVIDIA A100-PCIE-40GB", 312},
    Gpu{"NVIDIA A100 80GB PCIe", 312},
    // "NVIDIA H100 Tensor Core GPU Architecture" (white paper), table 2
    Gpu{"NVIDIA H100 80GB HBM3", 989.4},
    Gpu{"NVIDIA H100 PCIe", 756},
    // "NVIDIA H100 Tensor Core GPU" and "NVIDIA H200 Tensor Core GPU" (data sheets)
    Gpu{"NVIDIA H100 NVL", 835},
    Gpu{"NVIDIA H200", 989.4},
    Gpu{"NVIDIA H200 NVL", 835},
    // "NVIDIA GH200 Grace Hopper Superchip" (data sheet)
    Gpu{"NVIDIA GH200 480GB", 989.4},
    Gpu{"NVIDIA GH200 120GB", 989.4},
    Gpu{"NVIDIA GH200 144G HBM3e", 989.4},
    // "NVIDIA Blackwell Architecture" (technical brief), HGX B200
    Gpu{"NVIDIA B200", 2250},
};

}  // namespace

std::optional<double> peak_tflops_of(std::string_view name)
{
    auto const* const gpu =
        std::find_if(gpus.begin(), gpus.end(), [&](Gpu const& each) { return each.name == name; });
    return gpu == gpus.end() ? std::nullopt : std::optional(gpu->tflops);
}

}  // namespace curtail::trainer
