// SPDX-License-Identifier: Apache-2.0
// What a site still does between the two times of a stop request.
#include <gmock/gmock.h>

#include <optional>
#include <vector>

#include "scripted_site.hpp"

namespace curtail::protocol::test {
namespace {

using testing::HasSubstr;

class Stopping : public ScriptedSite {
  protected:
    // A lone member trains all blocks that it holds, gets a stop request, and cuts.
    Stopping()
        : ScriptedSite([] {
              auto spec = small_run();
              spec.params.status_interval = Seconds{3600};  // no status wakes the site
              return spec;
          }())
    {
    }
    std::vector<Output> cut_after(StopRequested const& stop)
    {
        auto outputs = serve(Tick{});
        outputs = site.on(now, Loaded{std::get<LoadModel>(outputs.back()).op});
        held = std::get<Train>(outputs.back()).blocks;
        outputs = site.on(now, stop);
        auto const cut = std::get<Cut>(outputs.back());
        (void)site.on(now, Stepped{held, FractionalSeconds{1}});
        return site.on(now, CutReady{cut.op, 1.0, 0});
    }
    template <class Store>
    Stored stored(Store const& store)
    {
        return {store.op, part(store.place.part, store.place.name)};
    }
    Ranges held;
};

TEST_F(Stopping, APayloadThatIsStoredLateIsStillCommitted)
{
    auto const begun = MonoTime{Seconds{100}};
    now = begun;
    auto const outputs = cut_after({begun + Seconds{80}, begun + Seconds{90}});
    auto const store = std::get<StoreModel>(outputs.back());
    now = begun + Seconds{85};
    auto const last = serve(stored(store));
    ASSERT_TRUE(site.exited());
    EXPECT_EQ(std::get<Exit>(last.back()).code, ExitCode::ok) << exit_error(last).message();
    EXPECT_EQ(site.tip()->totals.tokens, held.count() * run.params.block_tokens);
}

TEST_F(Stopping, NoTransferBeginsLate)
{
    auto const begun = MonoTime{Seconds{100}};
    now = begun;
    auto const get = std::get<Get>(cut_after({begun, begun + Seconds{90}}).back());
    auto const last = serve(Missing{get.op});  // no newer commit
    ASSERT_TRUE(site.exited());
    EXPECT_LT(now, begun + Seconds{1});
    EXPECT_EQ(std::get<Exit>(last.back()).code, ExitCode::unavailable);
    EXPECT_THAT(exit_error(last).message(), HasSubstr("cannot leave the run in time"));
}

TEST_F(Stopping, ATransferWithoutAnAnswerEndsAtTheEnd)
{
    auto const begun = MonoTime{Seconds{100}};
    now = begun;
    auto const outputs = cut_after({begun + Seconds{80}, begun + Seconds{90}});
    ASSERT_TRUE(std::holds_alternative<StoreModel>(outputs.back()));
    EXPECT_EQ(site.wake(), begun + Seconds{90});
    EXPECT_TRUE(site.on(begun + Seconds{89}, Tick{}).empty());
    auto const last = site.on(begun + Seconds{90}, Tick{});
    ASSERT_TRUE(site.exited());
    EXPECT_EQ(std::get<Exit>(last.back()).code, ExitCode::unavailable);
}

class StoppedJoin : public ScriptedSite {
  protected:
    Input got(Get const& get) override
    {
        bool const read = get.name == commit_name({2}) && objects.contains(get.name);
        if (read && !read_at) read_at = get.op;
        return ScriptedSite::got(get);
    }
    std::optional<Op> read_at;  // the first read of the commit that admits the site
};

// The commit that admits the site may land just before a stop request.
TEST_F(StoppedJoin, ASiteThatWasAdmittedAnnouncesThatItLeaves)
{
    std::deque<Input> inputs{Tick{}};
    while (!read_at) {
        (void)give_first(inputs);
        if (inputs.empty()) inputs.emplace_back(Tick{});
    }
    (void)site.on(now, StopRequested{now + Seconds{60}, now + Seconds{60}});
    (void)serve(std::move(inputs.front()));
    ASSERT_TRUE(site.exited());
    auto const name = header_name({"A.00000011.2"}, {1});
    ASSERT_TRUE(objects.contains(name));
    EXPECT_TRUE(decode_header(objects.at(name), name)->leaving);
}

}  // namespace
}  // namespace curtail::protocol::test
