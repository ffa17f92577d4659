// SPDX-License-Identifier: Apache-2.0
// Two processes of one site, in two folders: the second one takes no work from the first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/records/terms.hpp"
#include "scripted_site.hpp"

namespace curtail::protocol::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Another process of site A is the only member. It gives signs of life until `lives_until`.
class Twin : public ScriptedSiteBesideB {
  protected:
    Twin() : ScriptedSiteBesideB(small_run(40, {{"A"}, {"C"}}))
    {
        auto const record = encode(run);
        objects[run_name] = record.bytes;
        auto const first = genesis(run, record.sha256, {twin, 1}, noon,
                                   part("w0", model_name({1}, twin, 1, "w0")));
        objects[commit_name({1})] = encode(first).bytes;
        Intents intents;
        intents.admit = Admission{{{"A"}, 0x22}, 1'000'000};
        (void)append({}, intents, noon);
    }
    Input got(Get const& get) override
    {
        if (get.name == status_name({"A"}) && lives_until > now)
            objects[get.name] = encode(SiteStatus{twin, {2}, noon + Seconds{++signs}}).bytes;
        if (publishes_at != MonoTime{} && now >= publishes_at) {
            publishes_at = {};
            publish();
        }
        return ScriptedSite::got(get);
    }
    std::optional<Input> work(Output const& output) override
    {
        if (auto const* note = std::get_if<Note>(&output))
            if (note->type == "waiting-for-twin") waits.push_back(json::to_string(note->details));
        return std::nullopt;
    }
    // The next contribution of the other process.
    [[nodiscard]] Header contribution() const
    {
        Header h;
        h.run = run.run;
        h.member = twin;
        h.seq = {1};
        h.base_round = {1};
        h.ranges = newest().find(twin)->held.lowest(1);
        h.tokens = run.params.block_tokens;
        h.steps = 1;
        h.delta = {part("d0", delta_name(h.base_round, twin, h.seq)), 1.0};
        return h;
    }
    void publish() { objects[header_name(twin, {1})] = encode(contribution()).bytes; }
    // Starts the site, and returns how long it has waited before it joined.
    Millis join()
    {
        auto const begin = now;
        (void)serve(Tick{});
        EXPECT_TRUE(site.status().member);
        return std::chrono::duration_cast<Millis>(now - begin);
    }

    static constexpr Time noon = from_unix_ms(1'700'000'000'000);
    MemberId const twin{member("A", 2, 0x22)};
    MonoTime lives_until{};
    MonoTime publishes_at{};
    int signs{0};
    std::vector<std::string> waits;
};

TEST_F(Twin, ThatRanInTheSameFolderHasEnded)
{
    site = Site({{{"A"}, 0x11}, run, 0, {0x22}});
    EXPECT_LT(join(), run.params.status_interval);
    EXPECT_EQ(site.tip()->find(twin), nullptr);
    EXPECT_THAT(waits, IsEmpty());
}

TEST_F(Twin, WithoutASignOfLifeInTwoIntervalsHasEnded)
{
    auto const waited = join();
    EXPECT_GE(waited, run.params.status_interval * 2);
    EXPECT_LT(waited, run.params.status_interval * 3);
    EXPECT_EQ(site.tip()->find(twin), nullptr);
    EXPECT_THAT(waits, ElementsAre(HasSubstr(twin.value)));
}

TEST_F(Twin, ThatLivesKeepsItsPlace)
{
    lives_until = now + Seconds{30};
    EXPECT_GE(join(), Seconds{30} + run.params.status_interval);
}

TEST_F(Twin, ThatHasPublishedIsNotRemoved)
{
    lives_until = MonoTime::max();
    publishes_at = now + Seconds{10};
    auto const waited = join();
    EXPECT_GE(waited, Seconds{10});
    EXPECT_LT(waited, Seconds{11} + run.params.first_base_wait);
    EXPECT_TRUE(site.tip()->find(twin)) << "its work waits for a merge";
}

TEST_F(Twin, WhoseWorkACommitIncludesIsNotRemoved)
{
    lives_until = MonoTime::max();
    auto const header = contribution();
    bool merged = false;
    // The commit arrives after the first look.
    for (auto input = Input{Tick{}}; !site.status().member && now < MonoTime{Seconds{60}};) {
        std::deque<Input> inputs{input};
        while (!inputs.empty()) (void)give_first(inputs);
        if (!waits.empty() && !std::exchange(merged, true))
            (void)append({{header, encode(header).sha256, {}}}, {}, noon + Seconds{5});
        now = std::max(now, site.wake().value_or(now));
    }
    EXPECT_TRUE(merged);
    ASSERT_TRUE(site.status().member);
    EXPECT_TRUE(site.tip()->find(twin)) << "it may have more work";
}

}  // namespace
}  // namespace curtail::protocol::test
