// SPDX-License-Identifier: Apache-2.0
// Every fused kernel against ATen's operators in double precision. The derivatives of ATen's
// kernels are checked with finite differences in gpt.cpp.
#include "trainer/model/kernels/kernels.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "trainer/model/kernels/cpu_rows.hpp"
#include "trainer/model/rotary.hpp"

namespace curtail::model {
namespace {

constexpr std::int64_t tokens = 48;
constexpr std::int64_t sequence = 16;
constexpr std::int64_t width = 72;  // no multiple of a vector register
constexpr HeadSizes heads{4, 2, 18};

at::Tensor random(at::IntArrayRef shape) { return at::randn(shape, at::kDouble); }
at::Tensor single(at::Tensor const& x) { return x.to(at::kFloat); }

// Greatest difference from `exact`, relative to its root mean square.
double difference(at::Tensor const& found, at::Tensor const& exact)
{
    auto const scale = exact.square().mean().sqrt().item<double>();
    return found.to(at::kDouble).sub(exact).abs().max().item<double>() / scale;
}

class CpuKernels : public testing::Test {
  protected:
    void SetUp() override { at::manual_seed(7); }
    static void expect_close(at::Tensor const& found, at::Tensor const& exact, char const* what)
    {
        EXPECT_EQ(found.sizes(), exact.sizes()) << what;
        EXPECT_LT(difference(found, exact), 3e-6) << what;
    }
    std::unique_ptr<Kernels const> fused = cpu_kernels();
    std::unique_ptr<Kernels const> exact = aten_kernels();
};

TEST_F(CpuKernels, NormalizeMatchesDoublePrecision)
{
    auto const x = random({tokens, width});
    auto const dy = random({tokens, width});
    auto const dx = random({tokens, width});
    NormalizationResult wide;
    NormalizationResult out;
    exact->normalize(x, wide);
    fused->normalize(single(x), out);
    expect_close(out.y, wide.y, "y");
    expect_close(out.r, wide.r, "r");
    auto const sum = single(dx);
    fused->normalize_backward(single(dy), out, sum);
    exact->normalize_backward(dy, wide, dx);
    expect_close(sum, dx, "dx");
}

TEST_F(CpuKernels, EmbedMatchesDoublePrecision)
{
    auto const table = random({20, width});
    auto const ids = at::randint(20, {tokens}, at::kLong);
    auto const dy = random({tokens, width});
    auto const dtable = random({20, width});
    NormalizationResult wide;
    NormalizationResult out;
    exact->embed(table, ids, wide);
    fused->embed(single(table), ids, out);
    expect_close(out.y, wide.y, "y");
    auto const sum = single(dtable);
    fused->embed_backward(single(dy), out, ids, sum);
    exact->embed_backward(dy, wide, ids, dtable);
    expect_close(sum, dtable, "dtable");
}

TEST_F(CpuKernels, MixMatchesDoublePrecision)
{
    MixInput const in{random({tokens, width}), random({tokens, width}), random({}), random({})};
    MixInput const narrow{single(in.x), single(in.x0), single(in.a), single(in.b)};
    auto const dy = random({tokens, width});
    MixGradients const d{random({tokens, width}), random({tokens, width}), random({}), random({})};
    MixGradients const sums{single(d.x), single(d.x0), single(d.a), single(d.b)};
    NormalizationResult wide;
    NormalizationResult out;
    at::Tensor wide_mixed;
    at::Tensor mixed;
    exact->mix(in, wide_mixed, wide);
    fused->mix(narrow, mixed, out);
    expect_close(mixed, wide_mixed, "mixed");
    expect_close(out.y, wide.y, "y");
    exact->mix_backward(dy, wide, in, d);
    fused->mix_backward(single(dy), out, narrow, sums);
    expect_close(sums.x, d.x, "dx");
    expect_close(sums.x0, d.x0, "dx0");
    EXPECT_NEAR(sums.a.item<double>(), d.a.item<double>(), 1e-4);  // a sum of 3456 products
    EXPECT_NEAR(sums.b.item<double>(), d.b.item<double>(), 1e-4);
}

TEST_F(CpuKernels, RotateMatchesDoublePrecision)
{
    auto const wide_qkv = random({tokens, heads.row_width()});
    auto const qkv = single(wide_qkv);
    auto const tables = rotary_tables(64, heads.size, at::kFloat);
    RotaryTables const wide_tables{tables.cos.to(at::kDouble), tables.sin.to(at::kDouble)};
    HeadGradients const d{random({tokens, heads.query_width()}), random({tokens, heads.kv_width()}),
                          random({tokens, heads.kv_width()})};
    at::Tensor r;
    at::Tensor wide_r;
    fused->rotate(qkv, heads, tables, sequence, r);
    exact->rotate(wide_qkv, heads, wide_tables, sequence, wide_r);
    expect_close(qkv, wide_qkv, "qkv");
    expect_close(r, wide_r, "r");
    at::Tensor dqkv;
    at::Tensor wide_dqkv;
    fused->rotate_backward({single(d.q), single(d.k), single(d.v)}, qkv, r, heads, tables, sequence,
                           dqkv);
    exact->rotate_backward(d, wide_qkv, wide_r, heads, wide_tables, sequence, wide_dqkv);
    expect_close(dqkv, wide_dqkv, "dqkv");
}

TEST_F(CpuKernels, SquareReluMatchesDoublePrecision)
{
    auto const wide_f = random({tokens, width});
    auto const f = single(wide_f);
    auto const wide_d = random({tokens, width});
    auto const d = single(wide_d);
    fused->square_relu(f);
    exact->square_relu(wide_f);
    expect_close(f, wide_f, "squares");
    fused->square_relu_backward(f, d);
    exact->square_relu_backward(wide_f, wide_d);
    expect_close(d, wide_d, "gradient");
}

// Logits from tiny to saturated, an ignored target, and padding.
TEST_F(CpuKernels, CrossEntropyMatchesDoublePrecision)
{
    constexpr std::int64_t vocabulary = 50;
    for (double const size : {1e-4, 1.0, 40.0, 1e4}) {
        auto const wide_z = random({tokens, 64}).mul_(size);
        auto const z = single(wide_z);
        auto const target = at::randint(vocabulary, {tokens}, at::kLong);
        target[3].fill_(-1);
        auto const losses = at::zeros({tokens}, at::kFloat);
        auto const only_losses = at::ones({tokens}, at::kFloat);
        auto const wide_losses = at::zeros({tokens}, at::kDouble);
        fused->cross_entropy_losses(z, target, vocabulary, only_losses);
        fused->cross_entropy(z, target, vocabulary, 0.25, losses);
        exact->cross_entropy(wide_z, target, vocabulary, 0.25, wide_losses);
        EXPECT_LT(difference(losses, wide_losses), 3e-6) << size;
        EXPECT_LT(difference(only_losses, wide_losses), 3e-6) << size;
        // A saturated tanh has the derivative 1 - tanh^2, whose rounding error is absolute.
        EXPECT_LT(z.to(at::kDouble).sub(wide_z).abs().max().item<double>(), 1e-7) << size;
        EXPECT_EQ(z[3].abs().max().item<float>(), 0) << size;
        EXPECT_EQ(z.narrow(1, vocabulary, 14).abs().max().item<float>(), 0) << size;
    }
}

TEST_F(CpuKernels, KeepNan)
{
    auto const nan = std::numeric_limits<float>::quiet_NaN();
    auto const x = at::zeros({2, 64}, at::kFloat);
    x[0][5].fill_(nan);
    NormalizationResult out;
    fused->normalize(x, out);
    EXPECT_TRUE(out.y[0].isnan().all().item<bool>());
    EXPECT_FALSE(out.y[1].isnan().any().item<bool>());
    auto const target = at::zeros({2}, at::kLong);
    auto const losses = at::zeros({2}, at::kFloat);
    auto const f = x.clone();
    fused->square_relu(f);
    EXPECT_TRUE(std::isnan(f[0][5].item<float>()));
    fused->cross_entropy(x, target, 50, 1, losses);
    EXPECT_TRUE(std::isnan(losses[0].item<float>()));
    EXPECT_FALSE(std::isnan(losses[1].item<float>()));
}

// The sums are made in the order of the tokens, whatever thread computes them.
TEST_F(CpuKernels, GiveTheSameResultForEveryNumberOfThreads)
{
    constexpr std::int64_t many = 4096;
    MixInput const in{single(random({many, width})), single(random({many, width})),
                      single(random({})), single(random({}))};
    auto const dy = single(random({many, width}));
    std::vector<at::Tensor> results;
    for (int const threads : {1, 2, 4}) {
        at::set_num_threads(threads);
        NormalizationResult out;
        at::Tensor mixed;
        fused->mix(in, mixed, out);
        MixGradients const d{at::ones({many, width}), at::zeros({many, width}), at::zeros({}),
                             at::zeros({})};
        fused->mix_backward(dy, out, in, d);
        results.push_back(at::cat(
            {mixed.view({-1}), d.x.view({-1}), d.x0.view({-1}), d.a.view({-1}), d.b.view({-1})}));
    }
    at::set_num_threads(1);
    EXPECT_TRUE(at::equal(results[0], results[1]));
    EXPECT_TRUE(at::equal(results[0], results[2]));
}

TEST_F(CpuKernels, RefuseIdsOutsideTheTable)
{
    auto const table = at::zeros({4, 8}, at::kFloat);
    NormalizationResult out;
    EXPECT_THROW(fused->embed(table, at::full({1}, 4, at::kLong), out), std::out_of_range);
    EXPECT_THROW(fused->embed(table, at::full({1}, -1, at::kLong), out), std::out_of_range);
    auto const losses = at::zeros({1}, at::kFloat);
    EXPECT_THROW(fused->cross_entropy(at::zeros({1, 64}, at::kFloat), at::full({1}, 50, at::kLong),
                                      50, 1, losses),
                 std::out_of_range);
}

// Loops for instructions that this processor lacks cannot run here.
TEST_F(CpuKernels, OfTheBaselineMatchDoublePrecision)
{
    auto const x = random({tokens, width});
    auto const y = at::zeros({tokens, width}, at::kFloat);
    auto const r = at::zeros({tokens}, at::kFloat);
    cpu_rows_baseline.normalize({tokens, width}, single(x).const_data_ptr<float>(),
                                y.mutable_data_ptr<float>(), r.mutable_data_ptr<float>());
    NormalizationResult wide;
    exact->normalize(x, wide);
    expect_close(y, wide.y, "y");
}

}  // namespace
}  // namespace curtail::model
