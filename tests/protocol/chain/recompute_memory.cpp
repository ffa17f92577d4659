// SPDX-License-Identifier: Apache-2.0
// The memory that a verification needs.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "protocol/chain/chain.hpp"
#include "protocol/chain/small_run.hpp"
#include "storage/store/posix_store.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::chain {
namespace {

constexpr std::int64_t values = 1 << 20;
RunId const small{"small"};

// The most memory that this process has ever had, in bytes.
std::int64_t peak_memory()
{
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6)) * 1024;
    return 0;
}

// Writes a run whose last merge has eight contributions and an outer step.
bool write_run(store::ObjectStore& store)
{
    test::SmallRun run(store, small, 40, test::SmallRun::Models::merged, values);
    run.make_wide(4);
    return run.tip().decided.size() == 8 && run.tip().outer_step;
}

TEST(RecomputeMemory, DoesNotGrowWithTheNumberOfContributions)
{
    constexpr std::int64_t model = values * sizeof(float);
    curtail::test::TemporaryFolder const folder;
    auto const store = store::PosixStore::open(folder.path(), store::IfMissing::refuse).value();
    // Another process writes the run: its memory would hide what the verification needs.
    auto const writer = fork();
    if (writer == 0) _exit(write_run(*store) ? 0 : 1);
    int status = -1;
    ASSERT_EQ(waitpid(writer, &status, 0), writer);
    ASSERT_EQ(status, 0);
    auto const before = peak_memory();
    ASSERT_GT(before, 0);
    auto const summary = verify_run(
        {*store, small}, {}, [&](protocol::RunSpec const&) { return std::optional(values); });
    ASSERT_TRUE(summary) << summary.error().message();
    EXPECT_EQ(summary->models.back().outcome, RecomputedModel::Outcome::recomputed);
    // The results are a model and a momentum. The rest is some MiB of buffers. The deltas alone
    // would need 8 models.
    EXPECT_LT(peak_memory() - before, 4 * model);
}

}  // namespace
}  // namespace curtail::chain
