// SPDX-License-Identifier: Apache-2.0
// Rotation and normalization of the heads: one warp for each head of each token.
#include "model/kernels/cuda/blocks.cuh"
#include "model/kernels/cuda/registers.hpp"
#include "model/kernels/cuda/rotary_rows.hpp"

namespace curtail::model {
namespace {

constexpr int warps = 4;
constexpr int threads = warps * warp_lanes;

// The number of this warp among all warps of the kernel.
__device__ std::int64_t warp_number()
{
    return (static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x) / warp_lanes;
}

template <class T>
__global__ void __launch_bounds__(threads)
    rotate_kernel(std::int64_t tokens, HeadRows<T> heads, T* qkv, float* r)
{
    std::int64_t const of_token = heads.query_heads + heads.kv_heads;
    std::int64_t const number = warp_number();
    if (number >= tokens * of_token) return;
    rotate_row(WarpLanes{}, heads, number / of_token, number % of_token, qkv, r);
}

template <class T>
__global__ void __launch_bounds__(threads)
    rotate_backward_kernel(std::int64_t tokens, HeadRows<T> heads, HeadGradientRows<T> gradients,
                           T const* qkv, float const* r, T* dqkv)
{
    std::int64_t const of_token = heads.query_heads + 2 * heads.kv_heads;
    std::int64_t const number = warp_number();
    if (number >= tokens * of_token) return;
    rotate_backward_row(WarpLanes{}, heads, number / of_token, number % of_token, gradients, qkv, r,
                        dqkv);
}

template <class T>
char const* rotate(void* stream, std::int64_t tokens, HeadRows<T> heads, T* qkv, float* r)
{
    auto const items = tokens * (heads.query_heads + heads.kv_heads);
    rotate_kernel<<<blocks_for(items, warps), threads, 0, as_stream(stream)>>>(tokens, heads, qkv,
                                                                               r);
    return launch_failure();
}

template <class T>
char const* rotate_backward(void* stream, std::int64_t tokens, HeadRows<T> heads,
                            HeadGradientRows<T> gradients, T const* qkv, float const* r, T* dqkv)
{
    auto const items = tokens * (heads.query_heads + 2 * heads.kv_heads);
    rotate_backward_kernel<<<blocks_for(items, warps), threads, 0, as_stream(stream)>>>(
        tokens, heads, gradients, qkv, r, dqkv);
    return launch_failure();
}

}  // namespace

template <class T>
void register_rotary(CudaLaunches<T>& table)
{
    table.rotate = rotate;
    table.rotate_backward = rotate_backward;
}
template void register_rotary(CudaLaunches<float>&);
template void register_rotary(CudaLaunches<Bf16>&);

}  // namespace curtail::model
