// SPDX-License-Identifier: Apache-2.0
// What became of the sites' work: trained, in the model, lost.
#include "bill/account/balance.hpp"

#include <gmock/gmock.h>

#include "bill/account/small_run.hpp"
#include "bill/account/synthetic_run.hpp"
#include "bill/report/document.hpp"
#include "bill/report/summary.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::account {
namespace {

using test::at;
using test::event;
using test::step;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// EAST trains 900 tokens per hour, in a step of 1800 s; each hour ends with a merge.
class Balance : public testing::Test {
  protected:
    Balance()
    {
        for (int hour = 1; hour <= 4; ++hour) steps.push_back(step(hour - 0.1, {900}, 1800, hour));
        params.round_time = params.checkpoint_interval = Seconds{1500};
    }
    CommitSummary& commit(double hours)
    {
        CommitSummary made;
        made.kind = CommitSummary::Kind::merge;
        made.number = std::ssize(commits) + 1;
        made.time = at(hours);
        return commits.emplace_back(std::move(made));
    }
    static Contribution work(std::int64_t seq, std::string refusal = "")
    {
        bool const included = refusal.empty();
        return {{"EAST"}, "EAST.00000001.2", seq, included, std::move(refusal), {900}, 1, 0.1};
    }
    [[nodiscard]] std::vector<WorkBalance> balances(Publication publication = {}) const
    {
        return balances_of(commits, std::vector<WorkLog>{{{"EAST"}, events, steps, publication}});
    }
    [[nodiscard]] WorkBalance east() const { return balances().front(); }
    [[nodiscard]] std::vector<std::string> warnings() const
    {
        return warnings_of(balances(), params);
    }
    [[nodiscard]] std::string document() const
    {
        return json::to_string(to_json(balances(), warnings()));
    }

    std::vector<CommitSummary> commits;
    std::vector<Event> events;
    std::vector<StepMetrics> steps;
    protocol::Params params;
};

TEST_F(Balance, OfASiteWhoseWorkIsInTheModelHasNoLoss)
{
    for (int hour = 1; hour <= 4; ++hour) commit(hour).contributions = {work(hour)};
    commits[1].contributions[0].clipped = true;
    auto const b = east();
    EXPECT_EQ(b.trained, Tokens{3600});
    EXPECT_EQ(b.included, Tokens{3600});
    EXPECT_EQ(b.lost(), Tokens{0});
    EXPECT_EQ(b.clipped, 1);
    EXPECT_EQ(b.waiting, Tokens{0});
    EXPECT_FALSE(b.last_loss);
    EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(Balance, CountsRefusedWorkByTheCommitsAndDroppedWorkByTheLog)
{
    commit(1).contributions = {work(1)};
    commit(2).contributions = {work(2, "digest")};
    commit(3).removed = {{{"EAST"}, protocol::Removal::silent}};
    // The log repeats what the commit says about the refusal.
    events = {event(2.01, "refused", "EAST", {{"commit", 2}, {"why", "digest"}, {"tokens", 900}}),
              event(3.01, "removed", "EAST", {{"commit", 3}, {"why", "silent"}, {"tokens", 700}}),
              event(3.5, "lost", "EAST", {{"tokens", 50}})};
    auto const b = east();
    EXPECT_EQ(b.refused, Tokens{900});
    EXPECT_EQ(b.refusals, 1);
    EXPECT_EQ(b.dropped, Tokens{750});
    EXPECT_EQ(b.lost(), Tokens{1650});
    EXPECT_EQ(b.removals, 1);
    ASSERT_TRUE(b.last_loss);
    EXPECT_EQ(b.last_loss->why, "the trainer ended before it was stored");
    EXPECT_EQ(b.last_loss->commit, std::nullopt);
    events.pop_back();
    EXPECT_EQ(east().last_loss->why, "the member was silent");
    EXPECT_EQ(east().last_loss->tokens, Tokens{700});
    events.pop_back();
    EXPECT_EQ(east().last_loss->commit, 3);
    EXPECT_EQ(east().last_loss->tokens, std::nullopt) << "the commit does not say how many";
    commits.pop_back();
    EXPECT_EQ(east().last_loss->why, "the delta was missing or damaged");
}

TEST_F(Balance, AMemberThatAskedToLeaveIsNotRemoved)
{
    commit(1).removed = {{{"EAST"}, protocol::Removal::left},
                         {{"EAST"}, protocol::Removal::complete},
                         {{"EAST"}, protocol::Removal::succeeded}};
    EXPECT_EQ(east().removals, 1);
}

TEST_F(Balance, WarnsOfASiteThatTrainsButWhoseWorkIsNotInTheModel)
{
    EXPECT_THAT(warnings(), ElementsAre("EAST has trained on 3,600 tokens, and the model includes "
                                        "no work of the site"));
    commit(1).contributions = {work(1)};
    EXPECT_THAT(
        warnings(),
        ElementsAre("EAST has trained on 2,700 tokens since a commit last included its work, "
                    "at 2026-03-01T01:00:00Z"));
    // Refused work, and a contribution without tokens, are no work in the model.
    commit(4).contributions = {work(2, "norm"), work(3)};
    commits.back().contributions[1].tokens = {};
    EXPECT_THAT(warnings(), ElementsAre(HasSubstr("2,700 tokens")));
    commit(2).contributions = {work(4)};
    EXPECT_THAT(warnings(), IsEmpty()) << "3600 s are fewer than three rounds";
}

TEST_F(Balance, WarnsOfThreeSetbacksAlsoWithoutALog)
{
    steps.clear();
    commit(1).contributions = {work(1), work(2, "nan")};
    commit(2).contributions = {work(3, "nan")};
    EXPECT_THAT(warnings(), IsEmpty());
    commit(3).removed = {{{"EAST"}, protocol::Removal::silent}};
    EXPECT_THAT(warnings(),
                ElementsAre("EAST was removed, or its work refused, 3 times since a commit last "
                            "included its work, at 2026-03-01T01:00:00Z"));
    commit(4).contributions = {work(4)};
    EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(Balance, WarnsOfAQuarantineOfTheNewestCommit)
{
    commit(4).contributions = {work(1)};
    commits.back().quarantine = {{{"EAST"}, at(5), protocol::Refusal::nan}};
    EXPECT_THAT(warnings(),
                ElementsAre("EAST is in quarantine until 2026-03-01T05:00:00Z: three contributions "
                            "in a row were refused, the last because a value of the delta was not "
                            "finite"));
    EXPECT_THAT(document(), HasSubstr(R"("quarantine":{"until":"2026-03-01T05:00:00Z",)"));
    commit(5).contributions = {work(2)};
    EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(Balance, WithoutALogWhatWasTrainedIsUnknown)
{
    commit(1).contributions = {work(1), work(2, "stale")};
    steps.clear();
    auto const all = balances({.is_missing = true});
    EXPECT_FALSE(all[0].has_log);
    EXPECT_EQ(all[0].included, Tokens{900});
    EXPECT_TRUE(sum_of(all).lacks_lines);
    auto const text = json::to_string(to_json(all, {}));
    EXPECT_THAT(text, HasSubstr(R"("trained_tokens":null,"is_at_least":false,)"
                                R"("included_tokens":900,"refused_tokens":900,)"
                                R"("dropped_tokens":null,"waiting_tokens":null)"));
    EXPECT_TRUE(balances({.lacks_lines = true})[0].lacks_lines);
}

TEST_F(Balance, HasARowForASiteThatOnlyTheCommitsName)
{
    auto other = work(1);
    other.site = {"GONE"};
    commit(1).contributions = {work(1), other};
    auto const all = balances();
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[1].site.value, "GONE");
    EXPECT_EQ(sum_of(all).included, Tokens{1800});
    EXPECT_EQ(sum_of(all).trained, Tokens{3600});
}

TEST_F(Balance, EscapesAReasonThatAnotherOwnerHasWritten)
{
    events = {event(1, "removed", "EAST", {{"commit", 3}, {"why", "\x1b[2J"}, {"tokens", 1}})};
    EXPECT_EQ(east().last_loss->why, "\\x1b[2J");
}

TEST_F(Balance, OfStoredCommitsIsInTheReport)
{
    curtail::test::TemporaryFolder const folder;
    test::write_synthetic_run(folder.path(), {.refuses = true});
    auto const files = load_run(folder / "run.json");
    ASSERT_TRUE(files) << files.error().message();
    auto const account = account_of(*files);
    ASSERT_EQ(account.balances.size(), 3U);
    EXPECT_EQ(account.balances[2].clipped, 24);
    auto const text = report::summary_text(report::document(account, {}));
    EXPECT_THAT(
        text,
        HasSubstr(
            "  site         tokens trained  in the model    lost  refused  clipped  removed\n"
            "  CAISO_NORTH          421888        421888       0        0        0        0\n"
            "  SPP_TX               399360             0  399360       25        0        5\n"
            "  NEM_SA               628736        628736       0        0       24        0\n"
            "  all sites           1449984       1050624  399360       25       24        5\n"));
    EXPECT_THAT(text, HasSubstr("\nwarning: SPP_TX is in quarantine until 2026-11-21T09:03:43"));
}

}  // namespace
}  // namespace curtail::account
