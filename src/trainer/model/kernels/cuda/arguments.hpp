// SPDX-License-Identifier: Apache-2.0
#pragma once

// The arguments of the CUDA kernels, and a table of the functions that start them, private to this
// folder. They are plain pointers, so that nvcc parses none of LibTorch's headers.

#include <cstdint>

namespace curtail::model {

struct Bf16;

/// A number of vectors of equal length, one after the other.
struct RowShape {
    std::int64_t count;
    int width;
};

/// The columns of the logits' products.
struct EntropyShape {
    int vocabulary;  ///< V
    int padded;      ///< columns of z; those after the first V are padding
};

/// The residual mix of a layer, or a part of it: x and x0 are those of MixInput.
template <class T>
struct MixRows {
    T const* x;
    T const* x0;
    float const* a;  ///< one element each
    float const* b;
};

/// The heads of the tokens, and the position tables (HeadSizes and RotaryTables of kernels.hpp).
template <class T>
struct HeadRows {
    int sequence;  ///< T: token n has the position n mod T
    int query_heads;
    int kv_heads;
    int size;      ///< D
    T const* cos;  ///< (sequence, D / 2)
    T const* sin;
};

/// The derivatives of q, k and v after the rotation.
template <class T>
struct HeadGradientRows {
    T const* q;
    T const* k;
    T const* v;
};

/// Starts the kernels for elements of type T (float or Bf16). The operations are those of Kernels.
/// Each function enqueues one kernel on `stream`, a cudaStream_t, and returns. It returns a text if
/// the kernel could not be started, otherwise a null pointer. Rows, and halves of
/// heads, must be aligned to 16 bytes, and their widths must be multiples of 16 bytes. Half a head
/// has at most 32 packs (lanes.hpp).
template <class T>
struct CudaLaunches {
    using Failure = char const*;
    Failure (*cross_entropy)(void* stream, std::int64_t rows, EntropyShape shape, float scale,
                             std::int64_t const* target, T* z, float* losses);
    Failure (*cross_entropy_losses)(void* stream, std::int64_t rows, EntropyShape shape,
                                    std::int64_t const* target, T const* z, float* losses);
    /// dx = r (dy - y mean(dy y)), in float32.
    Failure (*embed_backward)(void* stream, RowShape rows, T const* dy, T const* y, float const* r,
                              float* dx);
    Failure (*normalize)(void* stream, RowShape rows, T const* x, T* y, float* r);
    Failure (*normalize_backward)(void* stream, RowShape rows, T const* dy, T const* y,
                                  float const* r, T* dx);
    Failure (*mix)(void* stream, RowShape rows, MixRows<T> in, T* mixed, T* y, float* r);
    /// Sets da and db of each row to its share of these derivatives.
    Failure (*mix_backward)(void* stream, RowShape rows, MixRows<T> in, T const* dy, T const* y,
                            float const* r, T* dx, T* dx0, double* da, double* db);
    Failure (*rotate)(void* stream, int tokens, HeadRows<T> heads, T* qkv, float* r);
    Failure (*rotate_backward)(void* stream, int tokens, HeadRows<T> heads,
                               HeadGradientRows<T> gradients, T const* qkv, float const* r,
                               T* dqkv);
    Failure (*square_relu)(void* stream, std::int64_t elements, T* f);
    Failure (*square_relu_backward)(void* stream, std::int64_t elements, T const* squares,
                                    T* gradient);
};

/// The launches for both types.
struct CudaTable {
    CudaLaunches<float> single;
    CudaLaunches<Bf16> half;
};

}  // namespace curtail::model
