// SPDX-License-Identifier: Apache-2.0
// A starting site removes members that seem silent only if they show no sign of life for long
// enough.
#include <gtest/gtest.h>

#include "protocol/records/terms.hpp"
#include "protocol/rules/next.hpp"
#include "protocol/site/liveness_scan.hpp"

#include "scripted_site.hpp"

namespace curtail::protocol::test {
namespace {

Time noon() { return from_unix_ms(1'700'000'000'000); }

// The run has one member, of site B, which has shown no progress for an hour.
class SilentMember : public ScriptedSite {
  protected:
    SilentMember() : ScriptedSite(small_run(40, {{"A"}, {"B"}}))
    {
        auto const record = encode(run);
        objects[run_name] = record.bytes;
        auto const hour_ago = noon() - Seconds{3600};
        auto first = genesis(run, record.sha256, {id_of(0), 1}, hour_ago,
                             part("w0", model_name({1}, id_of(0), 1, "w0")));
        Intents intents;
        intents.admit = Admission{{{"B"}, 0x22}, 1'000'000};
        auto const bytes = encode(first);
        objects[commit_name({1})] = bytes.bytes;
        tip = *next(run, first, bytes.sha256, {b, 1}, hour_ago, {}, intents);
        objects[commit_name({2})] = encode(tip).bytes;
    }
    static MemberId id_of(std::int64_t admitted) { return member("B", admitted, 0x22); }
    Input got(Get const& get) override
    {
        bool const status = get.name == status_name({"B"});
        if (fails_every > 0 && ++gets % fails_every == 0)
            return Unknown{get.op, "no route", ExitCode::unavailable};
        if (status && forbidden) return Unknown{get.op, "forbidden", ExitCode::permission};
        if (status && lives_until > now) ++signs;
        if (status && signs > 0)
            objects[get.name] = encode(SiteStatus{b, {2}, tip.time + Seconds{signs}}).bytes;
        return ScriptedSite::got(get);
    }
    MemberId const b{id_of(2)};
    Commit tip;
    MonoTime lives_until{};  // B gives signs of life until then
    int signs{0};
    int fails_every{0};  // so many reads of the store, one of which fails
    int gets{0};
    bool forbidden{false};  // nobody but B may read its status
};

TEST_F(SilentMember, IsRemovedAfterTwoEqualLooksFarApart)
{
    auto const begin = now;
    (void)serve(Tick{});
    EXPECT_EQ(site.tip()->find(b), nullptr);
    auto const apart = run.params.status_interval * 3 / 2 + 4 * run.params.poll_run;
    EXPECT_GE(now - begin, apart);
    EXPECT_LT(now - begin, apart + Seconds{2});
}

TEST_F(SilentMember, StaysAsLongAsItsStatusChanges)
{
    auto const begin = now;
    lives_until = begin + Seconds{60};
    (void)serve(Tick{});
    EXPECT_GE(now, lives_until) << "the site removed a member that gave signs of life";
    EXPECT_EQ(site.tip()->find(b), nullptr) << "a member without signs of life must be removed";
}

TEST_F(SilentMember, WhoseStatusIsRecentIsNotSuspect)
{
    objects[status_name({"B"})] = encode(SiteStatus{b, {2}, noon()}).bytes;
    (void)serve(Tick{});
    ASSERT_TRUE(site.tip()->find(b));
    EXPECT_TRUE(site.status().member) << "the site joins beside the member";
}

TEST_F(SilentMember, IsRemovedAlthoughSomeReadsFail)
{
    fails_every = 5;
    auto const last = serve(Tick{});
    EXPECT_FALSE(site.exited()) << exit_error(last).message();
    EXPECT_EQ(site.tip()->find(b), nullptr);
}

TEST_F(SilentMember, WhoseStatusCannotBeReadMayBeAlive)
{
    forbidden = true;
    (void)serve(Tick{});
    ASSERT_TRUE(site.tip()->find(b));
    EXPECT_TRUE(site.status().member) << "the site joins beside the member";
}

TEST_F(SilentMember, WithAStatusFromTheFutureIsSuspect)
{
    objects[status_name({"B"})] = encode(SiteStatus{b, {2}, noon() + Seconds{7200}}).bytes;
    (void)serve(Tick{});
    EXPECT_EQ(site.tip()->find(b), nullptr);
}

TEST_F(ScriptedSite, AMemberReplacesItsStatusOncePerInterval)
{
    auto outputs = serve(Tick{});
    outputs = site.on(now, Loaded{std::get<LoadModel>(outputs.back()).op});
    auto const begin = now;
    std::vector<MonoTime> written;
    for (; now < begin + Seconds{10}; now += Millis{10}) {
        for (auto const& output : site.on(now, Tick{})) {
            if (auto const* get = std::get_if<Get>(&output)) (void)site.on(now, Missing{get->op});
            auto const* order = std::get_if<Overwrite>(&output);
            if (order == nullptr) continue;
            auto const status = decode_status(order->bytes, order->name);
            ASSERT_TRUE(status);
            EXPECT_EQ(status->member, site.status().member);
            written.push_back(now);
        }
    }
    EXPECT_EQ(written.size(), 9) << "the first comes an interval after the join";
    for (std::size_t i = 1; i < written.size(); ++i)
        EXPECT_LE(written[i] - written[i - 1], run.params.status_interval + Millis{10});
}

TEST(Looks, DoNotAgreeOnDifferentInvalidBytes)
{
    site::LivenessScan liveness;
    std::vector<SiteId> const sites{{"B"}};
    MonoTime now{Seconds{1}};
    for (std::string const bytes : {"{", "{}", "{}"}) {
        EXPECT_EQ(liveness.unchanged(sites), Millis{0}) << "before " << bytes;
        now += Seconds{10};
        liveness.begin(sites, Digest{}, now);
        liveness.take(&bytes);
        liveness.end(now);
    }
    EXPECT_EQ(liveness.unchanged(sites), Seconds{10});
}

TEST(Looks, BeginAgainWhenAnotherProcessCommits)
{
    site::LivenessScan liveness;
    std::vector<SiteId> const sites;
    auto const look = [&](std::optional<Digest> tip, int second) {
        liveness.begin({}, tip, MonoTime{Seconds{second}});
        liveness.end(MonoTime{Seconds{second + 1}});
        return liveness.unchanged(sites);
    };
    EXPECT_EQ(look(sha256("a"), 10), Millis{0});
    EXPECT_EQ(look(sha256("a"), 20), Seconds{9});
    EXPECT_EQ(look(std::nullopt, 30), Seconds{19}) << "an own commit changes nothing";
    EXPECT_EQ(look(sha256("b"), 40), Millis{0});
}

}  // namespace
}  // namespace curtail::protocol::test
