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

using testing::ElementsAre;
using testing::HasSubstr;

class AmendmentOf : public curtail::test::EachStore {
  protected:
    AmendmentOf() : store_(new_store()), run_(*store_)
    {
        run_.make();
        request_.terms = run_.tip().terms;
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
    request_.terms.sites.push_back({"D"});
    auto const first = prepare();
    ASSERT_TRUE(first) << first.error().message();
    EXPECT_THAT(first->changes, ElementsAre("site D may enter"));
    EXPECT_EQ(first->amendment.number, 1);
    ASSERT_TRUE(create_amendment(objects(), first->amendment));

    EXPECT_EQ(prepare().error().code, ExitCode::data) << "it is proposed already";
    request_.terms.params.round_time = Seconds{77};
    auto const second = prepare();
    ASSERT_TRUE(second) << second.error().message();
    EXPECT_EQ(second->amendment.number, 2);
    EXPECT_EQ(second->amendment.previous, protocol::encode(first->amendment).sha256);
    EXPECT_THAT(second->changes, ElementsAre(HasSubstr("params.round_time_ms")));
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
    request_.terms.budget = Tokens{1};
    auto const prepared = prepare();
    ASSERT_FALSE(prepared);
    EXPECT_EQ(prepared.error().code, ExitCode::data);
    EXPECT_THAT(prepared.error().message(), HasSubstr("its budget ends before blocks"));
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
