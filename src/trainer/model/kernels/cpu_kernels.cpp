// SPDX-License-Identifier: Apache-2.0
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "trainer/model/kernels/check_ids.hpp"
#include "trainer/model/kernels/cpu_rows.hpp"
#include "trainer/model/kernels/kernels.hpp"

namespace curtail::model {
namespace {

// The fewest elements that are worth a thread of their own.
constexpr std::int64_t elements_per_thread = std::int64_t{1} << 15;

CpuRows const& best_rows()
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return cpu_rows_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return cpu_rows_avx2;
    return cpu_rows_baseline;
}

float const* read(at::Tensor const& x)
{
    if (!x.is_contiguous()) throw std::invalid_argument("kernels need contiguous tensors");
    return x.const_data_ptr<float>();
}
float* write(at::Tensor const& x)
{
    if (!x.is_contiguous()) throw std::invalid_argument("kernels need contiguous tensors");
    return x.mutable_data_ptr<float>();
}

void make(at::Tensor& out, at::IntArrayRef shape, at::Tensor const& like)
{
    if (!out.defined()) out = at::empty(shape, like.options());
    else if (out.sizes() != shape) throw std::invalid_argument("an output has another shape");
}

// Calls body(first row, number of rows) for all rows, in several threads.
template <class Body>
void for_rows(std::int64_t rows, std::int64_t width, Body const& body)
{
    auto const grain =
        std::max<std::int64_t>(1, elements_per_thread / std::max<std::int64_t>(1, width));
    at::parallel_for(0, rows, grain,
                     [&](std::int64_t begin, std::int64_t end) { body(begin, end - begin); });
}

class CpuKernels final : public Kernels {
  public:
    void normalize(at::Tensor const& x, NormalizationResult& out) const override
    {
        auto const width = x.size(1);
        make(out.y, x.sizes(), x);
        make(out.r, {x.size(0)}, x);
        for_rows(
            x.size(0), width,
            [&, from = read(x), y = write(out.y), r = write(out.r)](std::int64_t first,
                                                                    std::int64_t count) {
                rows_.normalize({count, width}, from + first * width, y + first * width, r + first);
            });
    }

    void normalize_backward(at::Tensor const& dy, NormalizationResult const& out,
                            at::Tensor const& dx) const override
    {
        auto const width = dy.size(1);
        for_rows(
            dy.size(0), width,
            [&, from = read(dy), y = read(out.y), r = read(out.r), to = write(dx)](
                std::int64_t first, std::int64_t count) {
                auto const at = first * width;
                rows_.normalize_backward({count, width}, from + at, y + at, r + first, to + at);
            });
    }

    void embed(at::Tensor const& table, at::Tensor const& ids,
               NormalizationResult& out) const override
    {
        check_ids(ids, 0, table.size(0));
        auto const width = table.size(1);
        make(out.y, {ids.numel(), width}, table);
        make(out.r, {ids.numel()}, table);
        for_rows(
            ids.numel(), width,
            [&, from = read(table), id = ids.const_data_ptr<std::int64_t>(), y = write(out.y),
             r = write(out.r)](std::int64_t first, std::int64_t count) {
                for (auto row = first; row < first + count; ++row)
                    rows_.normalize({1, width}, from + id[row] * width, y + row * width, r + row);
            });
    }

    void embed_backward(at::Tensor const& dy, NormalizationResult const& out, at::Tensor const& ids,
                        at::Tensor const& dtable) const override
    {
        auto const width = dy.size(1);
        auto* const rows = write(dy);
        for_rows(
            ids.numel(), width,
            [&, y = read(out.y), r = read(out.r)](std::int64_t first, std::int64_t count) {
                auto const at = first * width;
                rows_.normalize_backward_in_place({count, width}, rows + at, y + at, r + first);
            });
        // Each thread adds to its own rows of the table, in the order of the tokens.
        for_rows(dtable.size(0), width,
                 [&, id = ids.const_data_ptr<std::int64_t>(), to = write(dtable)](
                     std::int64_t first, std::int64_t count) {
                     for (std::int64_t n = 0; n < ids.numel(); ++n)
                         if (id[n] >= first && id[n] < first + count)
                             rows_.add(width, rows + n * width, to + id[n] * width);
                 });
    }

    void mix(MixInput const& in, at::Tensor& mixed, NormalizationResult& out) const override
    {
        auto const width = in.x.size(1);
        make(mixed, in.x.sizes(), in.x);
        make(out.y, in.x.sizes(), in.x);
        make(out.r, {in.x.size(0)}, in.x);
        for_rows(in.x.size(0), width,
                 [&, x = read(in.x), x0 = read(in.x0), a = *read(in.a), b = *read(in.b),
                  sum = write(mixed), y = write(out.y),
                  r = write(out.r)](std::int64_t first, std::int64_t count) {
                     auto const at = first * width;
                     rows_.mix({count, width}, x + at, x0 + at, a, b, sum + at, y + at, r + first);
                 });
    }

    void mix_backward(at::Tensor const& dy, NormalizationResult const& out, MixInput const& in,
                      MixGradients const& gradients) const override
    {
        auto const width = dy.size(1);
        auto const tokens = static_cast<std::size_t>(dy.size(0));
        std::vector<double> da(tokens);
        std::vector<double> db(tokens);
        for_rows(dy.size(0), width,
                 [&, from = read(dy), y = read(out.y), r = read(out.r), x = read(in.x),
                  x0 = read(in.x0), a = *read(in.a), b = *read(in.b), dx = write(gradients.x),
                  dx0 = write(gradients.x0)](std::int64_t first, std::int64_t count) {
                     auto const at = first * width;
                     rows_.mix_backward({count, width}, from + at, y + at, r + first, x + at,
                                        x0 + at, a, b, dx + at, dx0 + at, da.data() + first,
                                        db.data() + first);
                 });
        add_sum(gradients.a, da);
        add_sum(gradients.b, db);
    }

    void rotate(at::Tensor const& qkv, HeadSizes sizes, RotaryTables const& tables,
                std::int64_t sequence, at::Tensor& r) const override
    {
        auto const heads = sizes.query_heads + sizes.kv_heads;
        make(r, {qkv.size(0), heads}, qkv);
        for_rows(
            qkv.size(0), sizes.row_width(),
            [&, data = write(qkv), factors = write(r)](std::int64_t first, std::int64_t count) {
                rows_.rotate(rotary_rows(first, count, sizes, tables, sequence),
                             data + first * sizes.row_width(), factors + first * heads);
            });
    }

    void rotate_backward(HeadGradients const& gradients, at::Tensor const& rotated,
                         at::Tensor const& r, HeadSizes sizes, RotaryTables const& tables,
                         std::int64_t sequence, at::Tensor& dqkv) const override
    {
        auto const heads = sizes.query_heads + sizes.kv_heads;
        make(dqkv, rotated.sizes(), rotated);
        for_rows(rotated.size(0), sizes.row_width(),
                 [&, dq = read(gradients.q), dk = read(gradients.k), dv = read(gradients.v),
                  qkv = read(rotated), factors = read(r),
                  to = write(dqkv)](std::int64_t first, std::int64_t count) {
                     rows_.rotate_backward(
                         rotary_rows(first, count, sizes, tables, sequence),
                         dq + first * sizes.query_width(), dk + first * sizes.kv_width(),
                         dv + first * sizes.kv_width(), qkv + first * sizes.row_width(),
                         factors + first * heads, to + first * sizes.row_width());
                 });
    }

    void square_relu(at::Tensor const& f) const override
    {
        for_rows(f.numel(), 1, [&, values = write(f)](std::int64_t first, std::int64_t count) {
            rows_.square_relu(count, values + first);
        });
    }

    void square_relu_backward(at::Tensor const& squares, at::Tensor const& gradient) const override
    {
        for_rows(squares.numel(), 1,
                 [&, values = read(squares), d = write(gradient)](std::int64_t first,
                                                                  std::int64_t count) {
                     rows_.square_relu_backward(count, values + first, d + first);
                 });
    }

    void cross_entropy(at::Tensor const& z, at::Tensor const& target, std::int64_t vocabulary,
                       double scale, at::Tensor const& losses) const override
    {
        check_ids(target, -1, vocabulary);
        for_rows(z.size(0), z.size(1),
                 [&, data = write(z), to = write(losses)](std::int64_t first, std::int64_t count) {
                     rows_.cross_entropy(
                         {count, vocabulary, z.size(1),
                          target.const_data_ptr<std::int64_t>() + first, static_cast<float>(scale)},
                         data + first * z.size(1), to + first);
                 });
    }

    void cross_entropy_losses(at::Tensor const& z, at::Tensor const& target,
                              std::int64_t vocabulary, at::Tensor const& losses) const override
    {
        check_ids(target, -1, vocabulary);
        for_rows(z.size(0), z.size(1),
                 [&, data = read(z), to = write(losses)](std::int64_t first, std::int64_t count) {
                     rows_.cross_entropy_losses({count, vocabulary, z.size(1),
                                                 target.const_data_ptr<std::int64_t>() + first, 0},
                                                data + first * z.size(1), to + first);
                 });
    }

  private:
    static RotaryRows rotary_rows(std::int64_t first, std::int64_t count, HeadSizes sizes,
                                  RotaryTables const& tables, std::int64_t sequence)
    {
        return {.first = first,
                .count = count,
                .sequence = sequence,
                .heads = sizes.query_heads + sizes.kv_heads,
                .query_heads = sizes.query_heads,
                .kv_heads = sizes.kv_heads,
                .size = sizes.size,
                .cos = read(tables.cos),
                .sin = read(tables.sin)};
    }

    // Adds in the order of the tokens: the sum does not depend on the threads.
    static void add_sum(at::Tensor const& to, std::vector<double> const& shares)
    {
        double sum = 0;
        for (double const share : shares) sum += share;
        *write(to) += static_cast<float>(sum);
    }

    CpuRows const& rows_{best_rows()};
};

}  // namespace

std::unique_ptr<Kernels const> cpu_kernels() { return std::make_unique<CpuKernels>(); }

}  // namespace curtail::model
