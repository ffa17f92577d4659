// Work that a site has announced, or believes to have announced: none of it is thrown away or replaced unseen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "by_hand.hpp"

namespace curtail::rounds {
namespace {

using test::ByHand;
using test::part;
using testing::HasSubstr;

MemberId const member_a{"A.00000011.2"};

/// A store that now and then does not answer for headers, and a process that is asked to leave with work to announce.
class Headers : public ByHand {
  protected:
    Input got(Get const& get) override
    {
        bool const header = get.name.rfind("contrib/", 0) == 0;
        if (header && unanswered > 0 && unanswered-- > 0) return Unknown{get.op, "time-out"};
        auto answer = ByHand::got(get);
        auto* read = std::get_if<Got>(&answer);
        if (header && read != nullptr && read_badly > 0 && read_badly-- > 0) read->bytes.back() ^= 1;
        return answer;
    }
    Input created(Create const& create) override
    {
        auto answer = ByHand::created(create);
        bool const header = create.name.rfind("contrib/", 0) == 0;
        if (header && replies_lost > 0 && replies_lost-- > 0) return Unknown{create.op, "reply lost"};
        return answer;
    }
    std::optional<Input> work(Output const& output) override
    {
        auto const* merge = std::get_if<Merge>(&output);
        if (merge == nullptr) return std::nullopt;
        return Merged{merge->op, {}, {part(merge->weights[0].part, merge->weights[0].name)}, {}};
    }
    /// Joins, trains what it holds and leaves; what it does last.
    std::vector<Output> train_and_leave()
    {
        auto outputs = serve(Tick{});
        outputs = site.on(now, Loaded{std::get<LoadModel>(outputs.back()).op});
        auto const held = std::get<Train>(outputs.back()).held;
        outputs = site.on(now, StopRequested{now + Seconds{60}});
        auto const cut = std::get<Cut>(outputs.back());
        (void)site.on(now, Stepped{held, FractionalSeconds{1}});
        return serve(CutReady{cut.op, held, 1, {1.0}, {1}});
    }
    std::string name{header_name(member_a, {1})};
    int unanswered{0};
    int replies_lost{0};
    int read_badly{0};
};

TEST_F(Headers, AreAskedForAgainBeforeTheirMemberIsRemoved)
{
    (void)serve(Tick{});
    auto const tip = *site.tip();
    Header left;
    left.run = run.run;
    left.member = member_a;
    left.seq = {1};
    left.base_round = {1};
    left.leaving = true;
    left.ranges = tip.members.at(0).held;
    left.tokens = left.ranges.count() * run.params.block_tokens;
    left.steps = 1;
    left.parts = {{part("d0", delta_name({1}, member_a, {1}, "d0")), 1.0, 0}};
    objects[name] = encode(left).bytes;

    site = Site({{{"A"}, 0x33}, run, 0});
    unanswered = 3;
    (void)serve(Tick{});
    EXPECT_EQ(unanswered, 0);
    auto const third = *decode_commit(objects.at("commits/00000003.json"), "commits/00000003.json");
    EXPECT_EQ(third.totals.tokens, left.tokens);
    ASSERT_EQ(third.removed.size(), 1U);
    EXPECT_EQ(third.removed.at(0).reason, Removal::left);
}

TEST_F(Headers, UnderWhoseNameAStrangersObjectStandsEndTheSiteWithThatName)
{
    objects[name] = "{}";
    auto const error = exit_error(train_and_leave());
    EXPECT_EQ(error.code, ExitCode::protocol);
    EXPECT_THAT(error.message(), HasSubstr("another object stands under " + name));
}

TEST_F(Headers, AreAnnouncedThoughTheReplyWasLost)
{
    replies_lost = 1;
    auto const outputs = train_and_leave();
    ASSERT_TRUE(site.exited());
    EXPECT_EQ(std::get<Exit>(outputs.back()).code, ExitCode::ok);
    EXPECT_EQ(decode_header(objects.at(name), name)->nonfinite, 1);
}

TEST_F(Headers, ReadBackBadlyOnceOrTwiceAreNotAStrangers)
{
    replies_lost = 1;
    read_badly = 2;
    auto const outputs = train_and_leave();
    ASSERT_TRUE(site.exited());
    EXPECT_EQ(read_badly, 0);
    EXPECT_EQ(std::get<Exit>(outputs.back()).code, ExitCode::ok);
}

}  // namespace
}  // namespace curtail::rounds
