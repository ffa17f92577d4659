// SPDX-License-Identifier: Apache-2.0
#include "gpu/golden_model.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "storage/tensors/preallocated.hpp"
#include "support/forwarding_kernels.hpp"
#include "support/golden_folder.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::check {
namespace {

class GoldenModel : public testing::TestWithParam<std::string> {
  protected:
    [[nodiscard]] static std::vector<Measured> check(ModelSubject const& subject)
    {
        auto lines = check_golden_model(test::golden_folder() / GetParam(), subject);
        EXPECT_TRUE(lines) << lines.error().message();
        return lines ? *lines : std::vector<Measured>{};
    }
};

TEST_P(GoldenModel, AgreesOnTheCpu)
{
    for (auto const type : {at::kFloat, at::kBFloat16})
        for (auto const& line : check({at::kCPU, type, {}}))
            EXPECT_TRUE(line.good()) << line.name << ": " << line.error;
}

// Forgets the factor 2 of the derivative of the squared ReLU.
class WrongKernels final : public test::ForwardingKernels {
  public:
    using ForwardingKernels::ForwardingKernels;
    void square_relu_backward(at::Tensor const& relu, at::Tensor const& gradient) const override
    {
        gradient.mul_(relu);
        relu.mul_(relu);
    }
};

TEST_P(GoldenModel, ShowsAWrongDerivative)
{
    auto const lines = check({at::kCPU, at::kFloat, [] {
                                  return std::make_unique<WrongKernels>(model::aten_kernels());
                              }});
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_TRUE(lines[0].good()) << "the loss needs no derivative";
    EXPECT_FALSE(lines[1].good());
}

class NanKernels final : public test::ForwardingKernels {
  public:
    using ForwardingKernels::ForwardingKernels;
    void square_relu_backward(at::Tensor const& relu, at::Tensor const& gradient) const override
    {
        gradient.fill_(std::numeric_limits<double>::quiet_NaN());
        relu.mul_(relu);
    }
};

TEST_P(GoldenModel, ShowsGradientsThatAreNotNumbers)
{
    auto const lines = check(
        {at::kCPU, at::kFloat, [] { return std::make_unique<NanKernels>(model::aten_kernels()); }});
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_FALSE(lines[1].good());
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenModel, testing::Values("gpt_mha.h5", "gpt_gqa.h5"),
                         [](auto const& file) {
                             return file.param.substr(0, file.param.find('.'));
                         });

TEST(GoldenModelFile, ThatIsMissingIsAnError)
{
    auto const lines = check_golden_model("/no/such/file.h5", {at::kCPU, at::kFloat, {}});
    ASSERT_FALSE(lines);
    EXPECT_EQ(lines.error().code, ExitCode::no_input);
}

TEST(GoldenModelFile, WithoutAShapeIsAnError)
{
    curtail::test::TemporaryFolder const folder;
    std::vector<tensors::TensorInfo> const contents{{"loss", tensors::Dtype::float64, {1}}};
    ASSERT_TRUE(
        tensors::preallocate(folder / "x.h5", tensors::encode_head(contents, {{"n_layer", 2}})));
    auto const lines = check_golden_model(folder / "x.h5", {at::kCPU, at::kFloat, {}});
    ASSERT_FALSE(lines);
    EXPECT_EQ(lines.error().code, ExitCode::data);
    EXPECT_NE(lines.error().message().find("its attribute n_embd is missing"), std::string::npos);
}

}  // namespace
}  // namespace curtail::check
