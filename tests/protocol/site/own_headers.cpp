// SPDX-License-Identifier: Apache-2.0
// A site reads its own headers back, and stores the damaged ones again.
#include <gmock/gmock.h>

#include "scripted_site.hpp"
#include "simulator/simulator.hpp"

namespace curtail::protocol::test {
namespace {

// A store that keeps wrong bytes of each header, and a process that must leave with work to
// announce.
class DamagedHeader : public ScriptedSite {
  protected:
    Input created(Create const& create) override
    {
        auto answer = ScriptedSite::created(create);
        if (create.name != name || !std::holds_alternative<Created>(answer)) return answer;
        objects.at(name).back() ^= 1;
        if (loses_reply) return Unknown{create.op, "reply lost"};
        return answer;
    }
    std::optional<Input> work(Output const& output) override
    {
        if (auto const* overwrite = std::get_if<Overwrite>(&output)) {
            overwrites += overwrite->name == name ? 1 : 0;
            if (takes_overwrites) objects[overwrite->name] = overwrite->bytes;
        }
        return std::nullopt;
    }
    // Trains and leaves. Returns the exit code.
    ExitCode exit_code()
    {
        auto const outputs = train_and_leave();
        EXPECT_TRUE(site.exited());
        return std::get<Exit>(outputs.back()).code;
    }
    std::string const name{header_name(MemberId{"A.00000011.2"}, {1})};
    bool loses_reply{false};
    bool takes_overwrites{true};
    int overwrites{0};
};

TEST_F(DamagedHeader, IsStoredAgainBeforeASiteLeaves)
{
    EXPECT_EQ(exit_code(), ExitCode::ok);
    auto const header = decode_header(objects.at(name), name);
    ASSERT_TRUE(header) << header.error().message();
    EXPECT_TRUE(header->leaving);
    EXPECT_EQ(overwrites, 1);
}

TEST_F(DamagedHeader, IsNotTakenForAForeignObjectAfterALostReply)
{
    loses_reply = true;
    EXPECT_EQ(exit_code(), ExitCode::ok);
    EXPECT_TRUE(decode_header(objects.at(name), name));
}

TEST_F(DamagedHeader, IsStoredAgainUntilTheEndOfTheStopRequest)
{
    takes_overwrites = false;
    EXPECT_EQ(exit_code(), ExitCode::unavailable) << "nobody can read the announcement";
    EXPECT_GE(overwrites, 10);
    EXPECT_GE(now, stopped + Seconds{60});
    EXPECT_LE(now, stopped + Seconds{61});
}

// Neither the merging site nor the others lose a contribution.
TEST(DamagedHeaders, AreAllDecidedInTheEnd)
{
    auto run = small_run(120, {{"A"}, {"B"}, {"C"}});
    simulator::Chaos chaos;
    chaos.damaged_header = 1;
    simulator::Simulator s(run, 2, chaos);
    for (std::size_t i = 0; i < 3; ++i) s.start(i);
    ASSERT_TRUE(s.run_until(Seconds{600}, [&] { return s.complete(); }));
    EXPECT_GE(s.notes().at("header-restored"), 6);
    std::map<SiteId, int> included;
    for (auto const& commit : s.store().chain()) {
        for (auto const& d : commit.decided)
            if (!d.refused) ++included[member_parts(d.member).process.site];
        for (auto const& r : commit.removed) EXPECT_EQ(r.reason, Removal::complete);
    }
    for (auto const& site : run.sites) EXPECT_GE(included[site], 3) << site.value;
}

}  // namespace
}  // namespace curtail::protocol::test
