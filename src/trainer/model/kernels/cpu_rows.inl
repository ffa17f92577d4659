// SPDX-License-Identifier: Apache-2.0

// The loops of cpu_rows.hpp. The compiler vectorises them. `omp simd` allows it to change the
// order of the sums. CURTAIL_ROWS is the name of the resulting table.

#include "trainer/model/kernels/cpu_rows.hpp"

namespace curtail::model {
namespace {

constexpr double epsilon = 0x1p-23;
constexpr float cap = 15;

// Sums are made in double: the derivative of a scale that a later normalization removes is nearly
// zero, and AdamW would follow the sign of its rounding error.
double dot(std::int64_t n, float const* a, float const* b)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < n; ++i)
        sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    return sum;
}

float factor_of(double sum_of_squares, std::int64_t n)
{
    return static_cast<float>(1 / __builtin_sqrt(sum_of_squares / static_cast<double>(n) + epsilon));
}

// The part of dy along y = x r, which the derivative of x does not have: sum(dy y) / n in exact
// arithmetic. The divisor makes up for the rounding of y and r.
float along(std::int64_t n, float const* dy, float const* y, float r)
{
    double product = 0;
    double squares = 0;
#pragma omp simd reduction(+ : product, squares)
    for (std::int64_t i = 0; i < n; ++i) {
        product += static_cast<double>(dy[i]) * static_cast<double>(y[i]);
        squares += static_cast<double>(y[i]) * static_cast<double>(y[i]);
    }
    return static_cast<float>(
        product / (squares + static_cast<double>(n) * epsilon * static_cast<double>(r) * r));
}

void scale_into(std::int64_t n, float factor, float const* x, float* y)
{
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] * factor;
}

void normalize(Rows rows, float const* x, float* y, float* r)
{
    for (std::int64_t row = 0; row < rows.count; ++row, x += rows.width, y += rows.width) {
        r[row] = factor_of(dot(rows.width, x, x), rows.width);
        scale_into(rows.width, r[row], x, y);
    }
}

void normalize_backward(Rows rows, float const* dy, float const* y, float const* r, float* dx)
{
    auto const n = rows.width;
    for (std::int64_t row = 0; row < rows.count; ++row, dy += n, y += n, dx += n) {
        float const factor = r[row];
        float const mean = along(n, dy, y, factor);
#pragma omp simd
        for (std::int64_t i = 0; i < n; ++i) dx[i] += factor * (dy[i] - y[i] * mean);
    }
}

void normalize_backward_in_place(Rows rows, float* dy, float const* y, float const* r)
{
    auto const n = rows.width;
    for (std::int64_t row = 0; row < rows.count; ++row, dy += n, y += n) {
        float const factor = r[row];
        float const mean = along(n, dy, y, factor);
#pragma omp simd
        for (std::int64_t i = 0; i < n; ++i) dy[i] = factor * (dy[i] - y[i] * mean);
    }
}

void add(std::int64_t count, float const* from, float* to)
{
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
}

void mix(Rows rows, float const* x, float const* x0, float a, float b, float* mixed, float* y,
         float* r)
{
    auto const n = rows.width;
    for (std::int64_t row = 0; row < rows.count; ++row, x += n, x0 += n, mixed += n, y += n) {
#pragma omp simd
        for (std::int64_t i = 0; i < n; ++i) mixed[i] = a * x[i] + b * x0[i];
        r[row] = factor_of(dot(n, mixed, mixed), n);
        scale_into(n, r[row], mixed, y);
    }
}

void mix_backward(Rows rows, float const* dy, float const* y, float const* r, float const* x,
                  float const* x0, float a, float b, float* dx, float* dx0, double* da,
                  double* db)
{
    auto const n = rows.width;
    for (std::int64_t row = 0; row < rows.count; ++row) {
        float const factor = r[row];
        float const mean = along(n, dy, y, factor);
        double sum_a = 0;
        double sum_b = 0;
#pragma omp simd reduction(+ : sum_a, sum_b)
        for (std::int64_t i = 0; i < n; ++i) {
            float const d = dx[i] + factor * (dy[i] - y[i] * mean);
            sum_a += static_cast<double>(d) * static_cast<double>(x[i]);
            sum_b += static_cast<double>(d) * static_cast<double>(x0[i]);
            dx0[i] += b * d;
            dx[i] = a * d;
        }
        da[row] = sum_a;
        db[row] = sum_b;
        dy += n, y += n, x += n, x0 += n, dx += n, dx0 += n;
    }
}

// One head: rotates it, then normalizes it. Returns the factor of the normalization.
float rotate_head(std::int64_t half, float const* cos, float const* sin, float* head)
{
    float* const second = head + half;
#pragma omp simd
    for (std::int64_t i = 0; i < half; ++i) {
        float const x1 = head[i];
        float const x2 = second[i];
        float const y1 = x1 * cos[i] + x2 * sin[i];
        float const y2 = x2 * cos[i] - x1 * sin[i];
        head[i] = y1;
        second[i] = y2;
    }
    float const factor = factor_of(dot(2 * half, head, head), 2 * half);
    scale_into(2 * half, factor, head, head);
    return factor;
}

void rotate(RotaryRows const& rows, float* qkv, float* r)
{
    std::int64_t const half = rows.size / 2;
    std::int64_t const stride = (rows.query_heads + 2 * rows.kv_heads) * rows.size;
    for (std::int64_t row = 0; row < rows.count; ++row, qkv += stride) {
        auto const position = (rows.first + row) % rows.sequence * half;
        for (std::int64_t head = 0; head < rows.heads; ++head)
            *r++ = rotate_head(half, rows.cos + position, rows.sin + position,
                               qkv + head * rows.size);
    }
}

void rotate_head_backward(std::int64_t half, float const* cos, float const* sin, float const* dy,
                          float const* y, float r, float* dx)
{
    float const mean = along(2 * half, dy, y, r);
#pragma omp simd
    for (std::int64_t i = 0; i < half; ++i) {
        float const d1 = r * (dy[i] - y[i] * mean);
        float const d2 = r * (dy[half + i] - y[half + i] * mean);
        dx[i] = d1 * cos[i] - d2 * sin[i];
        dx[half + i] = d2 * cos[i] + d1 * sin[i];
    }
}

void rotate_backward(RotaryRows const& rows, float const* dq, float const* dk, float const* dv,
                     float const* qkv, float const* r, float* dqkv)
{
    std::int64_t const half = rows.size / 2;
    std::int64_t const kv_width = rows.kv_heads * rows.size;
    std::int64_t const rotated = rows.heads * rows.size;
    for (std::int64_t row = 0; row < rows.count; ++row) {
        auto const position = (rows.first + row) % rows.sequence * half;
        for (std::int64_t head = 0; head < rows.heads; ++head) {
            auto const at = head * rows.size;
            float const* const dy = head < rows.query_heads
                                        ? dq + at
                                        : dk + (head - rows.query_heads) * rows.size;
            rotate_head_backward(half, rows.cos + position, rows.sin + position, dy, qkv + at, *r++,
                                 dqkv + at);
        }
        for (std::int64_t i = 0; i < kv_width; ++i) dqkv[rotated + i] = dv[i];
        dq += rows.query_heads * rows.size;
        dk += kv_width;
        dv += kv_width;
        qkv += rotated + kv_width;
        dqkv += rotated + kv_width;
    }
}

void square_relu(std::int64_t count, float* f)
{
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
        float const relu = f[i] < 0 ? 0 : f[i];  // keeps NaN
        f[i] = relu * relu;
    }
}

void square_relu_backward(std::int64_t count, float const* squares, float* gradient)
{
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) gradient[i] *= 2 * __builtin_sqrtf(squares[i]);
}

// The parts of exp(x) = power (1 + rest): a power of two, and exp(r) - 1 for the remaining
// r = x - k ln 2. The error of the polynomial is below 2e-8 of r.
struct Exponential {
    float power, rest;
};

inline Exponential exponential(float x)
{
    constexpr float to_integer = 0x1.8p23F;  // adding this rounds to an integer
    float const k = (x * 1.44269504F + to_integer) - to_integer;
    float const r = (x - k * 0.693359375F) - k * -2.12194440e-4F;  // ln 2 in two parts
    float p = 1.0F / 5040;
    p = p * r + 1.0F / 720;
    p = p * r + 1.0F / 120;
    p = p * r + 1.0F / 24;
    p = p * r + 1.0F / 6;
    p = p * r + 0.5F;
    p = p * r * r + r;
    auto const exponent = (static_cast<std::int32_t>(k) + 127) << 23;
    return {__builtin_bit_cast(float, exponent), p};
}

// tanh(z / 15), by way of exp(2 z / 15) - 1, which is exact near zero. Keeps NaN.
inline float capped(float z)
{
    float x = z * (2 / cap);
    x = x > 30 ? 30 : x;
    x = x < -30 ? -30 : x;
    auto const [power, rest] = exponential(x);
    float const e = power * rest + (power - 1);
    return e / (e + 2);
}

// exp(15 c) for -1 <= c <= 1.
inline float weight_of(float c)
{
    auto const [power, rest] = exponential(cap * c);
    return power * rest + power;
}

// The logits are at most 15, so no maximum has to be subtracted.
float sum_of_weights(std::int64_t vocabulary, float const* z)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < vocabulary; ++i) sum += weight_of(capped(z[i]));
    return sum;
}

void cross_entropy_row(EntropyRows const& rows, std::int64_t target, float* z, float* loss)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < rows.vocabulary; ++i) {
        float const c = capped(z[i]);
        z[i] = c;
        sum += weight_of(c);
    }
    float const of_target = z[target];
    *loss = __builtin_logf(sum) - cap * of_target;
    float const factor = rows.scale / sum;
#pragma omp simd
    for (std::int64_t i = 0; i < rows.vocabulary; ++i) {
        float const c = z[i];
        z[i] = weight_of(c) * factor * (1 - c * c);
    }
    z[target] -= rows.scale * (1 - of_target * of_target);
}

void cross_entropy(EntropyRows const& rows, float* z, float* losses)
{
    for (std::int64_t row = 0; row < rows.count; ++row, z += rows.padded) {
        bool const ignored = rows.target[row] < 0;
        if (ignored) losses[row] = 0;
        else cross_entropy_row(rows, rows.target[row], z, losses + row);
        for (std::int64_t i = ignored ? 0 : rows.vocabulary; i < rows.padded; ++i) z[i] = 0;
    }
}

void cross_entropy_losses(EntropyRows const& rows, float const* z, float* losses)
{
    for (std::int64_t row = 0; row < rows.count; ++row, z += rows.padded) {
        auto const target = rows.target[row];
        losses[row] = target < 0 ? 0
                                 : __builtin_logf(sum_of_weights(rows.vocabulary, z)) -
                                       cap * capped(z[target]);
    }
}

}  // namespace

CpuRows const CURTAIL_ROWS{CURTAIL_ROWS_NAME,
                           normalize,
                           normalize_backward,
                           normalize_backward_in_place,
                           add,
                           mix,
                           mix_backward,
                           rotate,
                           rotate_backward,
                           square_relu,
                           square_relu_backward,
                           cross_entropy,
                           cross_entropy_losses};

}  // namespace curtail::model
