// SPDX-License-Identifier: Apache-2.0
// The softcapped cross entropy: one block for each row of logits.
#include "trainer/model/kernels/cuda/blocks.cuh"
#include "trainer/model/kernels/cuda/registers.hpp"
#include "trainer/model/kernels/cuda/softcap_loss_rows.hpp"

namespace curtail::model {
namespace {

// A row of 65536 logits has 64 elements for each thread.
constexpr int threads = 1024;

template <class T>
__global__ void __launch_bounds__(threads)
    cross_entropy_kernel(EntropyShape shape, float scale, std::int64_t const* target, T* z,
                         float* losses)
{
    std::int64_t const row = blockIdx.x;
    float const loss =
        entropy_row(BlockLanes<threads>{}, shape, scale, target[row], z + row * shape.padded);
    if (threadIdx.x == 0) losses[row] = loss;
}

template <class T>
__global__ void __launch_bounds__(threads)
    losses_kernel(EntropyShape shape, std::int64_t const* target, T const* z, float* losses)
{
    std::int64_t const row = blockIdx.x;
    float const loss =
        entropy_loss_row(BlockLanes<threads>{}, shape, target[row], z + row * shape.padded);
    if (threadIdx.x == 0) losses[row] = loss;
}

template <class T>
char const* cross_entropy(void* stream, std::int64_t rows, EntropyShape shape, float scale,
                          std::int64_t const* target, T* z, float* losses)
{
    cross_entropy_kernel<<<blocks_for(rows, 1), threads, 0, as_stream(stream)>>>(shape, scale,
                                                                                 target, z, losses);
    return launch_failure();
}

template <class T>
char const* cross_entropy_losses(void* stream, std::int64_t rows, EntropyShape shape,
                                 std::int64_t const* target, T const* z, float* losses)
{
    losses_kernel<<<blocks_for(rows, 1), threads, 0, as_stream(stream)>>>(shape, target, z, losses);
    return launch_failure();
}

}  // namespace

template <class T>
void register_softcap_loss(CudaLaunches<T>& table)
{
    table.cross_entropy = cross_entropy;
    table.cross_entropy_losses = cross_entropy_losses;
}
template void register_softcap_loss(CudaLaunches<float>&);
template void register_softcap_loss(CudaLaunches<Bf16>&);

}  // namespace curtail::model
