// SPDX-License-Identifier: Apache-2.0
#include "poller/poll/open_store.hpp"
#include "run/runlog/poller_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/core/text.hpp"
#include "poller/plan/plan.hpp"
#include "run/runlog/poller_events.hpp"
#include "run/runlog/poller_state.hpp"
#include "support/own_mounts.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::poll {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Durability = StateStore::Durability;

SiteId const a{"A"};
Time at(int seconds) { return from_unix_ms(1'768'151'100'000) + Seconds(seconds); }
plan::Action const submit{plan::ActionType::submit, {}, {"w1"}, {"i1"}, "open"};

class StateStoreTest : public testing::Test {
  protected:
    StateStoreTest()
    {
        run_.run = {"demo"};
        run_.folder = folder_.path();
        run_.sites.resize(1);
        run_.sites[0].site = a;
    }
    std::unique_ptr<StateStore> open(Access mode = Access::write, int second = 100)
    {
        auto store = open_store(run_, mode, at(second));
        EXPECT_TRUE(store) << (store ? "" : store.error().message());
        return store ? std::move(*store) : nullptr;
    }
    // The journal steps of an action, as a site's poller stores them.
    static Result<void> intend(StateStore& store, plan::Action const& action, Time now)
    {
        return store.append(
            {{0, now, a, action, {}}, plan::begin(store.site(a).jobs, action, now), {}});
    }
    static Result<void> conclude(StateStore& store, plan::Action const& action, std::string job,
                                 Time now)
    {
        plan::Outcome const outcome{plan::Outcome::Status::done, {std::move(job)}, {}};
        auto update = plan::finish(store.site(a).jobs, action, outcome, now, {});
        auto const written = store.append({{0, now, a, action, outcome},
                                           std::move(update.state),
                                           runlog::to_events(update.events, now, a.value)});
        return written ? store.save() : written;
    }
    std::vector<std::string> event_types()
    {
        std::vector<std::string> types;
        auto const file = runlog::read_events(run_.poller_folder(a) / "events.jsonl").value();
        for (auto const& event : file.events) types.push_back(event.type);
        return types;
    }
    std::string content(std::string const& name)
    {
        return read_file(run_.poller_folder() / name).value_or("none");
    }
    // Replaces a file by its content at the time of a kill.
    void restore(std::string const& name, std::string const& text)
    {
        ASSERT_TRUE(write_file(run_.poller_folder() / name, text));
    }

    // `count` samples, one every 300 s, from sample `first` on.
    static std::vector<samples::Sample> samples(int first, int count)
    {
        std::vector<samples::Sample> made;
        for (int i = first; i < first + count; ++i)
            made.push_back({{at(300 * i), GramsPerKwh{100.0 + i}},
                            "trace",
                            samples::SignalType::marginal,
                            {}});
        return made;
    }

    test::TemporaryFolder folder_;
    config::Run run_;
};

TEST_F(StateStoreTest, SecondPollerIsRefused)
{
    auto const store = open();
    auto const second = open_store(run_, Access::write, at(0));
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ExitCode::temporary);
    EXPECT_THAT(second.error().message(), HasSubstr("another poller is active on run demo"));
    EXPECT_THAT(second.error().message(), HasSubstr("process " + std::to_string(getpid())));
    EXPECT_TRUE(open_store(run_, Access::read, at(0))) << "reading needs no lock";
}

TEST_F(StateStoreTest, ALockThatCannotBeOpenedIsNotBlamedOnAnotherPoller)
{
    std::filesystem::create_directories(run_.poller_folder() / "lock");
    std::filesystem::permissions(run_.poller_folder(), std::filesystem::perms::owner_all);
    auto const store = open_store(run_, Access::write, at(0));
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, ExitCode::cannot_create);
    EXPECT_THAT(store.error().message(), testing::Not(HasSubstr("another poller")));
}

TEST_F(StateStoreTest, RecordSurvivesARestart)
{
    SiteRecord expected;
    expected.window = {{windows::Phase::closing, at(3)},
                       at(4),
                       WindowId{"2026-01-11T17:05:00Z"},
                       at(3),
                       at(2),
                       at(5)};
    expected.holds = {AutomaticHold{{plan::HoldRequest::Cause::cancel, "job 7"}, at(6), at(5)}, 3};
    auto store = open();
    ASSERT_TRUE(store->set_window(a, expected.window, {}, Durability::now));
    ASSERT_TRUE(store->set_jobs(a, {}, expected.holds, {}));
    store.reset();
    EXPECT_EQ(open()->site(a), expected);
}

TEST_F(StateStoreTest, OtherProgramsReadWhatThePollerStores)
{
    plan::SiteState jobs;
    plan::TrackedJob job;
    job.id = {"7"};
    job.running_since = at(1);
    job.asked_since = at(2);
    jobs.jobs = {job};
    jobs.intent = plan::Intent{submit.intent, submit.window, at(3), false};
    jobs.failures = 2;
    jobs.retry_at = at(5);
    jobs.failure = "no node";
    auto const store = open();
    ASSERT_TRUE(store->set_window(
        a, {{windows::Phase::closing, at(3)}, at(4), WindowId{"2026-01-11T17:05:00Z"}}, {},
        Durability::now));
    ASSERT_TRUE(store->set_jobs(a, jobs, {}, {}));
    auto const sites = runlog::read_poller_sites(run_.poller_folder() / "state.json").value();
    ASSERT_TRUE(sites);
    EXPECT_THAT(*sites,
                ElementsAre(runlog::PollerSite{
                    a, "closing", at(3), at(4), {{"7", at(1), true}}, true, 2, at(5), "no node"}));
}

TEST_F(StateStoreTest, LazyChangeWaitsForTheNextOne)
{
    auto store = open();
    auto const before = content("state.json");
    ASSERT_TRUE(store->set_window(a, {{}, at(7), {}}, {}, Durability::lazy));
    EXPECT_EQ(content("state.json"), before);
    ASSERT_TRUE(store->save());
    store.reset();
    EXPECT_EQ(open()->site(a).window.evaluated_until, at(7));
}

TEST_F(StateStoreTest, IntentOfADeadPollerIsUncertain)
{
    ASSERT_TRUE(intend(*open(), submit, at(1)));  // then the poller dies
    auto const jobs = open(Access::write, 50)->site(a).jobs;
    ASSERT_TRUE(jobs.intent);
    EXPECT_EQ(jobs.intent->id, submit.intent);
    EXPECT_EQ(jobs.intent->since, at(50));
    EXPECT_EQ(open(Access::write, 60)->site(a).jobs.intent->since, at(50));
}

TEST_F(StateStoreTest, OutcomeThatTheStateLacksComesFromTheJournal)
{
    auto store = open();
    auto const old_state = content("state.json");
    ASSERT_TRUE(intend(*store, submit, at(1)));
    ASSERT_TRUE(conclude(*store, submit, "7", at(2)));
    auto const expected = store->site(a);
    store.reset();
    restore("state.json", old_state);
    restore("sites/A/events.jsonl", "");
    EXPECT_EQ(open()->site(a), expected);
    EXPECT_THAT(event_types(), ElementsAre("job-submitted"));
}

TEST_F(StateStoreTest, LostHoldsAreRebuiltFromTheEvents)
{
    auto const event = [](bool held, char const* cause, std::optional<std::int64_t> decision) {
        return runlog::to_event(runlog::HoldChange{held, cause, "why", decision, at(2)}, at(3),
                                "A");
    };
    auto store = open();
    ASSERT_TRUE(store->set_jobs(a, {}, {}, {event(true, "person", 1), event(false, "person", 2)}));
    ASSERT_TRUE(store->set_jobs(a, {}, {}, {event(true, "cancel", {})}));
    store.reset();
    std::filesystem::remove(run_.poller_folder() / "state.json");
    HoldRecord const expected{
        AutomaticHold{{plan::HoldRequest::Cause::cancel, "why"}, at(3), at(2)}, 2};
    EXPECT_EQ(open()->site(a).holds, expected);
}

TEST_F(StateStoreTest, LostStateIsRebuiltFromOpenIntentsAndJobs)
{
    plan::Action const again{plan::ActionType::submit, {}, {"w2"}, {"i2"}, "open"};
    auto store = open();
    ASSERT_TRUE(intend(*store, submit, at(1)));
    ASSERT_TRUE(conclude(*store, submit, "7", at(2)));
    ASSERT_TRUE(
        store->set_jobs(a, {}, {}, {{at(3), "job-ended", "", {{"window", "w1"}, {"job", "7"}}}}));
    ASSERT_TRUE(intend(*store, again, at(4)));  // then the poller dies
    store.reset();
    std::filesystem::remove(run_.poller_folder() / "state.json");
    store = open();
    EXPECT_TRUE(store->site(a).jobs.jobs.empty()) << "job 7 has ended";
    ASSERT_TRUE(store->site(a).jobs.intent);
    EXPECT_EQ(store->site(a).jobs.intent->id, again.intent);
    EXPECT_THAT(event_types(), ElementsAre("job-submitted", "job-ended"));
    ASSERT_TRUE(conclude(*store, again, "8", at(5)));
    EXPECT_THAT(event_types(), ElementsAre("job-submitted", "job-ended", "job-submitted"));
    EXPECT_THAT(content("sites/A/events.jsonl"), HasSubstr("\"number\":3"));
    EXPECT_THAT(content("journal.jsonl"), HasSubstr("{\"number\":4,"));
    store.reset();
    std::filesystem::remove(run_.poller_folder() / "state.json");
    EXPECT_EQ(open()->site(a).jobs.jobs.at(0).id.value, "8") << "no event records its end";
    EXPECT_EQ(open()->site(a).jobs.jobs.at(0).intent, again.intent);
}

TEST_F(StateStoreTest, EachEventIsWrittenOnceWhereverThePollerDies)
{
    auto store = open();
    auto const change = [&](int second) {
        ASSERT_TRUE(store->set_window(
            a, {{}, at(second), {}},
            {{at(second), "decision", "", {}}, {at(second), "window-open", "", {}}},
            Durability::now));
    };
    change(1);
    auto const after_one = content("sites/A/events.jsonl");
    change(2);
    auto const state = content("state.json");
    auto const events = content("sites/A/events.jsonl");
    store.reset();
    // Killed after the state was written and none, one, one and a half or both of its events.
    auto const first_line = events.find('\n', after_one.size()) + 1;
    for (auto const length : {after_one.size(), first_line, first_line + 10, events.size()}) {
        restore("state.json", state);
        restore("sites/A/events.jsonl", events.substr(0, length));
        store = open();
        change(3);
        store.reset();
        EXPECT_THAT(event_types(), ElementsAre("decision", "window-open", "decision", "window-open",
                                               "decision", "window-open"))
            << "killed at byte " << length;
    }
}

TEST_F(StateStoreTest, JournalLineCutShortIsSkipped)
{
    auto store = open();
    ASSERT_TRUE(intend(*store, submit, at(1)));
    store.reset();
    restore("journal.jsonl", content("journal.jsonl") + "{\"number\":2,\"ti");
    store = open();
    EXPECT_TRUE(store->site(a).jobs.intent);
    ASSERT_TRUE(conclude(*store, submit, "7", at(2)));
    store.reset();
    EXPECT_EQ(open()->site(a).jobs.jobs.at(0).id.value, "7");
}

TEST_F(StateStoreTest, EachSampleIsRecordedOnceWhereverThePollerDies)
{
    auto store = open();
    ASSERT_TRUE(store->record(a, {"R"}, samples(0, 3)));
    ASSERT_TRUE(store->record(a, {"S"}, samples(0, 1)));
    ASSERT_TRUE(store->record(a, {"R"}, samples(1, 3)));
    auto const whole = content("sites/A/signals.jsonl");
    auto const line = [](char const* region, int second, int grams) {
        return "{\"region\":\"" + std::string(region) + "\",\"time\":\"" + format_time(at(second)) +
               "\",\"intensity_gco2_per_kwh\":" + std::to_string(grams) +
               ".0,\"provider\":\"trace\",\"kind\":\"marginal\"}\n";
    };
    EXPECT_EQ(whole, line("R", 0, 100) + line("R", 300, 101) + line("R", 600, 102) +
                         line("S", 0, 100) + line("R", 900, 103));
    for (auto const kept : {whole.size(), whole.size() - 1, whole.size() - 20, whole.size() / 2}) {
        store.reset();
        restore("sites/A/signals.jsonl", whole.substr(0, kept));
        store = open();
        ASSERT_TRUE(store->record(a, {"R"}, samples(0, 4)));
        ASSERT_TRUE(store->record(a, {"S"}, samples(0, 1)));
        std::multiset<std::string> lines;
        auto const text = content("sites/A/signals.jsonl");
        for (auto const one : split(text, '\n'))
            if (one.ends_with('}')) lines.insert(std::string(one) + "\n");
        EXPECT_EQ(lines, (std::multiset<std::string>{line("R", 0, 100), line("R", 300, 101),
                                                     line("R", 600, 102), line("R", 900, 103),
                                                     line("S", 0, 100)}))
            << "killed at byte " << kept << ":\n"
            << text;
    }
}

TEST_F(StateStoreTest, RecordsSamplesWithoutValueAndContinuesALongRecord)
{
    auto store = open();
    ASSERT_TRUE(store->record(
        a, {"R"},
        std::vector{samples::Sample{{at(0), {}}, "watttime", samples::SignalType::marginal, {}}}));
    EXPECT_THAT(content("sites/A/signals.jsonl"),
                HasSubstr("\"intensity_gco2_per_kwh\":null,\"provider\":\"watttime\""));
    ASSERT_TRUE(store->record(a, {"R"}, samples(1, 5000)));
    store.reset();
    auto const size = content("sites/A/signals.jsonl").size();
    store = open();
    ASSERT_TRUE(store->record(a, {"R"}, samples(4990, 11)));
    EXPECT_EQ(content("sites/A/signals.jsonl").size(), size);
}

TEST_F(StateStoreTest, AValueThatComesLateIsRecordedInsteadOfItsAbsence)
{
    auto store = open();
    auto const live = [](int second, std::optional<double> value) {
        samples::Sample one{{at(second), {}}, "watttime", samples::SignalType::marginal, {}};
        one.origin.emplace();
        if (value) one.intensity = GramsPerKwh{*value};
        return one;
    };
    ASSERT_FALSE(store->record(a, {"R"}, std::vector{live(0, {})}).value());
    ASSERT_TRUE(store->record(a, {"R"}, std::vector{live(0, 50)}).value());
    ASSERT_TRUE(store->record(a, {"R"}, std::vector{live(300, {}), live(600, 70)}).value());
    auto const text = content("sites/A/signals.jsonl");
    EXPECT_THAT(text, HasSubstr("\"intensity_gco2_per_kwh\":50"));
    EXPECT_THAT(text, HasSubstr("\"intensity_gco2_per_kwh\":null"));
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
}

TEST_F(StateStoreTest, FolderMustBePrivate)
{
    open().reset();
    using std::filesystem::perms;
    EXPECT_EQ(std::filesystem::status(run_.poller_folder()).permissions(), perms::owner_all);
    std::filesystem::permissions(run_.poller_folder(), perms::group_all,
                                 std::filesystem::perm_options::add);
    auto const store = open_store(run_, Access::write, at(0));
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, ExitCode::permission);
    EXPECT_THAT(store.error().message(), HasSubstr("chmod 700"));
}

TEST_F(StateStoreTest, AStopIsRecordedOnAFullDisk)
{
    if (!test::can_mount()) GTEST_SKIP() << "only root can mount a small disk";
    EXPECT_TRUE(test::in_own_mounts([&] {
        if (mount("none", folder_.path().c_str(), "tmpfs", 0, "size=512k") != 0) return false;
        auto const file = folder_ / "journal.jsonl";
        Journal const journal(file);
        bool const begun = journal.append({1, at(0), a, submit, {}}).has_value();
        journal.reserve_space();
        while (append_line(folder_ / "rest", std::string(4095, 'x'), false)) continue;
        plan::Action const cancel{plan::ActionType::cancel, {"7"}, {"w1"}, {}, "closed"};
        return begun && !write_file(folder_ / "more", "x") &&
               journal.append({2, at(1), a, cancel, {}}) && journal.read(0)->size() == 2;
    }));
}

TEST_F(StateStoreTest, LongJournalIsRotated)
{
    Journal const journal(folder_ / "journal.jsonl");
    ASSERT_TRUE(journal.append({1, at(0), a, submit, {}}));
    ASSERT_TRUE(journal.rotate(7, 1 << 20));
    EXPECT_EQ(journal.read(0)->size(), 1U);
    ASSERT_TRUE(journal.rotate(7, 10));
    EXPECT_EQ(journal.read(0)->size(), 0U);
    EXPECT_EQ(Journal(folder_ / "journal.7.jsonl").read(0)->at(0).action, submit);
}

// What the journal with these entries says about the job 7 with the intent i1, which its launcher
// got at 100 s.
bool was_stopped(std::filesystem::path const& file, std::vector<JournalEntry> const& entries)
{
    std::filesystem::remove(file);
    for (auto const& entry : entries) EXPECT_TRUE(Journal(file).append(entry));
    return Journal(file).has_stopped({{"7"}, {"i1"}, at(100)});
}

TEST_F(StateStoreTest, AnOwnStopIsKnownWhateverTheClocksSay)
{
    plan::Action const cancel{plan::ActionType::cancel, {"7"}, {"w1"}, {}, "closed"};
    plan::Outcome const seven{plan::Outcome::Status::done, {"7"}, {}};
    plan::Outcome const lost{plan::Outcome::Status::unknown, {}, "no answer"};
    auto other = submit;
    other.intent = {"i0"};
    auto const check = [&](std::vector<JournalEntry> const& entries) {
        return was_stopped(folder_ / "journal.jsonl", entries);
    };
    JournalEntry const submitted{1, at(100), a, submit, seven};
    EXPECT_TRUE(check({submitted, {2, at(90), a, cancel, {}}})) << "killed before the outcome";
    EXPECT_TRUE(check({submitted, {2, at(-9000), a, cancel, lost}})) << "the clock was set back";
    EXPECT_TRUE(check({{1, at(100), a, submit, {}}, {2, at(90), a, cancel, {}}}));
    EXPECT_TRUE(check({{2, at(110), a, cancel, {}}})) << "without the submission, times count";
    EXPECT_FALSE(check({{2, at(90), a, cancel, {}}}));
    EXPECT_FALSE(check({submitted}));
    EXPECT_FALSE(check({{1, at(500), a, other, seven}, {2, at(500), a, cancel, {}}, submitted}))
        << "of an earlier job with this number; the clock was ahead";
}

TEST_F(StateStoreTest, ReadAccessWritesNothing)
{
    {
        auto const store = open(Access::read);
        ASSERT_TRUE(
            store->set_window(a, {{}, at(1), {}}, {{at(1), "decision", "", {}}}, Durability::now));
        ASSERT_TRUE(store->record(a, {"R"}, samples(0, 1)));
        ASSERT_TRUE(store->save());
    }
    EXPECT_FALSE(std::filesystem::exists(run_.poller_folder()));
}

TEST_F(StateStoreTest, DamagedStateNamesARemedy)
{
    open().reset();
    auto const whole = content("state.json");
    std::vector<std::string> damaged{"{\"format\":1,\"lst_entry\":0}", "[]", "\xff",
                                     std::string(8, '\0')};
    for (std::size_t size = 0; size + 2 < whole.size(); size += 17)
        damaged.push_back(whole.substr(0, size));
    for (auto const& text : damaged) {
        restore("state.json", text);
        auto const store = open_store(run_, Access::write, at(0));
        ASSERT_FALSE(store) << text;
        EXPECT_THAT(store.error().message(), HasSubstr("finds running jobs again by their names"))
            << text;
    }
}

TEST_F(StateStoreTest, RemembersTheFolderWarningUntilItChanges)
{
    {
        auto const store = open();
        EXPECT_TRUE(store->set_folder_warning("others may write"));
        EXPECT_FALSE(store->set_folder_warning("others may write"));
        ASSERT_TRUE(store->save());
    }
    EXPECT_FALSE(open(Access::read)->set_folder_warning("others may write"));
    {
        auto const store = open();
        EXPECT_TRUE(store->set_folder_warning(""));
        ASSERT_TRUE(store->save());
    }
    EXPECT_THAT(read_file(folder_ / "poller/state.json").value(), Not(HasSubstr("folder_warning")));
}

}  // namespace
}  // namespace curtail::poll
