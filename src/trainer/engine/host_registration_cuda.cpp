// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include "trainer/engine/host_registration.hpp"

namespace curtail::trainer {

bool register_host_memory(void* memory, std::size_t bytes)
{
    if (cudaHostRegister(memory, bytes, cudaHostRegisterDefault) == cudaSuccess) return true;
    (void)cudaGetLastError();  // the next launch would report it
    return false;
}

void unregister_host_memory(void* memory) noexcept
{
    if (cudaHostUnregister(memory) != cudaSuccess) (void)cudaGetLastError();
}

}  // namespace curtail::trainer
