// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include "trainer/model/kernels/cuda/cuda_kernels.hpp"
#include "trainer/model/kernels/cuda/registers.hpp"

namespace curtail::model {
namespace {

template <class T>
void register_all(CudaLaunches<T>& table)
{
    register_softcap_loss(table);
    register_norm(table);
    register_rotary(table);
    register_square_relu(table);
}

CudaTable full_table()
{
    CudaTable table{};
    register_all(table.single);
    register_all(table.half);
    return table;
}

}  // namespace

std::unique_ptr<Kernels const> cuda_kernels(CudaKernelSet set)
{
    static CudaTable const table = full_table();
    return kernels_of(table, set);
}

int compute_capability(int device)
{
    int major = 0;
    int minor = 0;
    bool const known =
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
        cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) == cudaSuccess;
    return known ? 10 * major + minor : 0;
}

}  // namespace curtail::model
