// SPDX-License-Identifier: Apache-2.0
// Which permission a poll writes.
#include "run/permission/permission.hpp"

#include "poller/poll/fixture.hpp"
#include "run/permission/hold.hpp"
#include "support/eventually.hpp"

namespace curtail::poll {
namespace {

using testing::HasSubstr;

class PollPermission : public Poll {
  protected:
    [[nodiscard]] std::filesystem::path folder() const { return run_.site_folder({"A"}); }
    [[nodiscard]] permission::Permission permission() const
    {
        auto const read = permission::read_permission(folder(), run_.run, {"A"});
        EXPECT_TRUE(read && *read);
        return read && *read ? **read : permission::Permission{};
    }
    void pause(bool held)
    {
        ASSERT_TRUE(permission::write_hold(
            folder(), {run_.run, {"A"}, ++decisions_, held, "maintenance", at(0), "anna@login1"}));
    }
    void cancel_job_1()
    {
        auto& job = slurm_["A"].jobs.at(0);
        job.state = State::ended;
        job.launcher_state = "CANCELLED";
        job.end = plan::Job::End::cancelled;
        job.ended = SystemClock{}.now();
    }

  private:
    std::int64_t decisions_{0};
};

TEST_F(PollPermission, AnOpenWindowPermitsTrainingBeforeAJobIsSubmitted)
{
    bool permitted = false;
    slurm_["A"].before_list = [&] { permitted = !permission().is_withdrawn(); };
    (void)once(0, {50});
    EXPECT_TRUE(permitted);
    EXPECT_EQ(permission().lifetime, Seconds{720});
    EXPECT_THAT(slurm_["A"].called(), testing::ElementsAre("submit"));
}

TEST_F(PollPermission, ANewJobIsNotSubmittedOnceThePollerStops)
{
    StopRequest stop;
    bool withdrawn = false;
    auto const read = [&] { return permission::read_permission(folder(), run_.run, {"A"}); };
    slurm_["A"].before_list = [&] {
        (void)test::eventually([&] { return read() && *read(); });
        stop.raise();
        withdrawn = test::eventually([&] { return (*read())->is_withdrawn(); });
    };
    (void)watch(make_context(std::make_shared<FixedClock>(at(0)), {50}), quick(), stop);
    EXPECT_TRUE(withdrawn);
    EXPECT_TRUE(slurm_["A"].called().empty());
    EXPECT_TRUE(permission().is_withdrawn());
}

TEST_F(PollPermission, AReplayWhoseClockWasSetBackPermitsNothingUntilThen)
{
    std::vector<double> const clean(30, 50);
    (void)once(7200, clean);
    EXPECT_EQ(once(3600, clean).sites[0].signal.phase, windows::Phase::open);
    EXPECT_TRUE(permission().is_withdrawn());
    EXPECT_THAT(permission().why, HasSubstr("the clock was set back"));
    (void)once(7300, clean);
    EXPECT_FALSE(permission().is_withdrawn());
    EXPECT_THAT(slurm_["A"].called(), testing::ElementsAre("submit", "drain 1", "submit"));
}

TEST_F(PollPermission, APollerThatLivesRepairsTheFile)
{
    permission::Verdict const closed{false, {}, "the window is closed"};
    PermissionWriter writer(folder(), run_.run, {"A"}, {Seconds{60}, Seconds{720}});
    ASSERT_TRUE(writer.update(closed, at(0)));
    auto const first = permission();
    ASSERT_TRUE(writer.update(closed, at(1)));
    EXPECT_EQ(permission(), first) << "an unchanged verdict needs no new file";
    auto const file = permission::permission_file(folder());
    auto const break_file = {std::function<void()>([&] { std::filesystem::remove(file); }),
                             std::function<void()>([&] { (void)write_file(file, "{torn"); }),
                             std::function<void()>([&] {
                                 auto old = first;
                                 old.until = at(7200);
                                 old.lifetime = Seconds{7200};
                                 (void)permission::write_permission(folder(), old);
                             })};
    int second = 2;
    auto const whole = read_file(file).value();
    for (auto const* serial : {"9007199254740992", "9007199254740993", "-7", "7.5", "null"}) {
        auto text = whole;
        text.replace(text.find("\"serial\":") + 9,
                     text.find(",\"issued") - text.find("\"serial\":") - 9, serial);
        ASSERT_TRUE(write_file(file, text));
        ASSERT_TRUE(writer.update(closed, at(second++)));
        EXPECT_GT(permission().serial, first.serial) << serial;
        EXPECT_LT(permission().serial, first.serial + 100'000) << serial;
    }
    for (auto const& broken : break_file) {
        broken();
        ASSERT_TRUE(writer.update(closed, at(second++)));
        EXPECT_TRUE(permission().is_withdrawn());
        EXPECT_GT(permission().serial, first.serial);
    }
}

TEST_F(PollPermission, AClosedWindowPermitsNothing)
{
    (void)once(0, {500});
    EXPECT_TRUE(permission().is_withdrawn());
    EXPECT_EQ(permission().why, "the window is closed");
}

TEST_F(PollPermission, AClosingWindowPermitsTrainingUntilTwoPollsAfterItsClose)
{
    (void)once(0, {50, 500});
    (void)once(600, {50, 500, 500});  // closing since 300, closes at 900
    auto const until_close = Seconds{300} + 2 * Seconds{60};
    EXPECT_EQ(permission().lifetime, until_close);
}

TEST_F(PollPermission, ThePermissionEndsAlthoughSlurmDoesNotAnswer)
{
    (void)once(0, {50});
    auto const serial = permission().serial;
    slurm_["A"].answers = false;
    (void)once(1200, {50, 500, 500, 500, 500});
    EXPECT_TRUE(permission().is_withdrawn());
    EXPECT_GT(permission().serial, serial);
}

TEST_F(PollPermission, ADryRunWritesNoPermission)
{
    (void)once(0, {50}, true);
    EXPECT_FALSE(std::filesystem::exists(permission::permission_file(folder())));
}

TEST_F(PollPermission, NoJobIsSubmittedWithoutItsPermission)
{
    std::filesystem::create_directories(permission::permission_file(folder()) / "in the way");
    auto const result = poll_once(make_context(std::make_shared<FixedClock>(at(0)), {50}), false);
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().message(), HasSubstr("cannot renew the permission of site A"));
    EXPECT_TRUE(slurm_["A"].called().empty());
    EXPECT_THAT(slurm_["B"].called(), testing::ElementsAre("submit"));
}

TEST_F(PollPermission, APausedSiteTrainsOnlyAfterItsResume)
{
    (void)once(0, {50});
    pause(true);
    (void)once(1, {50});
    EXPECT_THAT(slurm_["A"].called(), testing::ElementsAre("submit", "drain 1"));
    EXPECT_TRUE(permission().is_withdrawn());
    EXPECT_THAT(permission().why, HasSubstr("maintenance"));
    (void)once(2, {50});
    EXPECT_THAT(slurm_["A"].called(), testing::SizeIs(2));
    pause(false);
    (void)once(3, {50});
    EXPECT_FALSE(permission().is_withdrawn());
    EXPECT_THAT(slurm_["A"].called(), testing::ElementsAre("submit", "drain 1", "submit"));
}

TEST_F(PollPermission, ACancelledJobStaysCancelledUntilTheNextWindowAfterADirtySignal)
{
    (void)once(0, {50});
    cancel_job_1();
    auto const submitted = [&] { return slurm_["A"].called().size(); };
    (void)once(10, {50});
    EXPECT_EQ(submitted(), 1);
    (void)once(300, {50, 50});
    EXPECT_EQ(submitted(), 1) << "the same window is still open";
    (void)once(1500, {50, 50, 500, 500, 500, 50});
    EXPECT_EQ(submitted(), 2) << "the window closed at 1200, and the next one opened at 1500";
}

TEST_F(PollPermission, ACancelLastsThroughAWindowThatFollowsAGapInTheSignal)
{
    // Without a value from 600 on, the window closes at 1200. It opens again at 1500 and at 2700;
    // only before 2700 was the intensity above the threshold.
    std::vector<samples::Sample> samples;
    for (auto const& [second, grams] :
         {std::pair(0, 50), {1500, 50}, {1800, 500}, {2100, 500}, {2400, 500}, {2700, 50}})
        samples.push_back({{at(second), GramsPerKwh{static_cast<double>(grams)}},
                           "fake",
                           samples::SignalType::marginal,
                           {}});
    auto const submitted_at = [&](int second) {
        auto context = make_context(std::make_shared<FixedClock>(at(second)), {});
        for (auto& parts : context.sites) parts.provider = std::make_unique<FakeProvider>(samples);
        EXPECT_TRUE(poll_once(std::move(context), false));
        return slurm_["A"].called().size();
    };
    EXPECT_EQ(submitted_at(0), 1);
    cancel_job_1();
    EXPECT_EQ(submitted_at(10), 1);
    EXPECT_EQ(submitted_at(1500), 1);
    auto const types = event_types("A");
    EXPECT_EQ(std::count(types.begin(), types.end(), "window-open"), 2) << "a gap came between";
    EXPECT_EQ(submitted_at(2600), 1);
    EXPECT_EQ(submitted_at(2700), 2) << "the window opened after a dirty signal";
}

TEST_F(PollPermission, AFileThatIsDamagedIsReplaced)
{
    ASSERT_TRUE(make_folder(folder()));
    ASSERT_TRUE(write_file(permission::permission_file(folder()), "{\"serial\":"));
    (void)once(0, {50});
    EXPECT_FALSE(permission().is_withdrawn());
}

}  // namespace
}  // namespace curtail::poll
