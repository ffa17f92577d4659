// SPDX-License-Identifier: Apache-2.0
// What is shown about the sites: windows, jobs, permissions and holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/core/files.hpp"
#include "bill/status/documents.hpp"
#include "bill/status/text.hpp"
#include "run/journal/publisher.hpp"
#include "run/runlog/event.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::status {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

SitesView read_local(config::Run const& run)
{
    return read_sites(run, read_logs(run, journal::LogReader(run, nullptr)));
}

config::Run run_in(std::filesystem::path const& folder)
{
    config::Run run;
    run.run = {"small"};
    run.folder = folder;
    run.sites.resize(2);
    run.sites[0].site = {"A"};
    run.sites[1].site = {"B"};
    return run;
}

TEST(Sites, WhatCameByMpiIsShown)
{
    curtail::test::TemporaryFolder const folder;
    Overview overview;
    overview.now = *parse_time("2026-11-21T10:01:00Z");
    auto const run = run_in(folder.path());
    ASSERT_TRUE(make_folder(run.site_folder({"A"})));
    runlog::EventLog const events(run.site_folder({"A"}) / "events.jsonl");
    for (auto const& read : {runlog::PayloadsRead{2, {2'000'000}, {500'000}, "it has left"},
                             runlog::PayloadsRead{3, {10'500'000}, {}, ""}})
        ASSERT_TRUE(events.append(runlog::to_event(read, overview.now, "A")));
    overview.sites = read_local(run);
    EXPECT_EQ(overview.sites.sites[0].payloads,
              (runlog::PayloadsRead{3, {12'500'000}, {500'000}, ""}));
    EXPECT_EQ(overview.sites.sites[1].payloads, std::nullopt);
    EXPECT_THAT(overview_text(overview),
                HasSubstr("read 12.50 MB by MPI, 0.5000 MB from the store\n"));
    auto const document = json::to_string(overview_json(overview));
    EXPECT_THAT(document, HasSubstr(R"("payloads_read":{"round":3,"mpi_bytes":12500000,)"));
    EXPECT_THAT(document, HasSubstr(R"("payloads_read":null)"));
}

TEST(Sites, TheLastStateOfPollerAndTrainerIsShown)
{
    curtail::test::TemporaryFolder const folder;
    auto const run = run_in(folder.path());
    ASSERT_TRUE(make_folder(run.poller_folder()));
    ASSERT_TRUE(make_folder(run.site_folder({"A"})));
    ASSERT_TRUE(write_file(run.poller_folder() / "state.json",
                           R"({"format":1,"sites":[{"site":"A","window":{"phase":"closing",
        "closing_since":"2026-01-11T19:05:00Z"},"evaluated_until":"2026-01-11T19:06:00Z",
        "jobs":{"jobs":[{"id":"12","running_since":"2026-11-21T10:00:00Z",
        "asked_since":"2026-11-21T10:01:00Z"},{"id":"13","running_since":null}],
        "failures":2,"retry_at":"2026-11-21T10:05:00Z","failure":"no \u001bnode"}},
        {"site":"unknown"},7]})"));
    runlog::EventLog const events(run.site_folder({"A"}) / "events.jsonl");
    ASSERT_TRUE(events.append(
        {*parse_time("2026-11-21T10:00:01Z"), "state", "A", {{"state", "starting"}}}));
    ASSERT_TRUE(events.append(
        {*parse_time("2026-11-21T10:00:05Z"), "state", "A", {{"state", "training"}}}));
    ASSERT_TRUE(
        events.append({*parse_time("2026-11-21T10:00:06Z"), "merged", "A", {{"round", 3}}}));

    auto const view = read_local(run);
    ASSERT_EQ(view.sites.size(), 2U);
    auto const& a = view.sites[0];
    EXPECT_EQ(a.window, "closing");
    EXPECT_EQ(a.jobs,
              (std::vector<runlog::PollerJob>{
                  {"12", parse_time("2026-11-21T10:00:00Z").value(), true}, {"13", {}, false}}));
    EXPECT_EQ(a.failures, 2);
    EXPECT_EQ(a.failure, "no \\x1bnode");
    EXPECT_EQ(a.trainer, "training");
    EXPECT_EQ(a.trainer_since, parse_time("2026-11-21T10:00:05Z").value());
    EXPECT_EQ(view.sites[1].window, "");
    EXPECT_TRUE(view.notes.empty());

    Overview const overview{run.run, "file:///x", *parse_time("2026-11-21T10:02:00Z"), {}, view};
    auto const text = overview_text(overview);
    EXPECT_THAT(text, HasSubstr("job 12 running for 2m00s, asked to stop; job 13 queued"));
    EXPECT_THAT(text, HasSubstr("; trainer training for 1m55s; next attempt in 3m00s\n"));
    EXPECT_THAT(text, HasSubstr("\n                 before this job, 2 jobs in a row failed; the "
                                "poller holds the site after 6; the last problem: no \\x1bnode\n"));
    EXPECT_THAT(text, HasSubstr("has not started"));
}

TEST(Sites, TroubleOfAPublisherIsANote)
{
    curtail::test::TemporaryFolder const folder;
    auto const run = run_in(folder.path());
    ASSERT_TRUE(make_folder(run.site_folder({"A"})));
    ASSERT_TRUE(write_file(journal::trouble_file(run, {"A"}, journal::Stream::metrics),
                           "the store is \x1b full"));
    EXPECT_THAT(read_local(run).notes, testing::Contains("not published: the store is \\x1b full"));
}

TEST(Sites, PublicationOfASiteElsewhereIsShown)
{
    SiteView site;
    site.site = {"A"};
    site.published_until = parse_time("2026-11-21T10:00:00Z").value();
    Overview const overview{
        {"small"}, "file:///x", *parse_time("2026-11-21T10:00:34Z"), {}, {{site}, {}}};
    EXPECT_THAT(overview_text(overview), HasSubstr("logs published up to 34.0 s ago"));
}

TEST(Sites, ATrainerThatEndedIsShownWithTheTimeSinceThen)
{
    SiteView site;
    site.site = {"A"};
    site.trainer = "ended";
    site.trainer_since = parse_time("2026-11-21T10:00:00Z").value();
    Overview const overview{
        {"small"}, "file:///x", *parse_time("2026-11-21T10:02:17Z"), {}, {{site}, {}}};
    EXPECT_THAT(overview_text(overview), HasSubstr("trainer ended 2m17s ago"));
}

// Site A at 10:00:00, whose poller polled 12 s before and permitted training for 5 minutes.
SiteView served_site()
{
    SiteView site;
    site.site = {"A"};
    site.window = "open";
    site.polled = *parse_time("2026-11-21T09:59:48Z");
    site.evaluated_until = *parse_time("2026-11-21T09:59:48Z");
    site.permission = permission::Permission{{"small"},
                                             {"A"},
                                             7,
                                             *parse_time("2026-11-21T09:59:48Z"),
                                             Seconds{312},
                                             *parse_time("2026-11-21T10:05:00Z"),
                                             "the window is open"};
    return site;
}
std::string text_of(SiteView const& site)
{
    Overview overview{
        {"small"}, "file:///x", *parse_time("2026-11-21T10:00:00Z"), {}, {{site}, {}}};
    overview.energy.emplace();
    overview.energy->sites.push_back(
        {{}, SamplePoint{*parse_time("2026-11-21T09:55:00Z"), GramsPerKwh{41}}});
    return overview_text(overview);
}

TEST(Sites, AgesOfPollerSignalAndPermissionAreShown)
{
    EXPECT_THAT(text_of(served_site()),
                HasSubstr("polled 12.0 s ago; signal 4m48s old at that poll; permission for 5m00s, "
                          "issued 12.0 s ago"));
}

TEST(Sites, APermissionThatHasEndedIsShown)
{
    auto site = served_site();
    site.permission->until = *parse_time("2026-11-21T09:58:00Z");
    EXPECT_THAT(text_of(site), HasSubstr("permission ended 2m00s ago"));
    site.permission->issued = *parse_time("2026-11-21T11:00:00Z");
    site.permission->until = *parse_time("2026-11-21T11:05:00Z");
    EXPECT_THAT(text_of(site), HasSubstr("no usable permission: it was issued in the future "
                                         "(2026-11-21T11:00:00Z); check the clocks"));
    site.permission->issued = *parse_time("2026-11-21T09:50:00Z");
    site.permission->lifetime = Seconds{0};
    site.permission->why = "the window is closed";
    EXPECT_THAT(text_of(site), HasSubstr("no permission ('the window is closed')"));
}

TEST(Sites, HoldsOfAPersonAndOfThePollerAreShown)
{
    auto site = served_site();
    site.hold = "6 jobs failed in a row";
    EXPECT_THAT(text_of(site), HasSubstr("; held: 6 jobs failed in a row"));
    site.decision = permission::Hold{{"small"}, {"A"}, 1, true, "maintenance", {}, "anna@login1"};
    EXPECT_THAT(text_of(site), HasSubstr("; paused by 'anna@login1': 'maintenance'"));
}

// Site A, whose last two jobs failed.
SiteView failing_site()
{
    auto site = served_site();
    site.failures = 2;
    site.failures_before_hold = 6;
    site.failure = "job 8 failed (FAILED, exit code 3)";
    return site;
}

TEST(Sites, EarlierFailuresAreNotAttributedToTheJobThatTrains)
{
    auto site = failing_site();
    site.jobs = {{"9", *parse_time("2026-11-21T09:59:00Z"), false}};
    site.trainer = "training";
    EXPECT_THAT(text_of(site), HasSubstr("job 9 running for 1m00s; trainer training\n"));
    EXPECT_THAT(text_of(site),
                HasSubstr("\n                 before this job, 2 jobs in a row failed; the poller "
                          "holds the site after 6; the last problem: job 8 failed"));
    site.failures = 1;
    EXPECT_THAT(text_of(site), HasSubstr("before this job, 1 job failed; the poller holds"));
}

TEST(Sites, AWindowThatWaitsForTheNextAttemptShowsWhy)
{
    auto site = failing_site();
    site.retry_at = *parse_time("2026-11-21T10:00:40Z");
    EXPECT_THAT(text_of(site), HasSubstr("window open; next attempt in 40.0 s\n"));
    EXPECT_THAT(text_of(site),
                HasSubstr("\n                 2 jobs in a row failed; the poller holds the site "
                          "after 6; the last problem: job 8 failed (FAILED, exit code 3)\n"));
    site.failures = 0;  // a setback, such as a preemption
    EXPECT_THAT(text_of(site), HasSubstr("\n                 the last problem: job 8 failed"));
    site.retry_at = *parse_time("2026-11-21T09:59:59Z");
    EXPECT_THAT(text_of(site), Not(HasSubstr("the last problem"))) << "the pause is over";
}

TEST(Sites, AHeldSiteMakesNoNextAttempt)
{
    auto site = failing_site();
    site.retry_at = *parse_time("2026-11-21T10:00:40Z");
    site.hold = "job 7 was cancelled by a person or an administrator";
    EXPECT_THAT(text_of(site), Not(HasSubstr("next attempt")));
    site.hold.clear();
    site.decision = permission::Hold{{"small"}, {"A"}, 1, true, "maintenance", {}, "anna@login1"};
    EXPECT_THAT(text_of(site), Not(HasSubstr("next attempt")));
}

TEST(Sites, AHoldAfterFailuresNamesThemOnce)
{
    auto site = failing_site();
    site.failures = 6;
    site.hold = "6 jobs failed in a row; the last: job 8 failed (FAILED, exit code 3)";
    EXPECT_THAT(text_of(site), HasSubstr("; held: 6 jobs failed in a row; the last: job 8 failed"));
    EXPECT_THAT(text_of(site), Not(HasSubstr("the last problem")));
    site.failures = 2;
    site.hold = "job 7 was cancelled by a person or an administrator";
    EXPECT_THAT(text_of(site), HasSubstr("2 jobs in a row failed; the poller holds"));
}

TEST(Sites, AnUnreachableStoreIsNotARunThatHasNotStarted)
{
    Overview overview{{"small"}, "file:///x", *parse_time("2026-11-21T10:02:17Z"), {}, {}};
    EXPECT_THAT(overview_text(overview), HasSubstr("has not started"));
    EXPECT_EQ(*overview_json(overview).find("store_error"), json::Value());
    overview.store_error = Error{ExitCode::unavailable, "store file:///x", "no such folder", ""};
    EXPECT_THAT(overview_text(overview), Not(HasSubstr("has not started")));
    EXPECT_THAT(overview_text(overview),
                HasSubstr("          cannot be shown: store file:///x: no such folder\n"));
    EXPECT_EQ(*overview_json(overview).find("store_error"),
              json::Value("store file:///x: no such folder"));
}

TEST(Sites, AMissingOrDamagedFileIsANoteNotAnError)
{
    curtail::test::TemporaryFolder const folder;
    auto const run = run_in(folder.path());
    EXPECT_THAT(read_local(run).notes, ElementsAre("no poller has run for this run yet"));
    ASSERT_TRUE(make_folder(run.poller_folder()));
    ASSERT_TRUE(write_file(run.poller_folder() / "state.json", "{\"sites\": ["));
    auto const view = read_local(run);
    EXPECT_THAT(view.notes, ElementsAre(HasSubstr("state.json")));
    EXPECT_EQ(view.sites.size(), 2U);
    for (auto const* odd :
         {"[]", "7", "{\"sites\":{}}", "{\"sites\":[{\"site\":\"A\",\"window\":3,\"jobs\":[]}]}"}) {
        ASSERT_TRUE(write_file(run.poller_folder() / "state.json", odd));
        EXPECT_EQ(read_local(run).sites[0].window, "") << odd;
    }
}

}  // namespace
}  // namespace curtail::status
