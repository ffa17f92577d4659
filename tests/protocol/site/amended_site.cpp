// SPDX-License-Identifier: Apache-2.0
// How sites follow amendments.
#include <gmock/gmock.h>

#include "protocol/records/fixtures.hpp"
#include "protocol/records/terms.hpp"
#include "scripted_site.hpp"
#include "simulator/edited_record.hpp"
#include "simulator/simulator.hpp"

namespace curtail::protocol {
namespace {

using simulator::edited_record;
using simulator::Simulator;
using test::small_run;
using testing::HasSubstr;

class AmendedRun : public testing::Test {
  protected:
    AmendedRun()
    {
        s.start(0);
        s.start(1);
        s.run_until(Seconds{20}, [] { return false; });
    }
    [[nodiscard]] std::string amendment_to(Terms const& terms)
    {
        Amendment a;
        a.run = run.run;
        a.previous = s.store().last_amendment();
        a.base = tip().number;
        a.changes = changes(tip().terms, terms);
        return encode(a).bytes;
    }
    void propose(Terms const& terms, std::string const& bytes = "")
    {
        s.store().create(amendment_name(1), bytes.empty() ? amendment_to(terms) : bytes);
    }
    [[nodiscard]] Commit const& tip() { return s.store().chain().back(); }
    [[nodiscard]] bool wait_for_amendment()
    {
        return s.run_until(s.now() + Seconds{60}, [&] { return tip().amended.has_value(); });
    }
    RunSpec run{small_run(4000, {{"A"}, {"B"}})};
    Simulator s{run, 5, {}};
};

TEST_F(AmendedRun, AllSitesUseTheNewTimes)
{
    auto terms = tip().terms;
    terms.params.round_time = Seconds{6};
    terms.params.drop_after = Seconds{12};
    propose(terms);
    ASSERT_TRUE(wait_for_amendment());
    s.run_until(s.now() + Seconds{10}, [] { return false; });
    auto const before = tip().round;
    s.run_until(s.now() + Seconds{60}, [] { return false; });
    EXPECT_LE(tip().round.value - before.value, 10) << "rounds of 3 s would be 20";
    EXPECT_GE(tip().round.value - before.value, 6);
}

TEST_F(AmendedRun, ARetiredSiteContributesItsWorkAndLeaves)
{
    auto terms = tip().terms;
    terms.sites = {{"B"}};
    propose(terms);
    ASSERT_TRUE(s.run_until(s.now() + Seconds{60}, [&] { return s.living_count() == 1; }));
    EXPECT_EQ(s.exits().back().code, ExitCode::config);
    EXPECT_THAT(s.exits().back().error->message(), HasSubstr("site A is not in its list of sites"));
    s.run_until(s.now() + Seconds{10}, [] { return false; });
    for (auto const& commit : s.store().chain())
        for (auto const& removed : commit.removed) EXPECT_EQ(removed.reason, Removal::left);
    s.start(0);
    ASSERT_TRUE(s.run_until(s.now() + Seconds{60}, [&] { return s.living_count() == 1; }));
    EXPECT_EQ(s.exits().back().code, ExitCode::config);
}

TEST_F(AmendedRun, ADamagedAmendmentIsVoid)
{
    auto const terms = tip().terms;
    propose(terms, "{}");
    ASSERT_TRUE(s.run_until(s.now() + Seconds{120}, [&] { return tip().amended.has_value(); }));
    EXPECT_EQ(tip().terms, terms);
    EXPECT_EQ(s.living_count(), 2U);
}

// Sites divide by `sweep_after`. Somebody has written the amendment by hand.
TEST_F(AmendedRun, AnAbsurdAmendmentIsVoidAndNamed)
{
    auto const terms = tip().terms;
    auto absurd = terms;
    absurd.params.sweep_after = Millis{7};
    propose(absurd, edited_record(amendment_to(absurd), ",7]", ",0]"));
    ASSERT_TRUE(s.run_until(s.now() + Seconds{120}, [&] { return tip().amended.has_value(); }));
    EXPECT_EQ(tip().terms, terms);
    s.run_until(s.now() + Seconds{10}, [] { return false; });
    EXPECT_EQ(s.living_count(), 2U);
    EXPECT_EQ(s.notes().count("amendment-void"), 1U);
}

TEST_F(AmendedRun, AStarterTakesTheAmendmentInBeforeItJoins)
{
    s.stop(0, Seconds{5});
    s.stop(1, Seconds{5});
    ASSERT_TRUE(s.run_until(s.now() + Seconds{20}, [&] { return s.living_count() == 0; }));
    auto terms = tip().terms;
    terms.sites = {{"A"}};
    propose(terms);
    s.start(1);
    ASSERT_TRUE(s.run_until(s.now() + Seconds{60}, [&] { return s.living_count() == 0; }));
    EXPECT_EQ(s.exits().back().code, ExitCode::config);
    EXPECT_TRUE(tip().members.empty());
    EXPECT_EQ(tip().amended->number, 1);
}

// The store does not answer the first read of an amendment.
class UnansweredLook : public test::ScriptedSite {
  protected:
    Input got(Get const& get) override
    {
        if (get.name != amendment_name(1)) return ScriptedSite::got(get);
        looks.push_back(now);
        if (looks.size() == 1) return Unknown{get.op, "no answer"};
        return Missing{get.op};
    }
    std::vector<MonoTime> looks;
};

TEST_F(UnansweredLook, IsRepeatedSoonAndNotInTheNextRound)
{
    auto const outputs = serve(Tick{});
    (void)serve(Loaded{std::get<LoadModel>(outputs.back()).op});
    ASSERT_EQ(looks.size(), 2U);
    EXPECT_GE(looks[1] - looks[0], run.params.poll_wait);
    EXPECT_LT(looks[1] - looks[0], run.params.poll_wait + Seconds{1});
}

}  // namespace
}  // namespace curtail::protocol
