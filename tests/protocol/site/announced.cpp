// SPDX-License-Identifier: Apache-2.0
// Announced work, and work whose announcement has an unknown outcome: a site never discards or
// replaces it without reading the header.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/rules/next.hpp"
#include "scripted_site.hpp"

namespace curtail::protocol {
namespace {

using test::part;
using test::ScriptedSite;
using test::small_run;
using testing::HasSubstr;

MemberId const member_a{"A.00000011.2"};

// A dead member holds the run's only block, and the store refuses to read its header. Another site
// starts.
class RefusedHeaderRead : public ScriptedSite {
  protected:
    RefusedHeaderRead() : ScriptedSite(small_run(1)) {}
    Input got(Get const& get) override
    {
        if (get.name != name) return ScriptedSite::got(get);
        if (!refused_since) refused_since = now;
        auto const code = site.status().member ? code_for_members : code_for_starters;
        return Unknown{get.op, "cannot read " + name + ": Input/output error", code};
    }
    std::optional<Input> work(Output const& output) override
    {
        if (!departed) return std::nullopt;
        if (auto const* load = std::get_if<LoadModel>(&output)) return Loaded{load->op};
        if (auto const* note = std::get_if<Note>(&output))
            notes.push_back(note->type + json::to_string(note->details));
        auto const* train = std::get_if<Train>(&output);
        if (train == nullptr || train->blocks.empty()) return std::nullopt;
        trains_since = now;
        return StopRequested{now, now};
    }
    // B joined long ago and got the block of the first member, which was removed.
    void add_departed_member()
    {
        (void)serve(Tick{});
        auto const& second = objects.at("commits/00000002.json");
        Intents intents;
        intents.admit = Admission{{{"B"}, 0x22}, 1'000'000};
        intents.remove = {{member_a, Removal::silent}};
        auto const joined =
            next(run, *decode_commit(second, "commits/00000002.json"), sha256(second), {dead, 1},
                 from_unix_ms(1'600'000'000'000), {}, intents);
        objects["commits/00000003.json"] = encode(*joined).bytes;
        site = Site({{{"A"}, 0x33}, run, 0});
        departed = true;
    }
    bool departed{false};
    MemberId const dead{"B.00000022.3"};
    std::string const name{header_name(dead, {1})};
    ExitCode code_for_starters{ExitCode::io};
    ExitCode code_for_members{ExitCode::io};
    std::optional<MonoTime> refused_since;
    std::optional<MonoTime> trains_since;
    std::vector<std::string> notes;
};

TEST_F(RefusedHeaderRead, MembersRemoveTheMemberAfterALongTimeAndStartersStillJoin)
{
    for (auto const code : {ExitCode::io, ExitCode::permission}) {
        code_for_starters = code_for_members = code;
        objects.clear();
        notes.clear();
        refused_since.reset();
        trains_since.reset();
        departed = false;
        site = Site({{{"A"}, 0x11}, run, 0});
        add_departed_member();
        auto const error = exit_error(serve(Tick{}));
        EXPECT_EQ(error.code, ExitCode::ok) << error.message();
        auto const fourth =
            *decode_commit(objects.at("commits/00000004.json"), "commits/00000004.json");
        EXPECT_NE(fourth.find(dead), nullptr)
            << "a starter must not remove a member whose header it could not read";
        ASSERT_TRUE(trains_since) << "the block was never freed";
        EXPECT_EQ(site.tip()->find(dead), nullptr);
        auto const longest = run.params.drop_after + run.params.skew;
        EXPECT_GE(*trains_since - *refused_since, longest);
        EXPECT_LE(*trains_since - *refused_since, 3 * longest);
        EXPECT_THAT(notes, testing::Contains(AllOf(HasSubstr("header-unreadable"), HasSubstr(name),
                                                   HasSubstr("Input/output error"))));
    }
}

TEST_F(RefusedHeaderRead, TemporaryErrorsDoNotRemoveTheMember)
{
    code_for_members = ExitCode::temporary;
    add_departed_member();
    (void)serve(Tick{});
    ASSERT_TRUE(refused_since);
    EXPECT_GT(now - *refused_since, 10 * (run.params.drop_after + run.params.skew));
    EXPECT_FALSE(trains_since);
    EXPECT_NE(site.tip()->find(dead), nullptr);
}

// A store that sometimes fails to answer for headers, and a process that must leave with work to
// announce.
class Headers : public ScriptedSite {
  protected:
    Input got(Get const& get) override
    {
        bool const header = get.name.rfind("contrib/", 0) == 0;
        if (header && unanswered > 0 && unanswered-- > 0) return Unknown{get.op, "time-out"};
        auto answer = ScriptedSite::got(get);
        auto* read = std::get_if<Got>(&answer);
        if (header && read != nullptr && read_badly > 0 && read_badly-- > 0)
            read->bytes.back() ^= 1;
        return answer;
    }
    Input created(Create const& create) override
    {
        auto answer = ScriptedSite::created(create);
        bool const header = create.name.rfind("contrib/", 0) == 0;
        if (header && replies_lost > 0 && replies_lost-- > 0)
            return Unknown{create.op, "reply lost"};
        return answer;
    }
    std::optional<Input> work(Output const& output) override
    {
        auto const* merge = std::get_if<Merge>(&output);
        if (merge == nullptr) return std::nullopt;
        return Merged{merge->op, {}, part(merge->weights.part, merge->weights.name), {}};
    }
    std::string name{header_name(member_a, {1})};
    int unanswered{0};
    int replies_lost{0};
    int read_badly{0};
};

TEST_F(Headers, AreReadAgainBeforeARefusalOrARemoval)
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
    left.delta = {part("d0", delta_name({1}, member_a, {1})), 1.0};
    objects[name] = encode(left).bytes;

    site = Site({{{"A"}, 0x33}, run, 0});
    unanswered = 3;
    read_badly = 5;
    (void)serve(Tick{});
    EXPECT_EQ(unanswered, 0);
    EXPECT_EQ(read_badly, 0);
    auto const third = *decode_commit(objects.at("commits/00000003.json"), "commits/00000003.json");
    EXPECT_EQ(third.totals.tokens, left.tokens);
    ASSERT_EQ(third.removed.size(), 1U);
    EXPECT_EQ(third.removed.at(0).reason, Removal::left);
}

TEST_F(Headers, AForeignObjectUnderTheHeadersNameEndsTheSiteAndIsNamed)
{
    objects[name] = "{}";
    auto const error = exit_error(train_and_leave());
    EXPECT_EQ(error.code, ExitCode::protocol);
    EXPECT_THAT(error.message(), HasSubstr("a foreign object has the name " + name));
}

TEST_F(Headers, ALostReplyStillCountsAsAnnounced)
{
    replies_lost = 1;
    auto const outputs = train_and_leave();
    ASSERT_TRUE(site.exited());
    EXPECT_EQ(std::get<Exit>(outputs.back()).code, ExitCode::ok);
    EXPECT_EQ(decode_header(objects.at(name), name)->nonfinite, 1);
}

TEST_F(Headers, TwoCorruptReadsAreNotTakenForAForeignObject)
{
    replies_lost = 1;
    read_badly = 2;
    auto const outputs = train_and_leave();
    ASSERT_TRUE(site.exited());
    EXPECT_EQ(read_badly, 0);
    EXPECT_EQ(std::get<Exit>(outputs.back()).code, ExitCode::ok);
}

}  // namespace
}  // namespace curtail::protocol
