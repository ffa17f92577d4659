// SPDX-License-Identifier: Apache-2.0
#include "trainer/model/gpu_operators.hpp"

#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/forwarding_kernels.hpp"

namespace curtail::model {
namespace {

using testing::HasSubstr;

struct NamedChoice {
    char const* text;
    char const* operations;
};

class ParseKernels : public testing::TestWithParam<NamedChoice> {};

TEST_P(ParseKernels, ReadsNamesAndLists)
{
    auto const choice = parse_gpu_choice(GetParam().text, "");
    ASSERT_TRUE(choice) << choice.error().message();
    EXPECT_EQ(to_text(choice->kernels), GetParam().operations);
}

constexpr char const* all = "embed,normalize,mix,rotate,square_relu,cross_entropy";
INSTANTIATE_TEST_SUITE_P(Texts, ParseKernels,
                         testing::Values(NamedChoice{"", all}, NamedChoice{"ours", all},
                                         NamedChoice{"aten", "none"},
                                         NamedChoice{"rotate", "rotate"},
                                         NamedChoice{"rotate,mix", "mix,rotate"},
                                         NamedChoice{all, all}));

TEST(GpuChoice, RefusesUnknownNames)
{
    for (auto const* text : {"our", "rotate,", ",rotate", "rotate mix", "Rotate", "none"}) {
        auto const choice = parse_gpu_choice(text, "");
        ASSERT_FALSE(choice) << text;
        EXPECT_EQ(choice.error().code, ExitCode::usage);
        EXPECT_THAT(choice.error().message(), HasSubstr("cross_entropy"));
    }
    for (auto const* text : {"FLASH", "cuDNN", "flash,cudnn", "efficient"}) {
        auto const choice = parse_gpu_choice("", text);
        ASSERT_FALSE(choice) << text;
        EXPECT_EQ(choice.error().code, ExitCode::usage);
    }
}

TEST(GpuChoice, AttentionFollowsTheGpuUnlessOneIsChosen)
{
    struct Case {
        GpuFacts facts;
        GpuAttention preferred;
    };
    for (auto const& [facts, preferred] :
         {Case{{80, 91900}, GpuAttention::flash}, Case{{89, 91900}, GpuAttention::flash},
          Case{{90, 91900}, GpuAttention::cudnn}, Case{{90, 91500}, GpuAttention::cudnn},
          Case{{90, 91499}, GpuAttention::flash}, Case{{90, 0}, GpuAttention::flash},
          Case{{100, 91900}, GpuAttention::cudnn}, Case{{103, 91900}, GpuAttention::cudnn},
          Case{{120, 91900}, GpuAttention::flash}, Case{{0, 91900}, GpuAttention::flash}}) {
        EXPECT_EQ(preferred_attention({}, facts), preferred) << facts.capability;
        for (auto const chosen : {GpuAttention::flash, GpuAttention::cudnn})
            EXPECT_EQ(preferred_attention(chosen, facts), chosen);
    }
    for (std::optional<GpuAttention> const chosen :
         {std::optional<GpuAttention>(), std::optional(GpuAttention::cudnn)})
        EXPECT_EQ(preferred_attention(chosen, {90, 91900, at::kFloat}), GpuAttention::efficient);
    EXPECT_EQ(parse_gpu_choice("", "cudnn")->attention, GpuAttention::cudnn);
    EXPECT_EQ(parse_gpu_choice("", "flash")->attention, GpuAttention::flash);
    EXPECT_FALSE(parse_gpu_choice("", "")->attention);
}

// Kernels as a GPU build makes them: the operations of a set are ours, here with a fault.
enum class Fault { none, wrong, nan, refuses };

class FaultyRotation final : public test::ForwardingKernels {
  public:
    FaultyRotation(Fault fault, bool ours)
        : ForwardingKernels(aten_kernels()), fault_(ours ? fault : Fault::none)
    {
    }
    void rotate(at::Tensor const& qkv, HeadSizes sizes, RotaryTables const& tables,
                std::int64_t sequence, at::Tensor& r) const override
    {
        if (fault_ == Fault::refuses) throw std::runtime_error("no kernel image");
        ForwardingKernels::rotate(qkv, sizes, tables, sequence, r);
        if (fault_ == Fault::wrong) qkv[0][0].add_(1);
        if (fault_ == Fault::nan) qkv[0][0].fill_(std::numeric_limits<float>::quiet_NaN());
    }

  private:
    Fault fault_;
};

config::Model const shape{"small", 1, 64, 2, 2, 32, 100};

CheckedOperators checked(Fault fault, CudaKernelSet ours)
{
    return checked_operators(
        {[fault](CudaKernelSet set) { return std::make_unique<FaultyRotation>(fault, set.rotate); },
         ours, GpuAttention::cudnn, shape, 2, at::kBFloat16, at::kCPU});
}

TEST(CheckedOperators, KeepWhatIsRight)
{
    auto const found = checked(Fault::none, CudaKernelSet::all());
    EXPECT_EQ(to_text(found.ours), all);
    EXPECT_EQ(found.operators.attention, GpuAttention::cudnn);
    EXPECT_TRUE(found.warnings.empty());
}

TEST(CheckedOperators, ReplaceAKernelThatIsWrongOrCannotStart)
{
    for (auto const fault : {Fault::wrong, Fault::nan, Fault::refuses}) {
        auto const found = checked(fault, CudaKernelSet::all());
        EXPECT_EQ(to_text(found.ours), "embed,normalize,mix,square_relu,cross_entropy");
        ASSERT_EQ(found.warnings.size(), 1U);
        EXPECT_THAT(found.warnings[0], HasSubstr("rotate"));
        EXPECT_THAT(found.warnings[0],
                    HasSubstr(fault == Fault::refuses ? "no kernel image" : "the error of"));
        // The operators that training gets no longer have the fault.
        auto const again = checked_operators(
            {[&](CudaKernelSet) { return std::make_unique<FaultyRotation>(fault, false); },
             found.ours, found.operators.attention, shape, 2, at::kBFloat16, at::kCPU});
        EXPECT_TRUE(again.warnings.empty());
    }
}

// Half a head of 88 elements has 88 bytes, which are no packs.
TEST(CheckedOperators, ReplaceTheRotationOfHeadsWithoutPacks)
{
    for (std::int64_t const size : {24, 88, 104}) {
        config::Model const odd{"odd", 1, 2 * size, 2, 2, 32, 100};
        auto const found =
            checked_operators({[](CudaKernelSet) { return aten_kernels(); }, CudaKernelSet::all(),
                               GpuAttention::flash, odd, 2, at::kBFloat16, at::kCPU});
        EXPECT_EQ(to_text(found.ours), "embed,normalize,mix,square_relu,cross_entropy");
        ASSERT_EQ(found.warnings.size(), 1U);
        EXPECT_THAT(found.warnings[0], HasSubstr(std::to_string(size) + " elements"));
    }
}

class FullMemory final : public test::ForwardingKernels {
  public:
    FullMemory() : ForwardingKernels(aten_kernels()) {}
    void rotate(at::Tensor const&, HeadSizes, RotaryTables const&, std::int64_t,
                at::Tensor&) const override
    {
        throw c10::OutOfMemoryError({__func__, __FILE__, __LINE__}, "out of memory");
    }
};

TEST(CheckedOperators, KeepAKernelForWhoseCheckThereIsNoMemory)
{
    auto const found = checked_operators(
        {[](CudaKernelSet) { return std::make_unique<FullMemory>(); }, CudaKernelSet::all(),
         GpuAttention::flash, shape, 2, at::kBFloat16, at::kCPU});
    EXPECT_EQ(to_text(found.ours), all);
    EXPECT_TRUE(found.warnings.empty());
}

TEST(CheckedOperators, DoNotCheckKernelsThatAreNotUsed)
{
    CudaKernelSet others = CudaKernelSet::all();
    others.rotate = false;
    auto const found = checked(Fault::refuses, others);
    EXPECT_EQ(to_text(found.ours), to_text(others));
    EXPECT_TRUE(found.warnings.empty());
}

TEST(CheckedOperators, WorkInFloat32)
{
    auto const found =
        checked_operators({[](CudaKernelSet) { return cpu_kernels(); }, CudaKernelSet::all(),
                           GpuAttention::flash, shape, 2, at::kFloat, at::kCPU});
    EXPECT_TRUE(found.warnings.empty()) << found.warnings[0];
}

}  // namespace
}  // namespace curtail::model
