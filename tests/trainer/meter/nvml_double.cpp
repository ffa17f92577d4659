// SPDX-License-Identifier: Apache-2.0
// A double of NVML with one GPU, 0000:3B:00.0, that uses 1.5 J between two reads. A read fails
// while the variable CURTAIL_TEST_NVML_FAILS is set.
#include <cstdlib>
#include <cstring>

// NOLINTBEGIN(readability-identifier-naming): the names are those of NVML.
extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }

int nvmlDeviceGetHandleByPciBusId_v2(char const* bus_id, void** device)
{
    static int gpu = 0;
    *device = &gpu;
    return std::strcmp(bus_id, "0000:3B:00.0") == 0 ? 0 : 6;
}

int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules)
{
    if (std::getenv("CURTAIL_TEST_NVML_FAILS") != nullptr) return 15;
    *millijoules = 1'500ULL * static_cast<unsigned long long>(++*static_cast<int*>(device));
    return 0;
}
}
// NOLINTEND(readability-identifier-naming)
