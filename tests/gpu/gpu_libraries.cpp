// SPDX-License-Identifier: Apache-2.0
#include "gpu/gpu_libraries.hpp"

#include <ATen/Context.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nccl.h>

namespace curtail::check {
namespace {

std::string of_cuda(cudaError_t status, int version)
{
    if (status != cudaSuccess || version == 0) return "none";
    return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string of_nccl(ncclResult_t status, int version)
{
    if (status != ncclSuccess) return "none";
    return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

std::string of_cudnn()
{
    auto const& hooks = at::detail::getCUDAHooks();
    if (!hooks.hasCuDNN()) return "none";
    auto const version = hooks.versionCuDNN();
    return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

std::string why_none(cudaError_t status)
{
    int driver = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
        return "this machine has no NVIDIA driver";
    return status == cudaSuccess ? "this machine has none" : cudaGetErrorString(status);
}

}  // namespace

std::vector<LibraryVersion> gpu_libraries()
{
    int runtime = 0;
    auto const runtime_status = cudaRuntimeGetVersion(&runtime);
    int driver = 0;
    auto const driver_status = cudaDriverGetVersion(&driver);
    int nccl = 0;
    auto const nccl_status = ncclGetVersion(&nccl);
    return {{"CUDA runtime", of_cuda(runtime_status, runtime)},
            {"CUDA of the driver", of_cuda(driver_status, driver)},
            {"cuDNN", of_cudnn()},
            {"NCCL", of_nccl(nccl_status, nccl)}};
}

Result<std::vector<std::string>> gpus()
{
    int count = 0;
    auto const status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess || count == 0)
        return fail(ExitCode::unavailable, "cannot use a GPU", why_none(status),
                    "run this on a machine with an NVIDIA GPU and a driver for CUDA 13");
    std::vector<std::string> names;
    for (int number = 0; number < count; ++number) {
        cudaDeviceProp properties{};
        if (cudaGetDeviceProperties(&properties, number) == cudaSuccess)
            names.push_back(
                fmt::format("{} (sm_{}{})", properties.name, properties.major, properties.minor));
    }
    return names;
}

}  // namespace curtail::check
