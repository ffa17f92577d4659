// SPDX-License-Identifier: Apache-2.0
// The arithmetic of the CUDA kernels, compiled for the CPU: one thread runs all lanes of a group in
// turn. Tensors and kernels.hpp's interface are the real ones; only the launches are replaced.
#include <ATen/ops/arange.h>
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

#include "trainer/model/kernels/comparison.hpp"
#include "trainer/model/kernels/cuda/relu_packs.hpp"
#include "trainer/model/kernels/cuda/rotary_rows.hpp"
#include "trainer/model/kernels/cuda/softcap_loss_rows.hpp"

namespace curtail::model {
namespace {

// More than the packs of a row, fewer, and one.
constexpr int lane_counts[] = {64, 5, 1};
int lanes_of_group = 1;
int launches = 0;

// Runs the lanes in reverse if their number is odd: a result must not depend on their order.
struct HostLanes {
    int count{lanes_of_group};
    [[nodiscard]] int lanes() const { return count; }
    [[nodiscard]] int lane(int turn) const { return lanes() % 2 == 1 ? lanes() - 1 - turn : turn; }
    template <class Body>
    void each(Body const& body) const
    {
        for (int turn = 0; turn < lanes(); ++turn) body(lane(turn));
    }
    template <class Share>
    auto sum(Share const& share) const
    {
        auto total = share(lane(0));
        for (int turn = 1; turn < lanes(); ++turn) total = total + share(lane(turn));
        return total;
    }
    // What the lanes keep. Throws if a kernel asks for a lane that does not exist.
    template <class S>
    struct Registers {
        std::vector<S> of_lanes;
        S& operator[](int lane) { return of_lanes.at(static_cast<std::size_t>(lane)); }
    };
    template <class S>
    [[nodiscard]] Registers<S> registers() const
    {
        return {std::vector<S>(static_cast<std::size_t>(lanes()))};
    }
};

// The launch functions: they do at once what a kernel's blocks and warps do.
template <class Row>
char const* for_rows(std::int64_t rows, Row const& row)
{
    ++launches;
    for (std::int64_t number = 0; number < rows; ++number) row(number);
    return nullptr;
}

template <class T>
MixRows<T> at_row(MixRows<T> in, std::int64_t first)
{
    return {in.x + first, in.x0 + first, in.a, in.b};
}

template <class T>
void set_norms(CudaLaunches<T>& table)
{
    table.normalize = [](void*, RowShape rows, T const* x, T* y, float* r) {
        return for_rows(rows.count, [&](std::int64_t row) {
            auto const at = row * rows.width;
            r[row] = normalize_row(HostLanes{}, rows.width, x + at, y + at);
        });
    };
    table.normalize_backward = [](void*, RowShape rows, T const* dy, T const* y, float const* r,
                                  T* dx) {
        return for_rows(rows.count, [&](std::int64_t row) {
            auto const at = row * rows.width;
            normalize_backward_row(HostLanes{}, rows.width, dy + at, y + at, r[row], dx + at);
        });
    };
    table.embed_backward = [](void*, RowShape rows, T const* dy, T const* y, float const* r,
                              float* dx) {
        return for_rows(rows.count, [&](std::int64_t row) {
            auto const at = row * rows.width;
            embed_backward_row(HostLanes{}, rows.width, dy + at, y + at, r[row], dx + at);
        });
    };
    table.mix = [](void*, RowShape rows, MixRows<T> in, T* mixed, T* y, float* r) {
        return for_rows(rows.count, [&](std::int64_t row) {
            auto const at = row * rows.width;
            r[row] = mix_row(HostLanes{}, rows.width, at_row(in, at), mixed + at, y + at);
        });
    };
    table.mix_backward = [](void*, RowShape rows, MixRows<T> in, T const* dy, T const* y,
                            float const* r, T* dx, T* dx0, double* da, double* db) {
        return for_rows(rows.count, [&](std::int64_t row) {
            auto const at = row * rows.width;
            auto const sums = mix_backward_row(HostLanes{}, rows.width, at_row(in, at), dy + at,
                                               y + at, r[row], dx + at, dx0 + at);
            da[row] = sums.first;
            db[row] = sums.second;
        });
    };
}

template <class T>
void set_heads(CudaLaunches<T>& table)
{
    table.rotate = [](void*, int tokens, HeadRows<T> heads, T* qkv, float* r) {
        auto const of_token = heads.query_heads + heads.kv_heads;
        return for_rows(tokens * of_token, [&](std::int64_t number) {
            rotate_row(HostLanes{lanes_for_head<T>(heads.size)}, heads,
                       static_cast<int>(number) / of_token, static_cast<int>(number) % of_token,
                       qkv, r);
        });
    };
    table.rotate_backward = [](void*, int tokens, HeadRows<T> heads, HeadGradientRows<T> gradients,
                               T const* qkv, float const* r, T* dqkv) {
        auto const of_token = heads.query_heads + 2 * heads.kv_heads;
        return for_rows(tokens * of_token, [&](std::int64_t number) {
            rotate_backward_row(HostLanes{lanes_for_head<T>(heads.size)}, heads,
                                static_cast<int>(number) / of_token,
                                static_cast<int>(number) % of_token, gradients, qkv, r, dqkv);
        });
    };
}

template <class T>
CudaLaunches<T> launches_on_the_host()
{
    CudaLaunches<T> table{};
    set_norms(table);
    set_heads(table);
    table.square_relu = [](void*, std::int64_t elements, T* f) {
        return for_rows(elements / pack_size<T>,
                        [&](std::int64_t pack) { square_relu_pack(f + pack * pack_size<T>); });
    };
    table.square_relu_backward = [](void*, std::int64_t elements, T const* squares, T* gradient) {
        return for_rows(elements / pack_size<T>, [&](std::int64_t pack) {
            square_relu_backward_pack(squares + pack * pack_size<T>,
                                      gradient + pack * pack_size<T>);
        });
    };
    table.cross_entropy = [](void*, std::int64_t rows, EntropyShape shape, float scale,
                             std::int64_t const* target, T* z, float* losses) {
        return for_rows(rows, [&](std::int64_t row) {
            losses[row] =
                entropy_row(HostLanes{}, shape, scale, target[row], z + row * shape.padded);
        });
    };
    table.cross_entropy_losses = [](void*, std::int64_t rows, EntropyShape shape,
                                    std::int64_t const* target, T const* z, float* losses) {
        return for_rows(rows, [&](std::int64_t row) {
            losses[row] = entropy_loss_row(HostLanes{}, shape, target[row], z + row * shape.padded);
        });
    };
    return table;
}

CudaTable const host_table{launches_on_the_host<float>(), launches_on_the_host<Bf16>()};

class CudaRows : public testing::Test {
  protected:
    void SetUp() override
    {
        at::manual_seed(7);
        launches = 0;
        lanes_of_group = 5;
    }
    std::unique_ptr<Kernels const> rows = kernels_of(host_table, CudaKernelSet::all());
    std::unique_ptr<Kernels const> aten = aten_kernels();
};

TEST_F(CudaRows, MatchDoublePrecision)
{
    constexpr int operations = 12;
    // Half a head of 48 has 3 packs of bfloat16 and 6 of float32: not all lanes have one.
    KernelSizes const sizes{48, 16, 72, {4, 2, 48}, 24, 197, 256};
    for (auto const type : {at::kFloat, at::kBFloat16})
        for (int const lanes : lane_counts) {
            lanes_of_group = lanes;
            launches = 0;
            int compared = 0;
            compare_kernels({*rows, CudaKernelSet::all(), at::kCPU, type, sizes, at::kCPU},
                            [&](KernelError const& found, auto const&) {
                                ++compared;
                                EXPECT_LE(found.error, found.tolerance)
                                    << found.operation << ", " << lanes << " lanes";
                            });
            EXPECT_EQ(launches, operations) << "an operation was left to ATen";
            EXPECT_EQ(compared, operations);
        }
}

// Inputs so small that the epsilon counts: it is that of float32 in either type.
TEST_F(CudaRows, NormalizeSmallInputsWithTheEpsilonOfFloat32)
{
    for (auto const type : {at::kFloat, at::kBFloat16}) {
        launches = 0;
        auto const x = at::randn({8, 64}, at::kDouble).mul_(3e-4).to(type);
        NormalizationResult out;
        NormalizationResult expected;
        rows->normalize(x, out);
        aten->normalize(x, expected);
        EXPECT_EQ(launches, 1);
        EXPECT_TRUE(out.r.allclose(expected.r, 1e-6, 0));
        EXPECT_TRUE(out.y.allclose(expected.y, 0x1p-7, 0));
    }
}

// From tiny to saturated logits. A row of 200 has packs that are partly padding.
TEST_F(CudaRows, CrossEntropyHoldsForAllSizesOfLogits)
{
    constexpr std::int64_t vocabulary = 197;
    for (double const size : {1e-4, 1.0, 40.0, 1e4, 1e30}) {
        auto const wide_z = at::randn({24, 200}, at::kDouble).mul_(size).to(at::kFloat);
        auto const z = wide_z.clone();
        auto const exact_z = wide_z.to(at::kDouble);
        auto const target = at::randint(vocabulary, {24}, at::kLong);
        target[3].fill_(-1);
        auto const losses = at::zeros({24}, at::kFloat);
        auto const exact = at::zeros({24}, at::kDouble);
        rows->cross_entropy(z, target, vocabulary, 0.25, losses);
        aten->cross_entropy(exact_z, target, vocabulary, 0.25, exact);
        EXPECT_TRUE(losses.to(at::kDouble).allclose(exact, 1e-6, 3e-6)) << size;
        // A saturated tanh has the derivative 1 - tanh^2, whose rounding error is absolute.
        EXPECT_TRUE(z.to(at::kDouble).allclose(exact_z, 1e-5, 1e-7)) << size;
        EXPECT_EQ(losses[3].item<float>(), 0);
        EXPECT_EQ(z[3].abs().max().item<float>(), 0);
        EXPECT_EQ(z.narrow(1, vocabulary, 3).abs().max().item<float>(), 0);
    }
}

TEST_F(CudaRows, TargetsOutsideTheVocabularyGiveNan)
{
    auto const z = at::ones({3, 64}, at::kBFloat16);
    auto const target = at::arange(3, at::kLong).mul_(25);  // 0, 25, 50
    target[0].fill_(-2);
    auto const losses = at::zeros({3}, at::kFloat);
    for (bool const derivatives : {false, true}) {
        if (derivatives) rows->cross_entropy(z, target, 50, 1, losses);
        else rows->cross_entropy_losses(z, target, 50, losses);
        EXPECT_TRUE(std::isnan(losses[0].item<float>()));
        EXPECT_FALSE(std::isnan(losses[1].item<float>()));
        EXPECT_TRUE(std::isnan(losses[2].item<float>()));
    }
    EXPECT_TRUE(z[2].isnan().all().item<bool>());
    EXPECT_FALSE(z[1].isnan().any().item<bool>());
}

TEST_F(CudaRows, KeepNan)
{
    auto const nan = std::numeric_limits<float>::quiet_NaN();
    for (auto const type : {at::kFloat, at::kBFloat16}) {
        auto const x = at::zeros({2, 64}, type);
        x[0][5].fill_(nan);
        NormalizationResult out;
        rows->normalize(x, out);
        EXPECT_TRUE(out.y[0].isnan().all().item<bool>());
        EXPECT_FALSE(out.y[1].isnan().any().item<bool>());
        auto const f = x.clone();
        rows->square_relu(f);
        EXPECT_TRUE(f[0][5].isnan().item<bool>());
        auto const losses = at::zeros({2}, at::kFloat);
        rows->cross_entropy(x, at::zeros({2}, at::kLong), 50, 1, losses);
        EXPECT_TRUE(losses[0].isnan().item<bool>());
        EXPECT_FALSE(losses[1].isnan().item<bool>());
    }
}

TEST_F(CudaRows, LossesMayHaveTheTypeOfTheLogits)
{
    auto const z = at::randn({4, 64}, at::kDouble).to(at::kBFloat16);
    auto const target = at::arange(4, at::kLong);
    auto const wide = at::zeros({4}, at::kFloat);
    auto const narrow = at::zeros({4}, at::kBFloat16);
    rows->cross_entropy_losses(z, target, 50, wide);
    rows->cross_entropy_losses(z, target, 50, narrow);
    EXPECT_TRUE(at::equal(narrow, wide.to(at::kBFloat16)));
}

// Rows that are no multiples of 16 bytes, double precision, and operations that are not in the set.
TEST_F(CudaRows, LeaveOtherTensorsToAten)
{
    NormalizationResult out;
    rows->normalize(at::ones({2, 7}, at::kFloat), out);
    rows->normalize(at::ones({2, 8}, at::kDouble), out = {});
    rows->normalize(at::ones({2, 4}, at::kBFloat16), out = {});
    kernels_of(host_table, {})->normalize(at::ones({2, 8}, at::kFloat), out = {});
    EXPECT_EQ(launches, 0);
    EXPECT_TRUE(out.y.allclose(at::ones({2, 8}, at::kFloat)));
    rows->normalize(at::ones({2, 8}, at::kFloat), out = {});
    EXPECT_EQ(launches, 1);
}

// Embedding needs a normalization, whether or not normalize() is in the set.
TEST_F(CudaRows, EachOperationOfASetIsAKernel)
{
    KernelSizes const sizes{48, 16, 64, {4, 2, 48}, 24, 197, 256};
    for (auto const operation :
         {&CudaKernelSet::embed, &CudaKernelSet::normalize, &CudaKernelSet::mix,
          &CudaKernelSet::rotate, &CudaKernelSet::square_relu, &CudaKernelSet::cross_entropy}) {
        CudaKernelSet only;
        only.*operation = true;
        launches = 0;
        auto const kernels = kernels_of(host_table, only);
        compare_kernels({*kernels, only, at::kCPU, at::kBFloat16, sizes, at::kCPU},
                        [](KernelError const& found, auto const&) {
                            EXPECT_TRUE(found.good()) << found.operation;
                        });
        EXPECT_EQ(launches, 2);
    }
}

TEST_F(CudaRows, AKernelThatCannotStartIsAnError)
{
    auto table = host_table;
    table.single.normalize = [](void*, RowShape, float const*, float*, float*) -> char const* {
        return "no kernel image";
    };
    NormalizationResult out;
    auto const broken = kernels_of(table, CudaKernelSet::all());
    EXPECT_THROW(broken->normalize(at::ones({2, 8}, at::kFloat), out), std::runtime_error);
}

TEST(Bf16, RoundsAsAtenDoes)
{
    // Every upper half, with lower halves below, at and above one half of the last place.
    for (std::uint32_t upper = 0; upper <= 0xffff; ++upper)
        for (std::uint32_t const lower : {0U, 1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
            auto const x = __builtin_bit_cast(float, upper << 16 | lower);
            auto const found = to_float(to_bf16(x));
            auto const expected = static_cast<float>(c10::BFloat16(x));
            ASSERT_TRUE(std::isnan(x) ? std::isnan(found) : found == expected) << x;
        }
}

}  // namespace
}  // namespace curtail::model
