// SPDX-License-Identifier: Apache-2.0
#include "trainer/engine/peak_rate.hpp"

#include <gtest/gtest.h>

namespace curtail::trainer {
namespace {

TEST(PeakRate, OfAKnownGpuIsThatOfItsDataSheet)
{
    EXPECT_EQ(peak_tflops_of("NVIDIA A100-SXM4-80GB"), 312);
    EXPECT_EQ(peak_tflops_of("NVIDIA H100 80GB HBM3"), 989.4);
    EXPECT_EQ(peak_tflops_of("NVIDIA H100 PCIe"), 756);
}

TEST(PeakRate, OfAnyOtherDeviceIsUnknown)
{
    for (auto const* const name :
         {"", "NVIDIA H100", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA GeForce RTX 4090"})
        EXPECT_FALSE(peak_tflops_of(name)) << name;
}

}  // namespace
}  // namespace curtail::trainer
