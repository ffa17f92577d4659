// SPDX-License-Identifier: Apache-2.0
#include "trainer/engine/site_device.hpp"

#include <ATen/Context.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "trainer/comm/nccl_collectives.hpp"

namespace curtail::trainer {
namespace {

tl::unexpected<Error> no_gpu(std::string why, std::string remedy)
{
    return fail(ExitCode::unavailable, "cannot train on a GPU", std::move(why), std::move(remedy));
}

Result<c10::Device> gpu_of_rank(int rank_on_node)
{
    auto const visible =
        c10::impl::hasDeviceGuardImpl(at::kCUDA)
            ? static_cast<int>(c10::impl::VirtualGuardImpl(at::kCUDA).deviceCount())
            : 0;
    if (visible == 0)
        return no_gpu("this process sees no GPU",
                      "request GPUs in the site's launcher.sbatch_options, such as "
                      "--gpus-per-node=8, and check the driver with nvidia-smi");
    if (rank_on_node >= visible && visible > 1)
        return no_gpu("this is rank " + std::to_string(rank_on_node) + " of its node, which has " +
                          std::to_string(visible) + " GPUs",
                      "start at most one rank per GPU");
    auto const number = visible == 1 ? 0 : rank_on_node;
    c10::Device const gpu(at::kCUDA, static_cast<c10::DeviceIndex>(number));
    c10::impl::VirtualGuardImpl(at::kCUDA).setDevice(gpu);
    at::globalContext().lazyInitDevice(at::kCUDA);
    return gpu;
}

}  // namespace

Result<c10::Device> site_device(config::Site const& site, config::Model const& model,
                                int rank_on_node)
{
    if (site.device == config::Device::cpu) return c10::Device(at::kCPU);
    if (model.head_size() % 8 != 0 || model.head_size() > 256)
        return fail(ExitCode::config, "cannot train the model " + model.name + " on a GPU",
                    "its attention heads have size " + std::to_string(model.head_size()),
                    "use a model whose head size is a multiple of 8 and at most 256");
    if (comm::nccl_api() == nullptr)
        return no_gpu("this curtail-train was built for CPUs",
                      "use the programs of `make gpu-build`, or set the site's device to \"cpu\"");
    try {
        return gpu_of_rank(rank_on_node);
    } catch (std::exception const& broken) {
        return no_gpu(broken.what(), "check the GPU with nvidia-smi");
    }
}

comm::GpuIdentity identity_of(c10::Device device)
{
    auto const* const api = comm::nccl_api();
    if (device.is_cpu() || api == nullptr) return {};
    return comm::gpu_identity(*api, device.index());
}

void warn_of_float32_muon(config::OptimizerSettings const& optimizer, c10::Device device,
                          Log const& log)
{
    if (device.is_cpu() || optimizer.muon_bfloat16) return;
    log.warning(
        "the run's optimizer.muon_precision is float32: on a GPU, Muon's matrix products take much "
        "longer than in bfloat16 (at depth 20 on one H100, an estimated 230 ms more per step); set "
        "it to bfloat16 in the next run");
}

Result<void> require_own_gpus(comm::Collectives& host, c10::Device device)
{
    if (device.is_cpu()) return {};
    auto const bus_id = identity_of(device).bus_id;
    auto const two = comm::ranks_on_one_gpu(host, bus_id);
    if (!two) return {};
    return no_gpu("ranks " + std::to_string(two->first) + " and " + std::to_string(two->second) +
                      " use the same GPU",
                  "start at most one rank per GPU, and let every rank see all GPUs of its node: "
                  "with Slurm, use --gpus-per-node, not --gpus-per-task");
}

std::unique_ptr<comm::Collectives> device_collectives(comm::Collectives& host, c10::Device device,
                                                      comm::Patience patience)
{
    if (device.is_cpu() || host.size() == 1) return nullptr;
    return comm::nccl_collectives(
        host, *comm::nccl_api(),
        {.device = device.index(), .compute = nullptr, .patience = std::move(patience)});
}

}  // namespace curtail::trainer
