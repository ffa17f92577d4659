// SPDX-License-Identifier: Apache-2.0
#include "trainer/comm/gpu_identity.hpp"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <map>

#include "base/core/files.hpp"

namespace curtail::comm {
namespace {

// As in NCCL 2.28 (getHostHash in src/misc/utils.cc).
std::string node_identity()
{
    if (char const* const set = std::getenv("NCCL_HOSTID"); set != nullptr && *set != '\0')
        return set;
    std::array<char, 1024> host{};
    (void)::gethostname(host.data(), host.size() - 1);
    return host.data() + read_file("/proc/sys/kernel/random/boot_id").value_or("");
}

}  // namespace

GpuIdentity gpu_identity(NcclApi const& api, int device)
{
    std::array<char, 256> text{};
    auto const known = [&](CudaResult (*ask)(char*, int, int)) -> std::string {
        bool const found =
            ask(text.data(), static_cast<int>(text.size()), device) == CudaResult::success;
        return found ? text.data() : "";
    };
    return {known(api.device_name), known(api.device_bus_id)};
}

std::optional<std::pair<int, int>> ranks_on_one_gpu(Collectives& ranks, std::string const& bus_id)
{
    auto const mine = bus_id.empty() ? "" : bus_id + " " + node_identity();
    std::optional<std::pair<int, int>> found;
    std::map<std::string, int> first;
    for (int rank = 0; rank < ranks.size(); ++rank) {
        auto const gpu = broadcast_text(ranks, mine, rank);
        auto const [other, is_new] = first.emplace(gpu, rank);
        if (!gpu.empty() && !is_new && !found) found = {other->second, rank};
    }
    return found;
}

}  // namespace curtail::comm
