// SPDX-License-Identifier: Apache-2.0
// Amendments of a run in each type of store.
#include "operate/amend.hpp"

#include <gmock/gmock.h>

#include "base/core/clock.hpp"
#include "protocol/chain/chain.hpp"
#include "protocol/chain/small_run.hpp"
#include "protocol/records/names.hpp"
#include "protocol/records/terms.hpp"
#include "support/each_store.hpp"

namespace curtail::operate {
namespace {

using protocol::TermChange;
using testing::ElementsAre;
using testing::HasSubstr;

class AmendmentOf : public curtail::test::EachStore {
  protected:
    AmendmentOf() : store_(new_store()), run_(*store_)
    {
        run_.make();
        request_.wanted = run_.spec();
        request_.reason = "test";
    }
    [[nodiscard]] chain::RunObjects objects() { return {*store_, run_.spec().run}; }
    [[nodiscard]] Result<PreparedAmendment> prepare()
    {
        return prepare_amendment(objects(), request_, SystemClock{}.now());
    }

    std::unique_ptr<store::ObjectStore> store_;
    chain::test::SmallRun run_;
    AmendmentRequest request_;
};

TEST_P(AmendmentOf, ARunNamesItsPredecessorAndItsChanges)
{
    request_.wanted.sites.push_back({"D"});
    auto const first = prepare();
    ASSERT_TRUE(first) << first.error().message();
    EXPECT_THAT(first->amendment.changes, ElementsAre(TermChange{"sites.D", {}, true}));
    EXPECT_EQ(first->amendment.number, 1);
    EXPECT_EQ(first->amendment.base, run_.tip().number);
    ASSERT_TRUE(create_amendment(objects(), first->amendment));

    EXPECT_EQ(prepare().error().code, ExitCode::data) << "it is proposed already";
    request_.wanted.params.round_time = Seconds{4};
    auto const second = prepare();
    ASSERT_TRUE(second) << second.error().message();
    EXPECT_EQ(second->amendment.number, 2);
    EXPECT_EQ(second->amendment.previous, protocol::encode(first->amendment).sha256);
    EXPECT_THAT(second->amendment.changes,
                ElementsAre(TermChange{"params.round_time_ms", 3000, 4000}));
}

// Nobody could read it, and it would be void.
TEST_P(AmendmentOf, ATooLongReasonIsRefused)
{
    request_.wanted.sites.push_back({"D"});
    request_.reason = std::string(protocol::text_limit + 1, 'x');
    auto const refused = prepare();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ExitCode::usage);
    EXPECT_THAT(refused.error().message(), HasSubstr("reason"));
    EXPECT_THAT(refused.error().message(), HasSubstr("1000 bytes"));
    request_.reason.pop_back();
    EXPECT_TRUE(prepare());
}

TEST_P(AmendmentOf, AnOlderRunFileKeepsWhatOthersHaveChanged)
{
    auto const older = request_.wanted;
    request_.wanted.params.gather_time = Seconds{7};
    request_.wanted.sites.push_back({"D"});
    ASSERT_TRUE(create_amendment(objects(), prepare()->amendment));
    request_.wanted = older;
    request_.wanted.sites.erase(request_.wanted.sites.begin());
    auto const retires = prepare();
    ASSERT_TRUE(retires) << retires.error().message();
    EXPECT_THAT(retires->amendment.changes, ElementsAre(TermChange{"sites.A", true, {}}));
    EXPECT_THAT(retires->kept, ElementsAre(HasSubstr("rounds.gather_time_s stays as "
                                                     "amendments/1.json has set it"),
                                           HasSubstr("sites.D stays")));
    request_.wanted = older;
    EXPECT_EQ(prepare().error().code, ExitCode::data);
    EXPECT_THAT(prepare().error().message(), HasSubstr("--only rounds.gather_time_s"));
    request_.only = {"rounds.gather_time_s"};
    EXPECT_THAT(prepare()->amendment.changes,
                ElementsAre(TermChange{"params.gather_time_ms", 7000, 30'000}));
    request_.only = {"rounds.round_time_s"};
    EXPECT_EQ(prepare().error().code, ExitCode::usage);
}

TEST_P(AmendmentOf, ARunFileThatATrainerWouldRefuseIsRefused)
{
    request_.wanted.optimizer.lr_scale = 0.5;
    request_.wanted.sites.push_back({"D"});
    EXPECT_EQ(prepare().error().code, ExitCode::config);
    EXPECT_THAT(prepare().error().message(), HasSubstr("optimizer.lr_scale is 1 in the store's"));
    request_.wanted.optimizer = run_.spec().optimizer;
    request_.wanted.manifest = sha256("other data");
    EXPECT_TRUE(prepare()) << "this machine does not have the data";
    request_.knows_data = true;
    EXPECT_EQ(prepare().error().code, ExitCode::config);
}

TEST_P(AmendmentOf, ALostRaceIsReported)
{
    request_.zero_momentum = true;
    auto const first = prepare();
    ASSERT_TRUE(first) << first.error().message();
    request_.reason = "another operator";
    auto const second = prepare();
    ASSERT_TRUE(create_amendment(objects(), second->amendment));
    auto const lost = create_amendment(objects(), first->amendment);
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, ExitCode::temporary);
    EXPECT_TRUE(create_amendment(objects(), second->amendment)) << "our own one is no race";
}

TEST_P(AmendmentOf, ABudgetBelowTheWorkIsRefused)
{
    request_.wanted.budget = Tokens{1};
    auto const prepared = prepare();
    ASSERT_FALSE(prepared);
    EXPECT_EQ(prepared.error().code, ExitCode::data);
    EXPECT_THAT(prepared.error().message(), HasSubstr("its budget ends before blocks"));
}

// A backup has the commits, but not the amendments that they took in.
TEST_P(AmendmentOf, ARestoredStoreFollowsTheOneThatTheRunHasTakenIn)
{
    auto terms = run_.tip().terms;
    terms.params.gather_time = Seconds{7};
    run_.amend(terms);
    auto const name = *chain::object_name(run_.spec().run, protocol::amendment_name(1));
    ASSERT_TRUE(store_->remove(name));
    auto const older = prepare();
    ASSERT_FALSE(older);
    EXPECT_THAT(older.error().message(),
                HasSubstr("rounds.gather_time_s stays as amendments/1.json has set it"));
    request_.wanted.sites.push_back({"D"});
    auto const prepared = prepare();
    ASSERT_TRUE(prepared) << prepared.error().message();
    EXPECT_EQ(prepared->amendment.number, 2);
    EXPECT_EQ(prepared->amendment.previous, run_.tip().amended->sha256);
    EXPECT_THAT(prepared->amendment.changes, ElementsAre(TermChange{"sites.D", {}, true}));
    ASSERT_TRUE(create_amendment(objects(), prepared->amendment));
    request_.wanted.sites.push_back({"E"});
    EXPECT_EQ(prepare()->amendment.number, 3);
}

// What somebody else has set counts, not the older run file.
TEST_P(AmendmentOf, ADropTimeThatIsNotStatedFollowsFromTheTermsInForce)
{
    request_.states_drop_after = false;
    auto const older = request_.wanted;  // 3 s, so 9 s
    request_.wanted.params.round_time = Seconds{10};
    auto const first = prepare();
    ASSERT_TRUE(first) << first.error().message();
    EXPECT_THAT(first->amendment.changes,
                ElementsAre(TermChange{"params.drop_after_ms", 9000, 30'000},
                            TermChange{"params.round_time_ms", 3000, 10'000}));
    ASSERT_TRUE(create_amendment(objects(), first->amendment));
    request_.wanted = older;
    request_.wanted.params.checkpoint_interval = Seconds{4};
    request_.wanted.params.drop_after = Seconds{12};  // as the run file reader derives it
    auto second = prepare();
    ASSERT_TRUE(second) << second.error().message();
    EXPECT_THAT(second->amendment.changes,
                ElementsAre(TermChange{"params.checkpoint_interval_ms", 3000, 4000}));
    request_.wanted.params.checkpoint_interval = Seconds{20};
    second = prepare();
    ASSERT_TRUE(second) << second.error().message();
    EXPECT_THAT(second->amendment.changes,
                ElementsAre(TermChange{"params.checkpoint_interval_ms", 3000, 20'000},
                            TermChange{"params.drop_after_ms", 30'000, 60'000}));
}

TEST_P(AmendmentOf, ADropTimeThatSomebodyHasSetStaysWhileItIsLongEnough)
{
    request_.wanted.params.drop_after = Seconds{100};
    ASSERT_TRUE(create_amendment(objects(), prepare()->amendment));
    request_.states_drop_after = false;
    request_.wanted.params.round_time = Seconds{4};
    EXPECT_THAT(prepare()->amendment.changes,
                ElementsAre(TermChange{"params.round_time_ms", 3000, 4000}));
    request_.wanted.params.round_time = Seconds{60};
    EXPECT_THAT(prepare()->amendment.changes,
                ElementsAre(TermChange{"params.drop_after_ms", 100'000, 180'000},
                            TermChange{"params.round_time_ms", 3000, 60'000}));
    request_.only = {"rounds.drop_after_s"};
    EXPECT_THAT(prepare()->amendment.changes,
                ElementsAre(TermChange{"params.drop_after_ms", 100'000, 9000}));
}

// The code and the advice fit the reason, also once the learning rates fall.
TEST_P(AmendmentOf, ARefusalNamesItsOwnReason)
{
    auto terms = run_.tip().terms;
    terms.budget = Tokens{300};
    run_.amend(terms);
    request_.wanted.budget = terms.budget;
    for (bool const rates_fall : {false, true}) {
        while (rates_fall && run_.tip().totals.tokens <= Tokens{180}) run_.continue_lone();
        request_.wanted.budget = terms.budget;
        request_.wanted.params.round_time = Seconds{8};  // too long for the drop time of 9 s
        request_.only = {"rounds.round_time_s"};
        auto const times = prepare();
        ASSERT_FALSE(times);
        EXPECT_EQ(times.error().code, ExitCode::data);
        EXPECT_THAT(times.error().message(), HasSubstr("must be at least twice"));
        EXPECT_EQ(times.error().message().find("budget"), std::string::npos);
        request_.only = {"training.tokens"};
        request_.wanted.budget = Tokens{310};
        auto const budget = prepare();
        EXPECT_EQ(budget.has_value(), !rates_fall);
        if (!rates_fall) continue;
        EXPECT_EQ(budget.error().code, ExitCode::config);
        EXPECT_THAT(budget.error().message(), HasSubstr("fork"));
    }
}

TEST_P(AmendmentOf, AMissingRunIsRefused)
{
    auto const missing = prepare_amendment({*store_, {"other"}}, request_, SystemClock{}.now());
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ExitCode::no_input);
}

INSTANTIATE_TEST_SUITE_P(Each, AmendmentOf, curtail::test::every_store,
                         curtail::test::name_of_store);

}  // namespace
}  // namespace curtail::operate
