// SPDX-License-Identifier: Apache-2.0
#pragma once

// The groups of lanes (lanes.hpp) of a GPU, and what starts a kernel. Only *.cu files include this.

#include <cuda_runtime.h>

#include <cstdint>

#include "trainer/model/kernels/cuda/lanes.hpp"

namespace curtail::model {

constexpr int warp_lanes = 32;

// The value plus that of the lane whose number differs in the bit `offset`. The lanes of `active`
// call this function together.
template <class S>
__device__ __forceinline__ S add_lane(S value, int offset, unsigned active)
{
    return value + __shfl_xor_sync(active, value, offset);
}
template <class S>
__device__ __forceinline__ Sums<S> add_lane(Sums<S> value, int offset, unsigned active)
{
    return {add_lane(value.first, offset, active), add_lane(value.second, offset, active)};
}

/// The sum over the warp, in all its lanes. Its order does not depend on time.
template <class S>
__device__ __forceinline__ S warp_sum(S value)
{
    for (int offset = warp_lanes / 2; offset > 0; offset /= 2)
        value = add_lane(value, offset, 0xffffffffU);
    return value;
}

/// The Threads threads of a block.
template <int Threads>
struct BlockLanes {
    static constexpr int warps = Threads / warp_lanes;
    __device__ static int lanes() { return Threads; }
    template <class Body>
    __device__ void each(Body const& body) const
    {
        body(static_cast<int>(threadIdx.x));
    }
    template <class Share>
    __device__ auto sum(Share const& share) const
    {
        auto const of_warp = warp_sum(share(static_cast<int>(threadIdx.x)));
        __shared__ decltype(of_warp + of_warp) of_warps[warps];
        if (threadIdx.x % warp_lanes == 0) of_warps[threadIdx.x / warp_lanes] = of_warp;
        __syncthreads();
        auto total = of_warps[0];
        for (int warp = 1; warp < warps; ++warp) total = total + of_warps[warp];
        __syncthreads();  // before the next sum overwrites the shares
        return total;
    }
};

/// The text of the error if the last kernel could not be started, otherwise a null pointer.
inline char const* launch_failure()
{
    auto const status = cudaGetLastError();
    return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

inline cudaStream_t as_stream(void* stream) { return static_cast<cudaStream_t>(stream); }

/// Blocks for `items` when each block handles `per_block` of them.
inline unsigned blocks_for(std::int64_t items, std::int64_t per_block)
{
    return static_cast<unsigned>((items + per_block - 1) / per_block);
}

}  // namespace curtail::model
