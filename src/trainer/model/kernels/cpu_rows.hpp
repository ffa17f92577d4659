// SPDX-License-Identifier: Apache-2.0
#pragma once

// The loops of cpu_kernels(), private to this folder. cpu_rows.inl holds their code; one source
// file per instruction set compiles it. This header is the only one they include, because a
// function of another header, compiled for a wide instruction set, could end up in the programs'
// common code.

#include <cstdint>

namespace curtail::model {

/// A number of vectors of equal length, one after the other.
struct Rows {
    std::int64_t count;
    std::int64_t width;
};

/// The heads of one token, and the position tables' rows.
struct RotaryRows {
    std::int64_t first;     ///< number of the first token
    std::int64_t count;     ///< number of tokens
    std::int64_t sequence;  ///< T: token n has the position n mod T
    std::int64_t heads;     ///< H + K, the heads that are rotated
    std::int64_t query_heads;
    std::int64_t kv_heads;
    std::int64_t size;  ///< D
    float const* cos;   ///< (sequence, D / 2)
    float const* sin;
};

/// The softcapped cross entropy of some tokens.
struct EntropyRows {
    std::int64_t count;
    std::int64_t vocabulary;
    std::int64_t padded;  ///< columns of z
    std::int64_t const* target;
    float scale;
};

/// The loops. The operations are those of Kernels; pointers are to the first row.
struct CpuRows {
    char const* name;
    void (*normalize)(Rows rows, float const* x, float* y, float* r);
    void (*normalize_backward)(Rows rows, float const* dy, float const* y, float const* r,
                               float* dx);
    /// Overwrites dy by the derivative of x.
    void (*normalize_backward_in_place)(Rows rows, float* dy, float const* y, float const* r);
    void (*add)(std::int64_t count, float const* from, float* to);
    void (*mix)(Rows rows, float const* x, float const* x0, float a, float b, float* mixed,
                float* y, float* r);
    /// Sets da and db of each row to its share of these derivatives.
    void (*mix_backward)(Rows rows, float const* dy, float const* y, float const* r, float const* x,
                         float const* x0, float a, float b, float* dx, float* dx0, double* da,
                         double* db);
    void (*rotate)(RotaryRows const& rows, float* qkv, float* r);
    void (*rotate_backward)(RotaryRows const& rows, float const* dq, float const* dk,
                            float const* dv, float const* qkv, float const* r, float* dqkv);
    void (*square_relu)(std::int64_t count, float* f);
    void (*square_relu_backward)(std::int64_t count, float const* squares, float* gradient);
    void (*cross_entropy)(EntropyRows const& rows, float* z, float* losses);
    void (*cross_entropy_losses)(EntropyRows const& rows, float const* z, float* losses);
};

extern CpuRows const cpu_rows_baseline;  ///< what every x86-64 processor has
extern CpuRows const cpu_rows_avx2;      ///< AVX2 and FMA
extern CpuRows const cpu_rows_avx512;    ///< AVX-512 F, BW, DQ and VL

}  // namespace curtail::model
