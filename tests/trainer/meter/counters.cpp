// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/core/files.hpp"
#include "support/temporary_folder.hpp"
#include "trainer/meter/gpu_energy.hpp"
#include "trainer/meter/rapl.hpp"

namespace curtail::meter {
namespace {

class RaplTest : public testing::Test {
  protected:
    void counter(std::string const& name, std::string const& uj)
    {
        ASSERT_TRUE(make_folder(folder_ / name));
        ASSERT_TRUE(write_file(folder_ / name / "energy_uj", uj + "\n"));
        ASSERT_TRUE(write_file(folder_ / name / "max_energy_range_uj", "1000000000\n"));
    }
    test::TemporaryFolder folder_;
};

TEST_F(RaplTest, AddsUpTheProcessorsAndNotTheirParts)
{
    counter("intel-rapl:0", "1000000");
    counter("intel-rapl:1", "5000000");
    counter("intel-rapl:0:0", "0");
    Rapl rapl(folder_.path());
    counter("intel-rapl:0", "3000000");
    counter("intel-rapl:1", "5500000");
    counter("intel-rapl:0:0", "9000000");
    EXPECT_DOUBLE_EQ(rapl.take_j().value(), 2.5);
    EXPECT_DOUBLE_EQ(rapl.take_j().value(), 0) << "nothing since the last call";
}

TEST_F(RaplTest, ACounterThatRestartsFromZeroCounts)
{
    counter("intel-rapl:0", "999000000");
    Rapl rapl(folder_.path());
    counter("intel-rapl:0", "2000000");
    EXPECT_DOUBLE_EQ(rapl.take_j().value(), 3);
}

TEST_F(RaplTest, WithoutCountersTheEnergyIsUnknown)
{
    EXPECT_FALSE(Rapl(folder_.path()).take_j());
    EXPECT_FALSE(Rapl("/no/such/folder").take_j());
}

TEST_F(RaplTest, ACounterThatCannotBeReadMakesTwoIntervalsUnknown)
{
    counter("intel-rapl:0", "1000000");
    Rapl rapl(folder_.path());
    counter("intel-rapl:0", "x");
    EXPECT_FALSE(rapl.take_j());
    counter("intel-rapl:0", "2000000");
    EXPECT_FALSE(rapl.take_j());
    counter("intel-rapl:0", "4000000");
    EXPECT_DOUBLE_EQ(rapl.take_j().value(), 2);
}

std::string nvml_double()
{
    char const* const library = std::getenv("CURTAIL_TEST_NVML");
    return library != nullptr ? library : "";
}

TEST(GpuEnergy, IsTheDifferenceOfTwoReads)
{
    GpuEnergy gpu("0000:3B:00.0", nvml_double());
    EXPECT_DOUBLE_EQ(gpu.take_j().value(), 1.5);
    setenv("CURTAIL_TEST_NVML_FAILS", "1", 1);
    EXPECT_FALSE(gpu.take_j());
    unsetenv("CURTAIL_TEST_NVML_FAILS");
    EXPECT_FALSE(gpu.take_j());
    EXPECT_DOUBLE_EQ(gpu.take_j().value(), 1.5);
}

TEST(GpuEnergy, OfAGpuThatIsNotThereIsUnknown)
{
    EXPECT_FALSE(GpuEnergy("0000:01:00.0", nvml_double()).take_j());
    EXPECT_FALSE(GpuEnergy("0000:3B:00.0", "libno-such-library.so.1").take_j());
}

}  // namespace
}  // namespace curtail::meter
