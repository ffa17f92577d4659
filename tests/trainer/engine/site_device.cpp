// SPDX-License-Identifier: Apache-2.0
#include "trainer/engine/site_device.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace curtail::trainer {
namespace {

std::string warnings_for(bool bfloat16, c10::Device device)
{
    std::string text;
    Log const log([&](Level level, std::string_view line) {
        if (level == Level::warning) text += line;
    });
    config::OptimizerSettings optimizer;
    optimizer.muon_bfloat16 = bfloat16;
    warn_of_float32_muon(optimizer, device, log);
    return text;
}

TEST(Float32Muon, IsWarnedOfOnAGpu)
{
    c10::Device const gpu(at::kCUDA, 0);
    EXPECT_THAT(warnings_for(false, gpu), testing::HasSubstr("muon_precision is float32"));
    EXPECT_EQ(warnings_for(true, gpu), "");
    EXPECT_EQ(warnings_for(false, at::kCPU), "");
}

}  // namespace
}  // namespace curtail::trainer
