// SPDX-License-Identifier: Apache-2.0
#include "trainer/engine/free_memory.hpp"

#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>

#include "base/core/files.hpp"
#include "base/core/text.hpp"

namespace curtail::trainer {
namespace {

std::optional<std::int64_t> number_in(std::filesystem::path const& file)
{
    auto const text = read_file(file);
    return text ? leading_integer(*text) : std::nullopt;
}

// What the control groups (version 2) of this process leave; empty without a limit.
std::optional<std::int64_t> left_in_groups()
{
    auto const groups = read_file("/proc/self/cgroup");
    auto const at = groups ? groups->find("0::/") : std::string::npos;
    if (at == std::string::npos) return std::nullopt;
    std::filesystem::path const root = "/sys/fs/cgroup";
    auto const name = groups->substr(at + 4, groups->find('\n', at) - at - 4);
    std::optional<std::int64_t> least;
    for (auto folder = root / name; folder != root && folder.has_relative_path();
         folder = folder.parent_path()) {
        auto const limit = number_in(folder / "memory.max");
        auto const used = number_in(folder / "memory.current");
        if (limit && used)
            least = std::min(least.value_or(*limit), std::max<std::int64_t>(0, *limit - *used));
    }
    return least;
}

std::optional<std::int64_t> available_in_system()
{
    auto const text = read_file("/proc/meminfo");
    auto const at = text ? text->find("MemAvailable:") : std::string::npos;
    if (at == std::string::npos) return std::nullopt;
    auto const kilobytes = leading_integer(trim(std::string_view(*text).substr(at + 13)));
    return kilobytes ? std::optional(*kilobytes * 1024) : std::nullopt;
}

}  // namespace

std::optional<Bytes> free_memory(c10::Device device)
{
    if (!device.is_cpu())
        return Bytes{static_cast<std::int64_t>(
            c10::getDeviceAllocator(device.type())->getMemoryInfo(device.index()).first)};
    auto const system = available_in_system();
    auto const groups = left_in_groups();
    auto const free = system && groups ? std::min(*system, *groups) : system ? system : groups;
    return free ? std::optional(Bytes{*free}) : std::nullopt;
}

}  // namespace curtail::trainer
