// SPDX-License-Identifier: Apache-2.0
#include "run/samples/sample.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace curtail::samples {
namespace {

using testing::Eq;
using testing::Optional;

Sample sample(SignalType type, std::optional<GramsPerKwh> intensity)
{
    return {{Time{}, intensity}, "trace", type, {}};
}

TEST(Sample, IntensityCountsOnlyForItsOwnSignalType)
{
    auto const marginal = sample(SignalType::marginal, GramsPerKwh{80});
    EXPECT_THAT(intensity_of_type(marginal, SignalType::marginal), Optional(GramsPerKwh{80}));
    EXPECT_THAT(intensity_of_type(marginal, SignalType::average), Eq(std::nullopt));
    auto const average = sample(SignalType::average, GramsPerKwh{80});
    EXPECT_THAT(intensity_of_type(average, SignalType::marginal), Eq(std::nullopt));
    EXPECT_THAT(intensity_of_type(average, SignalType::average), Optional(GramsPerKwh{80}));
}

TEST(Sample, WithoutValueHasNoIntensity)
{
    auto const empty = sample(SignalType::marginal, std::nullopt);
    EXPECT_THAT(intensity_of_type(empty, SignalType::marginal), Eq(std::nullopt));
}

}  // namespace
}  // namespace curtail::samples
