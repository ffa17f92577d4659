// SPDX-License-Identifier: Apache-2.0
// A member whose steps are skipped again and again: its sets of blocks stay as short as a header
// can list.
#include <gmock/gmock.h>

#include "scripted_site.hpp"

namespace curtail::protocol::test {
namespace {

// A site whose header has at most four ranges in each set, so that it cuts at two.
class FewRanges : public ScriptedSite {
  protected:
    FewRanges() : ScriptedSite(with_few_ranges()) {}
    static RunSpec with_few_ranges()
    {
        auto run = small_run(2000, {{"A"}});
        run.params.grant_quantum = 100;
        run.limits.header_ranges = 4;
        return run;
    }
    void SetUp() override
    {
        auto const outputs = serve(Tick{});
        (void)give(Loaded{std::get<LoadModel>(outputs.back()).op});
    }
    // Gives the site an input, and answers what it asks the store. Returns all outputs.
    std::vector<Output> give(Input input)
    {
        std::deque<Input> inputs{std::move(input)};
        std::vector<Output> all;
        while (!inputs.empty())
            for (auto& output : give_first(inputs)) {
                if (auto const* train = std::get_if<Train>(&output)) order = *train;
                all.push_back(std::move(output));
            }
        return all;
    }
    static Ranges block(std::int64_t n) { return {{n, n + 1}}; }
    std::vector<Output> step(std::int64_t n)
    {
        return give(Stepped{block(n), FractionalSeconds{0.01}});
    }
    std::vector<Output> skip(std::int64_t n) { return give(Skipped{block(n)}); }

    Train order;
};

template <class T>
T const* find(std::vector<Output> const& outputs)
{
    for (auto const& output : outputs)
        if (auto const* found = std::get_if<T>(&output)) return found;
    return nullptr;
}

TEST_F(FewRanges, ASiteCutsWhenItsSetsHaveManyRanges)
{
    EXPECT_EQ(order.blocks, (Ranges{{0, 100}}));
    (void)step(0);
    EXPECT_EQ(find<Cut>(skip(1)), nullptr);
    (void)step(2);
    auto const outputs = skip(3);
    ASSERT_NE(find<Cut>(outputs), nullptr) << "a third range would need another one in the header";
    EXPECT_EQ(site.status().since, (Ranges{{0, 1}, {2, 3}}));
    EXPECT_EQ(site.status().skipped, (Ranges{{1, 2}, {3, 4}}));
}

TEST_F(FewRanges, StepsThatHaveBegunAreStillListed)
{
    (void)step(0);
    (void)skip(1);
    (void)step(2);
    auto const cut = *find<Cut>(skip(3));
    (void)step(4);
    (void)skip(5);
    auto const outputs = serve(CutReady{cut.op, 1.0, 0});
    auto const* store = find<StoreModel>(outputs);
    ASSERT_NE(store, nullptr);
    auto const part = test::part(store->place.part, store->place.name);
    auto const created = give(Stored{store->op, part});
    auto const* create = find<Create>(created);
    ASSERT_NE(create, nullptr);
    auto const commit = decode_commit(create->bytes, create->name);
    ASSERT_TRUE(commit) << commit.error().message();
    ASSERT_EQ(commit->decided.size(), 1U);
    EXPECT_EQ(commit->decided[0].ranges, (Ranges{{0, 1}, {2, 3}, {4, 5}}));
    EXPECT_EQ(commit->decided[0].skipped, (Ranges{{1, 2}, {3, 4}, {5, 6}}));
    EXPECT_FALSE(site.exited());
}

// The first cut waits for the store, which does not answer; training goes on.
class FewRangesInAnOutage : public FewRanges {
  protected:
    void SetUp() override
    {
        FewRanges::SetUp();
        run.params.max_undecided = 1;
        (void)step(0);
        (void)skip(1);
        (void)step(2);
        auto const cut = *find<Cut>(skip(3));
        auto outputs = give(CutReady{cut.op, 1.0, 0});
        for (int i = 0; i < 20 && find<Train>(outputs) == nullptr; ++i) {
            auto const* store = find<StoreModel>(outputs);
            now = std::max(now, site.wake().value_or(now));
            outputs = give(store ? Input{Unavailable{store->op, "no answer"}} : Input{Tick{}});
        }
        ASSERT_NE(find<Train>(outputs), nullptr) << "it trains through the outage";
        EXPECT_THAT(order.blocks.to_string(), testing::StartsWith("[4,"));
    }
};

TEST_F(FewRangesInAnOutage, TheTrainerWaitsIfNoCutIsPossible)
{
    (void)step(4);
    (void)skip(5);
    (void)step(6);
    (void)skip(7);
    EXPECT_TRUE(order.blocks.empty()) << order.blocks.to_string();
}

// It trains on until the last cut, which waits for the store, too.
TEST_F(FewRangesInAnOutage, TheTrainerAlsoWaitsAfterAStopRequest)
{
    (void)give(StopRequested{now + Seconds{60}, now + Seconds{70}});
    (void)step(4);
    (void)skip(5);
    (void)step(6);
    (void)skip(7);
    EXPECT_TRUE(order.blocks.empty()) << order.blocks.to_string();
}

}  // namespace
}  // namespace curtail::protocol::test
