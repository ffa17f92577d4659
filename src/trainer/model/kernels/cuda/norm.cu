// SPDX-License-Identifier: Apache-2.0
// Normalization and residual mix: one block for each token.
#include "trainer/model/kernels/cuda/blocks.cuh"
#include "trainer/model/kernels/cuda/norm_rows.hpp"
#include "trainer/model/kernels/cuda/registers.hpp"

namespace curtail::model {
namespace {

// A row of 1280 bfloat16 has 160 packs.
constexpr int threads = 128;
using Lanes = BlockLanes<threads>;

// The backward passes of embedding and mix need up to 56 registers. Without this number of blocks
// on a multiprocessor, ptxas takes fewer registers and spills some, which an H100 runs 2 % slower.
constexpr int blocks_with_56_registers = 9;

template <class T>
__device__ MixRows<T> at_row(MixRows<T> in, std::int64_t first)
{
    return {in.x + first, in.x0 + first, in.a, in.b};
}

template <class T>
__global__ void __launch_bounds__(threads) normalize_kernel(int width, T const* x, T* y, float* r)
{
    std::int64_t const first = std::int64_t{blockIdx.x} * width;
    float const factor = normalize_row(Lanes{}, width, x + first, y + first);
    if (threadIdx.x == 0) r[blockIdx.x] = factor;
}

template <class T>
__global__ void __launch_bounds__(threads)
    normalize_backward_kernel(int width, T const* dy, T const* y, float const* r, T* dx)
{
    std::int64_t const first = std::int64_t{blockIdx.x} * width;
    normalize_backward_row(Lanes{}, width, dy + first, y + first, r[blockIdx.x], dx + first);
}

template <class T>
__global__ void __launch_bounds__(threads, blocks_with_56_registers)
    embed_backward_kernel(int width, T const* dy, T const* y, float const* r, float* dx)
{
    std::int64_t const first = std::int64_t{blockIdx.x} * width;
    embed_backward_row(Lanes{}, width, dy + first, y + first, r[blockIdx.x], dx + first);
}

template <class T>
__global__ void __launch_bounds__(threads)
    mix_kernel(int width, MixRows<T> in, T* mixed, T* y, float* r)
{
    std::int64_t const first = std::int64_t{blockIdx.x} * width;
    float const factor = mix_row(Lanes{}, width, at_row(in, first), mixed + first, y + first);
    if (threadIdx.x == 0) r[blockIdx.x] = factor;
}

template <class T>
__global__ void __launch_bounds__(threads, blocks_with_56_registers)
    mix_backward_kernel(int width, MixRows<T> in, T const* dy, T const* y, float const* r, T* dx,
                        T* dx0, double* da, double* db)
{
    std::int64_t const first = std::int64_t{blockIdx.x} * width;
    auto const sums = mix_backward_row(Lanes{}, width, at_row(in, first), dy + first, y + first,
                                       r[blockIdx.x], dx + first, dx0 + first);
    if (threadIdx.x == 0) {
        da[blockIdx.x] = sums.first;
        db[blockIdx.x] = sums.second;
    }
}

template <class T>
char const* normalize(void* stream, RowShape rows, T const* x, T* y, float* r)
{
    normalize_kernel<<<blocks_for(rows.count, 1), threads, 0, as_stream(stream)>>>(rows.width, x, y,
                                                                                   r);
    return launch_failure();
}

template <class T>
char const* normalize_backward(void* stream, RowShape rows, T const* dy, T const* y, float const* r,
                               T* dx)
{
    normalize_backward_kernel<<<blocks_for(rows.count, 1), threads, 0, as_stream(stream)>>>(
        rows.width, dy, y, r, dx);
    return launch_failure();
}

template <class T>
char const* embed_backward(void* stream, RowShape rows, T const* dy, T const* y, float const* r,
                           float* dx)
{
    embed_backward_kernel<<<blocks_for(rows.count, 1), threads, 0, as_stream(stream)>>>(
        rows.width, dy, y, r, dx);
    return launch_failure();
}

template <class T>
char const* mix(void* stream, RowShape rows, MixRows<T> in, T* mixed, T* y, float* r)
{
    mix_kernel<<<blocks_for(rows.count, 1), threads, 0, as_stream(stream)>>>(rows.width, in, mixed,
                                                                             y, r);
    return launch_failure();
}

template <class T>
char const* mix_backward(void* stream, RowShape rows, MixRows<T> in, T const* dy, T const* y,
                         float const* r, T* dx, T* dx0, double* da, double* db)
{
    mix_backward_kernel<<<blocks_for(rows.count, 1), threads, 0, as_stream(stream)>>>(
        rows.width, in, dy, y, r, dx, dx0, da, db);
    return launch_failure();
}

}  // namespace

template <class T>
void register_norm(CudaLaunches<T>& table)
{
    table.normalize = normalize;
    table.normalize_backward = normalize_backward;
    table.embed_backward = embed_backward;
    table.mix = mix;
    table.mix_backward = mix_backward;
}
template void register_norm(CudaLaunches<float>&);
template void register_norm(CudaLaunches<Bf16>&);

}  // namespace curtail::model
