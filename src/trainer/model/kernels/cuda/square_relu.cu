// SPDX-License-Identifier: Apache-2.0
// Squared ReLU: one thread for each pack of elements.
#include "trainer/model/kernels/cuda/blocks.cuh"
#include "trainer/model/kernels/cuda/registers.hpp"
#include "trainer/model/kernels/cuda/relu_packs.hpp"

namespace curtail::model {
namespace {

constexpr int threads = 256;

// The first element of this thread's pack.
template <class T>
__device__ std::int64_t first_element()
{
    return (static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x) * pack_size<T>;
}

template <class T>
__global__ void __launch_bounds__(threads) square_relu_kernel(std::int64_t elements, T* f)
{
    auto const first = first_element<T>();
    if (first < elements) square_relu_pack(f + first);
}

template <class T>
__global__ void __launch_bounds__(threads)
    square_relu_backward_kernel(std::int64_t elements, T const* squares, T* gradient)
{
    auto const first = first_element<T>();
    if (first < elements) square_relu_backward_pack(squares + first, gradient + first);
}

template <class T>
char const* square_relu(void* stream, std::int64_t elements, T* f)
{
    auto const blocks = blocks_for(elements, threads * pack_size<T>);
    square_relu_kernel<<<blocks, threads, 0, as_stream(stream)>>>(elements, f);
    return launch_failure();
}

template <class T>
char const* square_relu_backward(void* stream, std::int64_t elements, T const* squares, T* gradient)
{
    auto const blocks = blocks_for(elements, threads * pack_size<T>);
    square_relu_backward_kernel<<<blocks, threads, 0, as_stream(stream)>>>(elements, squares,
                                                                           gradient);
    return launch_failure();
}

}  // namespace

template <class T>
void register_square_relu(CudaLaunches<T>& table)
{
    table.square_relu = square_relu;
    table.square_relu_backward = square_relu_backward;
}
template void register_square_relu(CudaLaunches<float>&);
template void register_square_relu(CudaLaunches<Bf16>&);

}  // namespace curtail::model
