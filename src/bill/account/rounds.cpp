// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/core/text.hpp"
#include "bill/account/figures.hpp"
#include "bill/account/parts.hpp"
#include "bill/account/steps_by_time.hpp"
#include "protocol/site/notes.hpp"
#include "run/runlog/trainer_events.hpp"

namespace curtail::account {
namespace {

constexpr std::size_t steps_of_a_rounds_loss = 100;

// The merged intervals in which any site holds devices, in real time and in order.
std::vector<energy::Interval> busy_intervals(Timeline const& timeline)
{
    std::vector<energy::Interval> all;
    for (auto const& site : timeline.sites)
        for (auto const& s : site.held_real) all.push_back(s.when);
    std::sort(all.begin(), all.end(), [](auto const& a, auto const& b) { return a.from < b.from; });
    std::vector<energy::Interval> merged;
    for (auto const& i : all) {
        if (!merged.empty() && i.from <= merged.back().to)
            merged.back().to = std::max(merged.back().to, i.to);
        else merged.push_back(i);
    }
    return merged;
}

using Steps = std::span<StepMetrics const>;

Time begin_of(StepMetrics const& step)
{
    return step.time - std::chrono::round<Millis>(step.duration);
}

// A round begins with the previous commit, or, after a time without devices, when a site holds
// devices again.
Time start_of(Time previous, std::optional<Time> first_step,
              std::vector<energy::Interval> const& busy)
{
    if (!first_step) return previous;
    auto const ends_by = [](Time time, energy::Interval const& busy_one) {
        return time < busy_one.to;
    };
    auto const found = std::upper_bound(busy.begin(), busy.end(), *first_step, ends_by);
    if (found == busy.end() || *first_step < found->from) return previous;
    return std::max(previous, found->from);
}

// The times at which the sites logged their contributions. If a site logged one twice, the later
// time counts.
class ContributionTimes {
  public:
    explicit ContributionTimes(RunFiles const& files)
    {
        for (std::size_t s = 0; s < files.sites.size(); ++s)
            for (auto const& event : files.sites[s].events) {
                auto const logged = protocol::contributed_in(event.type, event.details);
                if (!logged) continue;
                auto& time = times_[{files.run.sites[s].site.value, logged->member.value,
                                     logged->seq.value}];
                time = std::max(time.value_or(event.time), event.time);
            }
    }
    // The last time at which a site logged one of the commit's included contributions.
    [[nodiscard]] std::optional<Time> last_of(CommitSummary const& commit) const
    {
        std::optional<Time> last;
        for (auto const& c : commit.contributions) {
            auto const found = times_.find({c.site.value, c.member, c.seq});
            if (c.included && found != times_.end()) last = std::max(last, found->second);
        }
        return last;
    }

  private:
    using Key = std::tuple<std::string, std::string, std::int64_t>;  // site, member, number
    std::map<Key, std::optional<Time>> times_;
};

// What the sites read before they went on from a model, by the round that would begin with it.
class PayloadReads {
  public:
    explicit PayloadReads(RunFiles const& files)
    {
        for (std::size_t s = 0; s < files.sites.size(); ++s)
            for (auto const& event : files.sites[s].events)
                if (auto const read = runlog::payloads_read_in(event))
                    reads_.emplace(read->round, std::pair(files.run.sites[s].site, *read));
    }
    void add_to(RoundAccount& round, std::int64_t next_round) const
    {
        auto const [first, last] = reads_.equal_range(next_round);
        for (auto entry = first; entry != last; ++entry) {
            auto const& [site, read] = entry->second;
            round.by_mpi = round.by_mpi.value_or(Bytes{}) + read.by_mpi;
            round.from_store = round.from_store.value_or(Bytes{}) + read.from_store;
            if (read.why_store.empty()) continue;
            round.note += (round.note.empty() ? "" : "; ") + site.value + " read " +
                          std::to_string(read.from_store.value) +
                          " bytes from the store and not by MPI: " + printable(read.why_store);
        }
    }

  private:
    std::multimap<std::int64_t, std::pair<SiteId, runlog::PayloadsRead>> reads_;
};

// The steps of each site in a round.
using StepsBySite = std::map<std::size_t, Steps>;

// Mean loss over the round's last steps.
std::optional<double> tail_loss(StepsBySite const& by_site)
{
    std::vector<StepMetrics> steps;
    for (auto const& [site, mine] : by_site)
        std::copy_if(mine.begin(), mine.end(), std::back_inserter(steps),
                     [](StepMetrics const& step) { return step.loss.has_value(); });
    if (steps.empty()) return std::nullopt;
    std::stable_sort(steps.begin(), steps.end(),
                     [](auto const& a, auto const& b) { return a.time < b.time; });
    auto const count = std::min(steps.size(), steps_of_a_rounds_loss);
    double sum = 0;
    for (std::size_t i = steps.size() - count; i < steps.size(); ++i) sum += *steps[i].loss;
    return sum / static_cast<double>(count);
}

// Which contributions the merge refused, and why.
std::string note_of(CommitSummary const& commit)
{
    std::string note;
    for (auto const& c : commit.contributions) {
        if (c.included) continue;
        note += (note.empty() ? "" : "; ") + ("contribution " + std::to_string(c.seq) + " of " +
                                              c.site.value + " was refused: " + c.refusal);
    }
    return note;
}

// Adds how long the site waited before its steps, trained, and waited after them.
void add_times(RoundPart& part, Steps steps, energy::Interval round)
{
    if (steps.empty()) return;
    part.before = std::max(0.0, seconds_between(round.from, begin_of(steps.front())));
    part.after = seconds_between(steps.back().time, round.to);
    double train = 0;
    for (auto const& step : steps) train += step.duration.count();
    part.train = train;
}

class RoundBuilder {
  public:
    RoundBuilder(RunFiles const& files, Timeline const& timeline)
        : files_(files),
          axis_(timeline.axis),
          per_step_(timeline.pace.batch_tokens),
          busy_(busy_intervals(timeline)),
          contributed_(files),
          reads_(files)
    {
        for (auto const& site : files.sites) steps_.emplace_back(site.metrics);
    }

    // The round that ended with a merge commit. `previous`: time of the last commit with a model.
    [[nodiscard]] RoundAccount build(CommitSummary const& commit, Time previous) const
    {
        RoundAccount round;
        round.number = commit.round - 1;
        auto parts = parts_of(commit);
        for (auto const& [site, part] : parts) {
            round.steps += part.steps;
            round.tokens += part.tokens;
        }
        StepsBySite steps;
        std::optional<Time> first_step;
        for (auto const& [site, part] : parts) {
            auto const mine = steps_[site].between(previous + Millis{1}, commit.time + Millis{1});
            if (!mine.empty())
                first_step = std::min(first_step.value_or(Time::max()), begin_of(mine.front()));
            steps[site] = mine;
        }
        energy::Interval const when{start_of(previous, first_step, busy_), commit.time};
        round.start_s = axis_.at(when.from);
        round.end_s = axis_.at(when.to);
        round.merged_s = round.end_s;
        round.duration = seconds_between(when.from, when.to);
        for (auto& [site, part] : parts) {
            part.weight = ratio(part.tokens, round.tokens);
            add_times(part, steps[site], when);
            round.parts.push_back(part);
        }
        auto const contributed = round.joint() ? contributed_.last_of(commit) : std::nullopt;
        if (contributed) round.merge = std::max(0.0, seconds_between(*contributed, commit.time));
        round.last_step = ratio(commit.tokens, per_step_);
        for (auto const& c : commit.contributions)
            if (counts(c) && c.norm > 0)
                round.delta_norm = std::max(round.delta_norm.value_or(0), c.norm);
        round.loss = tail_loss(steps);
        round.note = note_of(commit);
        reads_.add_to(round, commit.round);
        return round;
    }

    // The tokens that commits include of sites that the run file lacks.
    [[nodiscard]] std::map<SiteId, Tokens> other_sites() const
    {
        std::map<SiteId, Tokens> tokens;
        for (auto const& commit : files_.commits)
            for (auto const& c : commit.contributions)
                if (c.included && c.tokens != Tokens{} && !index_of(c.site))
                    tokens[c.site] += c.tokens;
        return tokens;
    }

  private:
    [[nodiscard]] std::optional<std::size_t> index_of(SiteId const& site) const
    {
        for (std::size_t s = 0; s < files_.run.sites.size(); ++s)
            if (files_.run.sites[s].site == site) return s;
        return std::nullopt;
    }

    [[nodiscard]] bool counts(Contribution const& c) const
    {
        return index_of(c.site) && c.included && c.tokens != Tokens{};
    }

    [[nodiscard]] std::map<std::size_t, RoundPart> parts_of(CommitSummary const& commit) const
    {
        std::map<std::size_t, RoundPart> parts;
        for (auto const& c : commit.contributions) {
            if (!counts(c)) continue;
            auto const site = *index_of(c.site);
            auto& part = parts[site];
            part.site = site;
            part.steps += c.steps;
            part.tokens += c.tokens;
        }
        return parts;
    }

    RunFiles const& files_;
    Axis const& axis_;
    Tokens per_step_;
    std::vector<energy::Interval> busy_;
    ContributionTimes contributed_;
    PayloadReads reads_;
    std::vector<StepsByTime> steps_;  // by site
};

MaybeSeconds median_of(std::vector<double> values)
{
    auto const spread = spread_of(std::move(values));
    return spread ? MaybeSeconds(spread->median) : std::nullopt;
}

std::optional<RoundSummary> summary_of(std::vector<RoundAccount> const& rounds)
{
    std::vector<double> duration, before, train, after, merge;
    auto const add = [](std::vector<double>& values, MaybeSeconds value) {
        if (value) values.push_back(*value);
    };
    for (auto const& round : rounds) {
        if (!round.joint()) continue;
        duration.push_back(round.duration);
        add(merge, round.merge);
        for (auto const& part : round.parts) {
            add(before, part.before);
            add(train, part.train);
            add(after, part.after);
        }
    }
    if (duration.empty() || train.empty()) return std::nullopt;
    return RoundSummary{duration.size(),  *median_of(duration), median_of(before),
                        median_of(train), median_of(after),     median_of(merge)};
}

}  // namespace

Work work_of(RunFiles const& files, Timeline const& timeline)
{
    RoundBuilder const builder(files, timeline);
    Work work;
    work.sites.resize(files.run.sites.size());
    std::optional<Time> previous;
    if (!files.commits.empty()) work.inherited = files.commits.front().tokens;
    for (auto const& commit : files.commits) {
        work.tokens = commit.tokens;
        if (commit.kind == CommitSummary::Kind::genesis) ++work.commits.genesis;
        if (commit.kind == CommitSummary::Kind::roster) ++work.commits.roster;
        if (commit.kind == CommitSummary::Kind::merge) {
            auto const& round =
                work.rounds.emplace_back(builder.build(commit, previous.value_or(commit.time)));
            ++(round.joint() ? work.commits.joint : work.commits.lone);
            for (auto const& part : round.parts) {
                auto& site = work.sites[part.site];
                site.tokens += part.tokens;
                ++(round.joint() ? site.joint_rounds : site.lone_rounds);
            }
        }
        if (commit.kind != CommitSummary::Kind::roster) previous = commit.time;
    }
    work.other_sites = builder.other_sites();
    work.summary = summary_of(work.rounds);
    return work;
}

}  // namespace curtail::account
