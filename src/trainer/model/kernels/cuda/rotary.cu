// SPDX-License-Identifier: Apache-2.0
// Rotation and normalization of the heads: one block for each token, and a part of a warp for each
// head. Thus the block's accesses are contiguous, and no thread divides to find its head.
#include <algorithm>
#include <type_traits>

#include "trainer/model/kernels/cuda/blocks.cuh"
#include "trainer/model/kernels/cuda/registers.hpp"
#include "trainer/model/kernels/cuda/rotary_rows.hpp"

namespace curtail::model {
namespace {

constexpr int most_threads = 512;

/// The threads of a block with one threadIdx.y. blockDim.x is Lanes.
template <int Lanes>
struct HeadLanes {
    template <class S>
    struct Registers {
        S mine;
        __device__ Registers() {}  // leaves it unset
        __device__ S& operator[](int) { return mine; }
    };
    // Other heads of the warp may have left the loop.
    unsigned active{(0xffffffffU >> (warp_lanes - Lanes)) << (threadIdx.y * Lanes % warp_lanes)};

    __device__ static int lanes() { return Lanes; }
    template <class Body>
    __device__ void each(Body const& body) const
    {
        body(static_cast<int>(threadIdx.x));
    }
    template <class Share>
    __device__ auto sum(Share const& share) const
    {
        auto value = share(static_cast<int>(threadIdx.x));
        for (int offset = Lanes / 2; offset > 0; offset /= 2)
            value = add_lane(value, offset, active);
        return value;
    }
    template <class S>
    __device__ Registers<S> registers() const
    {
        return {};
    }
};

template <int Lanes, class T>
__global__ void __launch_bounds__(most_threads) rotate_kernel(HeadRows<T> heads, T* qkv, float* r)
{
    HeadLanes<Lanes> const group;
    int const token = static_cast<int>(blockIdx.x);
    int const of_token = heads.query_heads + heads.kv_heads;
    for (int head = static_cast<int>(threadIdx.y); head < of_token;
         head += static_cast<int>(blockDim.y))
        rotate_row(group, heads, token, head, qkv, r);
}

template <int Lanes, class T>
__global__ void __launch_bounds__(most_threads)
    rotate_backward_kernel(HeadRows<T> heads, HeadGradientRows<T> gradients, T const* qkv,
                           float const* r, T* dqkv)
{
    HeadLanes<Lanes> const group;
    int const token = static_cast<int>(blockIdx.x);
    int const of_token = heads.query_heads + 2 * heads.kv_heads;
    for (int head = static_cast<int>(threadIdx.y); head < of_token;
         head += static_cast<int>(blockDim.y))
        rotate_backward_row(group, heads, token, head, gradients, qkv, r, dqkv);
}

// Calls body(the number of lanes as a type, the block for `heads` heads of a token).
template <class T, class Body>
void with_lanes(HeadRows<T> const& of, int heads, Body const& body)
{
    int const lanes = lanes_for_head<T>(of.size);
    dim3 const block(static_cast<unsigned>(lanes),
                     static_cast<unsigned>(std::min(heads, most_threads / lanes)));
    if (lanes == 4) body(std::integral_constant<int, 4>{}, block);
    else if (lanes == 8) body(std::integral_constant<int, 8>{}, block);
    else if (lanes == 16) body(std::integral_constant<int, 16>{}, block);
    else body(std::integral_constant<int, 32>{}, block);
}

template <class T>
char const* rotate(void* stream, int tokens, HeadRows<T> heads, T* qkv, float* r)
{
    with_lanes(heads, heads.query_heads + heads.kv_heads, [&](auto lanes, dim3 block) {
        rotate_kernel<lanes><<<blocks_for(tokens, 1), block, 0, as_stream(stream)>>>(heads, qkv, r);
    });
    return launch_failure();
}

template <class T>
char const* rotate_backward(void* stream, int tokens, HeadRows<T> heads,
                            HeadGradientRows<T> gradients, T const* qkv, float const* r, T* dqkv)
{
    with_lanes(heads, heads.query_heads + 2 * heads.kv_heads, [&](auto lanes, dim3 block) {
        rotate_backward_kernel<lanes><<<blocks_for(tokens, 1), block, 0, as_stream(stream)>>>(
            heads, gradients, qkv, r, dqkv);
    });
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
