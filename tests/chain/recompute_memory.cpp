// SPDX-License-Identifier: Apache-2.0
// The memory that a verification needs.
#include <gtest/gtest.h>
#include <malloc.h>

#include <fstream>

#include "chain/chain.hpp"
#include "chain/small_run.hpp"
#include "store/posix_store.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::chain {
namespace {

// A field of /proc/self/status, in bytes.
std::int64_t memory(std::string const& field)
{
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(field + ":")) return std::stoll(line.substr(field.size() + 1)) * 1024;
    return 0;
}

TEST(RecomputeMemory, DoesNotGrowWithTheNumberOfContributions)
{
    constexpr std::int64_t values = 1 << 20;
    constexpr std::int64_t model = values * sizeof(float);
    curtail::test::TemporaryFolder const folder;
    auto const store = store::PosixStore::open(folder.path(), store::IfMissing::refuse).value();
    test::SmallRun run(*store, {"small"}, 40, test::SmallRun::Models::merged, values);
    run.make_wide(4);
    ASSERT_EQ(run.tip().decided.size(), 8U);
    ASSERT_TRUE(run.tip().outer_step);
    malloc_trim(0);  // what the preparation has freed would hide what the verification needs
    std::ofstream("/proc/self/clear_refs") << "5";  // sets VmHWM to VmRSS
    auto const before = memory("VmRSS");
    if (memory("VmHWM") > before + model) GTEST_SKIP() << "this machine does not reset VmHWM";
    auto const summary = verify_run({*store, run.spec().run}, {},
                                    [&](rounds::RunSpec const&) { return std::optional(values); });
    ASSERT_TRUE(summary) << summary.error().message();
    EXPECT_EQ(summary->models.back().outcome, RecomputedModel::Outcome::recomputed);
    // The results are a model and a momentum. The rest is some MiB of buffers. The deltas alone
    // would need 8 models.
    EXPECT_LT(memory("VmHWM") - before, 4 * model);
}

}  // namespace
}  // namespace curtail::chain
