// SPDX-License-Identifier: Apache-2.0
// Compares a site's logs with the commits. The commits have the time of the store's clock, and the
// owner of a log cannot change them without a mark.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/core/text.hpp"
#include "bill/account/checks.hpp"
#include "bill/account/text.hpp"

namespace curtail::account {
namespace {

using energy::Bound;
using Chain = std::vector<CommitSummary>;

// The times of commits that a log contradicts, and by how much at most.
struct Differences {
    Contradictions commits{};
    Millis by{0};

    void add(Millis difference, Time commit)
    {
        if (difference <= usual_difference) return;
        commits.add(commit);
        by = std::max(by, difference);
    }
    void report(Doubts& doubts, SiteRecords const& r, std::size_t all, char const* title,
                char const* what) const
    {
        if (commits.count == 0) return;
        doubts.push_back({r.index, r.matters(by) ? Bound::uncertain : Bound::exact, title,
                          fmt::format("{}: {}, for {} of {} commits {}, by up to {:.1f} s. The "
                                      "clocks differ, or a log lacks lines or was changed.",
                                      r.name(), what, commits.count, all, span_text(commits.when),
                                      FractionalSeconds(by).count())});
    }
};

// How far a time lies from the nearest job of the site.
Millis distance_to_jobs(SiteRecords const& r, Time time)
{
    Millis least = Millis::max();
    for (auto const& job : r.timeline.jobs) {
        if (time >= job.begin && (!job.end || time <= *job.end)) return Millis{0};
        least = std::min(least, time < job.begin ? job.begin - time : time - *job.end);
    }
    return least;
}

// Returns whether the logs of the site's trainers reach a time, as far as anybody knows. Those of a
// job may be published later than its commits.
bool is_logged(SiteRecords const& r, Time time)
{
    if (!r.files.publication.is_remote) return true;
    Time newest = Time::min();
    for (auto const& job : r.timeline.jobs) newest = std::max(newest, job.last_sign);
    return time + usual_difference <= newest;
}

// A commit is written by a trainer, which runs in a job. curtail-store writes commits of forks.
void check_writers(Doubts& doubts, SiteRecords const& r, Chain const& commits)
{
    if (r.timeline.jobs.empty()) return;
    Differences found;
    for (auto const& commit : commits)
        if (commit.kind != CommitSummary::Kind::genesis && commit.writer == r.site.site &&
            is_logged(r, commit.time))
            found.add(distance_to_jobs(r, commit.time), commit.time);
    found.report(doubts, r, commits.size(), "Commits without a job",
                 "no job that events.jsonl shows ran when the site wrote commits");
}

// A trainer names a commit after the commit was made. Events before the first commit may be those
// of another run.
void check_named_commits(Doubts& doubts, SiteRecords const& r, Chain const& commits)
{
    Differences found;
    Contradictions later;
    std::int64_t greatest = 0;
    for (auto const& event : r.files.events) {
        auto const number = event.integer("commit");
        bool const is_of_another_run =
            commits.empty() || event.time + usual_difference < commits.front().time;
        if (!number || *number < 1 || is_of_another_run) continue;
        if (*number > std::ssize(commits)) {
            later.add(event.time);
            greatest = std::max(greatest, *number);
            continue;
        }
        auto const& commit = commits[static_cast<std::size_t>(*number - 1)];
        found.add(commit.time - event.time, commit.time);
    }
    found.report(doubts, r, commits.size(), "Events before their commits",
                 "events.jsonl names commits before they were made");
    if (later.count > 0)
        doubts.push_back(
            {r.index, Bound::exact, "Commits are missing",
             fmt::format("{}: {} events in events.jsonl, {}, name commits up to {}, and the newest "
                         "one in the store is {}. The store lacks commits, or the run went on "
                         "while this report was made: make it again.",
                         r.name(), later.count, span_text(later.when), greatest, commits.size())});
}

// curtail-store makes the first commit of a fork before any job of the fork begins.
void check_jobs_of_fork(Doubts& doubts, SiteRecords const& r, Time begin)
{
    Contradictions earlier;
    for (auto const& job : r.timeline.jobs)
        if (job.begin + usual_difference < begin)
            earlier.add({job.begin, std::min(job.end.value_or(r.run_end), r.run_end)});
    if (earlier.count == 0) return;
    doubts.push_back(
        {r.index, Bound::uncertain, "Jobs before the fork",
         fmt::format("{}: {} jobs in events.jsonl, {}, began before the run's first "
                     "commit, at {}. They are those of another run with the same "
                     "folder, and the bill has their energy.",
                     r.name(), earlier.count, span_text(earlier.when), format_time(begin))});
}

// A model has no tokens of a site that the site trains later. Where the metrics lack lines,
// unlogged_work() says so.
void check_tokens_in_time(Doubts& doubts, SiteRecords const& r, Chain const& commits)
{
    Tokens logged;
    for (auto const& step : r.files.metrics) logged += step.tokens;
    if (logged < r.in_model) return;
    auto const steps = r.steps.between(Time::min(), Time::max());
    Differences found;
    Tokens in_model;
    Tokens trained;
    auto step = steps.begin();
    for (auto const& commit : commits) {
        for (auto const& part : commit.contributions)
            if (part.included && part.site == r.site.site) in_model += part.tokens;
        while (step != steps.end() && trained < in_model) trained += (step++)->tokens;
        if (step != steps.begin()) found.add(std::prev(step)->time - commit.time, commit.time);
    }
    found.report(doubts, r, commits.size(), "Tokens before their steps",
                 "the model has tokens of the site before metrics.jsonl has their steps");
}

// The terms of the run have the sites that may take part, also those that never did.
void check_terms(Doubts& doubts, RunFiles const& files)
{
    if (!files.spec || files.commits.empty()) return;
    std::set<SiteId> in_commits;
    for (auto const& commit : files.commits) {
        in_commits.insert(commit.named_sites.begin(), commit.named_sites.end());
        for (auto const& part : commit.contributions) in_commits.insert(part.site);
    }
    for (auto const& site : files.spec->sites)
        if (files.run.find_site(site) == nullptr && !in_commits.contains(site))
            doubts.push_back(
                {std::nullopt, Bound::exact, "A site is not in the run file",
                 fmt::format("the newest commit, of {}, has {} as a site of the run, "
                             "and the run file does not list it. What it used is not "
                             "in the bill.",
                             format_time(files.commits.back().time), printable(site.value))});
}

}  // namespace

void check_commits(Doubts& doubts, SiteRecords const& r, RunFiles const& files)
{
    auto const& commits = files.commits;
    if (files.spec && files.spec->fork && !commits.empty())
        check_jobs_of_fork(doubts, r, commits.front().time);
    check_writers(doubts, r, commits);
    check_named_commits(doubts, r, commits);
    check_tokens_in_time(doubts, r, commits);
}

// Commits fix the logs of all sites that took part. Account::unlogged names those that the run file
// lacks and that have work in the model.
void check_sites(Doubts& doubts, RunFiles const& files)
{
    check_terms(doubts, files);
    std::map<SiteId, Contradictions> unlisted;
    for (auto const& commit : files.commits)
        for (auto const& site : commit.named_sites)
            if (files.run.find_site(site) == nullptr) unlisted[site].add(commit.time);
    for (auto const& commit : files.commits)
        for (auto const& part : commit.contributions)
            if (part.included && part.tokens > Tokens{}) unlisted.erase(part.site);
    for (auto const& [site, commits] : unlisted)
        doubts.push_back(
            {std::nullopt, Bound::at_least, "A site is not in the run file",
             fmt::format("{} commits, {}, name logs of {}, which the run file does "
                         "not list. Its energy is not in the bill.",
                         commits.count, span_text(commits.when), printable(site.value))});
}

}  // namespace curtail::account
