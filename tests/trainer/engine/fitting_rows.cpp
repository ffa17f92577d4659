// SPDX-License-Identifier: Apache-2.0
#include "trainer/engine/fitting_rows.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "trainer/comm/mpi_collectives.hpp"
#include "trainer/engine/engine.hpp"
#include "trainer/job/small_training.hpp"
#include "trainer/model/allocations.hpp"
#include "trainer/model/memory_limit.hpp"

namespace curtail::trainer {
namespace {

using testing::HasSubstr;
using testing::Not;

class FittingRowsTest : public test::SmallTraining {
  protected:
    void SetUp() override
    {
        SmallTraining::SetUp();
        ASSERT_TRUE(make_folder(site_folder()));
        StepOutcome outcome;
        outcome.device_rows = 4 + ranks_->rank();
        rows().note(outcome, log());
        log_text_.clear();
    }
    [[nodiscard]] FittingRows rows() const { return {site_folder(), run_, facts_}; }
    [[nodiscard]] std::int64_t at_start() { return rows().at_start(*ranks_, log()); }
    [[nodiscard]] std::filesystem::path file() const { return site_folder() / "device-rows.json"; }

    // Only that of the leader counts.
    std::unique_ptr<comm::Collectives> ranks_{comm::mpi_collectives()};
    RowFacts facts_{"NVIDIA A100-SXM4-40GB", 4, at::kBFloat16};
};

TEST_F(FittingRowsTest, AreThoseOfTheLeaderAtTheNextStart)
{
    EXPECT_EQ(at_start(), 4);
    if (ranks_->rank() > 0) return;
    EXPECT_THAT(log_text_, HasSubstr("at most 4 rows at once"));
    EXPECT_THAT(log_text_, HasSubstr("to try 16 again, delete " + file().string()));
}

TEST_F(FittingRowsTest, AreReadableByTheirOwnerOnly)
{
    struct stat found {};
    ASSERT_EQ(::stat(file().c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777U, 0600U);
}

TEST_F(FittingRowsTest, AreForgottenIfTheRunFileOrTheSiteChanges)
{
    auto const run = run_;
    auto const facts = facts_;
    for (auto const& change : std::vector<std::function<void()>>{
             [&] { run_.training.device_batch_rows = 15; },
             [&] { run_.training.checkpoint_activations = true; },
             [&] { run_.training.batch_tokens = Tokens{1024}; },
             [&] { run_.optimizer.muon_bfloat16 = true; }, [&] { ++run_.model.layers; },
             [&] { run_.model.sequence = 64; }, [&] { run_.model.vocabulary = 400; },
             [&] { facts_.device = "NVIDIA A100-SXM4-80GB"; }, [&] { facts_.ranks = 8; },
             [&] { facts_.type = at::kFloat; }}) {
        run_ = run;
        facts_ = facts;
        change();
        EXPECT_EQ(at_start(), run_.training.device_batch_rows);
    }
    EXPECT_EQ(log_text_, "");
}

TEST_F(FittingRowsTest, AreForgottenIfTheirFileIsDamaged)
{
    if (ranks_->rank() > 0) {
        for (int content = 0; content < 9; ++content) EXPECT_EQ(at_start(), 16);
        return;
    }
    auto const text = read_file(file()).value();
    auto const with = [&](std::string const& from, std::string const& to) {
        auto changed = text;
        return changed.replace(text.find(from), from.size(), to);
    };
    for (auto const& content :
         {std::string(), std::string("[]"), text.substr(0, text.size() / 2),
          with("\"rows\": 4", "\"rows\": 0"), with("\"rows\": 4", "\"rows\": 17"),
          with("\"rows\": 4", "\"rows\": \"4\""), with("\"format\": 1", "\"format\": 2"),
          with("\"facts\"", "\"other\"")}) {
        ASSERT_TRUE(write_file(file(), content));
        EXPECT_EQ(at_start(), 16) << content;
    }
    std::filesystem::remove(file());
    EXPECT_EQ(at_start(), 16);
}

TEST_F(FittingRowsTest, AreKeptAgainIfStillFewerFit)
{
    auto again = rows();
    StepOutcome outcome;
    outcome.device_rows = again.at_start(*ranks_, log());
    again.note(outcome, log());
    EXPECT_THAT(log_text_, Not(HasSubstr("ran out of memory")));
    outcome.device_rows = 1;
    again.note(outcome, log());
    EXPECT_THAT(log_text_, HasSubstr("at most 1 row at once"));
    EXPECT_EQ(at_start(), 1);
}

TEST_F(FittingRowsTest, AreUsedByTheNextTraining)
{
    facts_ = {"", 1, at::kFloat};
    StepOutcome outcome;
    outcome.device_rows = 3;
    rows().note(outcome, log());
    configure(1, 1);
    ASSERT_TRUE(train(true)) << log_text_;
    EXPECT_THAT(log_text_, HasSubstr("at most 3 rows at once, because"));
    EXPECT_THAT(log_text_, Not(HasSubstr("ran out of memory"))) << "the engine uses this number";
}

// Each rank is a trainer of its own, in less and less memory.
TEST_F(FittingRowsTest, AreUsedByTheNextTrainingInLittleMemory)
{
    std::filesystem::remove(file());
    auto const train_in = [&](int steps, std::int64_t bytes) {
        configure(1, steps);
        curtail::test::MemoryLimit const memory(bytes);
        return train(true).has_value();
    };
    auto const enough = [&] {
        curtail::test::Allocations const allocations;
        configure(1, 1);
        EXPECT_TRUE(train(true)) << log_text_;
        return allocations.peak();
    }();
    int steps = 1;
    auto bytes = enough;
    for (; !std::filesystem::exists(file()) && bytes > enough / 2; bytes -= enough / 32)
        (void)train_in(++steps, bytes);
    EXPECT_THAT(log_text_, HasSubstr("ran out of memory"));
    EXPECT_TRUE(train_in(++steps, bytes + enough / 32)) << log_text_;
    EXPECT_THAT(log_text_, HasSubstr("delete " + file().string()));
    EXPECT_THAT(log_text_, Not(HasSubstr("ran out of memory")));
}

}  // namespace
}  // namespace curtail::trainer
