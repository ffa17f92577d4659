// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>

#include "account/account_of.hpp"

namespace curtail::account {
namespace {

constexpr std::size_t rows_of_a_rounds_loss = 100;

/// Stretches in which any site holds devices, real time, in order and apart.
std::vector<energy::Interval> busy_stretches(RunStory const& story)
{
    std::vector<energy::Interval> all;
    for (auto const& site : story.sites)
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

/// Rows of a site whose step ended in (from, to].
std::vector<StepMetrics> rows_between(SiteFiles const& site, Time from, Time to)
{
    std::vector<StepMetrics> rows;
    for (auto const& row : site.metrics)
        if (row.time > from && row.time <= to) rows.push_back(row);
    return rows;
}

Time begin_of(StepMetrics const& row)
{
    return row.time - std::chrono::round<Millis>(FractionalSeconds(row.duration.count()));
}

/// A round begins at the commit before, or later: when devices came back after a rest.
Time start_of(Time previous, std::optional<Time> first_step,
              std::vector<energy::Interval> const& busy)
{
    if (!first_step) return previous;
    for (auto const& stretch : busy)
        if (stretch.from <= *first_step && *first_step < stretch.to)
            return std::max(previous, stretch.from);
    return previous;
}

/// The last moment at which an included contribution was announced by its site.
std::optional<Time> last_contributed(CommitLine const& commit, RunFiles const& files)
{
    std::optional<Time> last;
    for (auto const& c : commit.contributions)
        for (std::size_t s = 0; s < files.sites.size(); ++s) {
            if (files.run.sites[s].site != c.site || !c.included) continue;
            for (auto const& event : files.sites[s].events) {
                auto const* member = event.details.find("member");
                auto const* seq = event.details.find("seq");
                if (event.type != "contributed" || member == nullptr || seq == nullptr) continue;
                if (*member == json::Value(c.member) && *seq == json::Value(c.seq) &&
                    (!last || event.time > *last))
                    last = event.time;
            }
        }
    return last;
}

class RoundMaker {
  public:
    RoundMaker(RunFiles const& files, RunStory const& story)
        : files_(files), story_(story), busy_(busy_stretches(story))
    {
    }

    RoundAccount make(CommitLine const& commit, Time previous)
    {
        std::map<std::size_t, RoundPart> parts;
        RoundAccount round;
        round.number = commit.round - 1;
        for (auto const& c : commit.contributions) {
            auto const site = index_of(c.site);
            if (!site || !c.included || c.tokens == 0) continue;
            auto& part = parts[*site];
            part.site = *site;
            part.steps += c.steps;
            part.tokens += c.tokens;
            round.steps += c.steps;
            round.tokens += c.tokens;
            if (c.norm > 0) round.delta_norm = std::max(round.delta_norm.value_or(0), c.norm);
        }
        std::map<std::size_t, std::vector<StepMetrics>> rows;
        std::optional<Time> first;
        for (auto const& [site, part] : parts) {
            rows[site] = rows_between(files_.sites[site], previous, commit.time);
            if (!rows[site].empty() && (!first || begin_of(rows[site].front()) < *first))
                first = begin_of(rows[site].front());
        }
        Time const start = start_of(previous, first, busy_);
        round.start_s = story_.axis.at(start);
        round.end_s = story_.axis.at(commit.time);
        round.merged_s = round.end_s;
        round.duration = seconds_between(start, commit.time);
        round.last_step = static_cast<double>(commit.tokens) /
                          static_cast<double>(files_.run.training.batch_tokens);
        for (auto& [site, part] : parts) {
            part.weight = static_cast<double>(part.tokens) / static_cast<double>(round.tokens);
            add_times(part, rows[site], start, commit.time);
            round.parts.push_back(part);
        }
        auto const contributed = round.joint() ? last_contributed(commit, files_) : std::nullopt;
        if (contributed) round.merge = std::max(0.0, seconds_between(*contributed, commit.time));
        round.loss = tail_loss(rows);
        round.note = note_of(commit);
        return round;
    }

  private:
    std::optional<std::size_t> index_of(SiteId const& site) const
    {
        for (std::size_t s = 0; s < files_.run.sites.size(); ++s)
            if (files_.run.sites[s].site == site) return s;
        return std::nullopt;
    }

    static void add_times(RoundPart& part, std::vector<StepMetrics> const& rows, Time start,
                          Time end)
    {
        if (rows.empty()) return;
        part.before = std::max(0.0, seconds_between(start, begin_of(rows.front())));
        part.after = seconds_between(rows.back().time, end);
        double train = 0;
        for (auto const& row : rows) train += row.duration.count();
        part.train = train;
    }

    static std::optional<double> tail_loss(
        std::map<std::size_t, std::vector<StepMetrics>> const& by_site)
    {
        std::vector<StepMetrics> rows;
        for (auto const& [site, mine] : by_site)
            std::copy_if(mine.begin(), mine.end(), std::back_inserter(rows),
                         [](StepMetrics const& row) { return row.loss.has_value(); });
        if (rows.empty()) return std::nullopt;
        std::stable_sort(rows.begin(), rows.end(),
                         [](auto const& a, auto const& b) { return a.time < b.time; });
        auto const count = std::min(rows.size(), rows_of_a_rounds_loss);
        double sum = 0;
        for (std::size_t i = rows.size() - count; i < rows.size(); ++i) sum += *rows[i].loss;
        return sum / static_cast<double>(count);
    }

    static std::string note_of(CommitLine const& commit)
    {
        std::string note;
        for (auto const& c : commit.contributions) {
            if (c.included) continue;
            note += (note.empty() ? "" : "; ") + ("contribution " + std::to_string(c.seq) + " of " +
                                                  c.site.value + " was refused: " + c.refusal);
        }
        return note;
    }

    RunFiles const& files_;
    RunStory const& story_;
    std::vector<energy::Interval> busy_;
};

std::optional<RoundSummary> summary_of(std::vector<RoundAccount> const& rounds)
{
    std::vector<double> duration, before, train, after, merge;
    for (auto const& round : rounds) {
        if (!round.joint()) continue;
        duration.push_back(round.duration);
        if (round.merge) merge.push_back(*round.merge);
        for (auto const& part : round.parts) {
            if (part.before) before.push_back(*part.before);
            if (part.train) train.push_back(*part.train);
            if (part.after) after.push_back(*part.after);
        }
    }
    auto const median = [](std::vector<double> const& values) {
        auto const spread = spread_of(values);
        return spread ? MaybeSeconds(spread->median) : std::nullopt;
    };
    if (duration.empty() || train.empty()) return std::nullopt;
    return RoundSummary{duration.size(), *median(duration), median(before),
                        median(train),   median(after),     median(merge)};
}

}  // namespace

void fill_rounds(RunFiles const& files, RunStory const& story, Account& account)
{
    RoundMaker maker(files, story);
    std::optional<Time> previous;
    for (auto const& commit : files.commits) {
        account.tokens = commit.tokens;
        if (commit.kind == CommitLine::Kind::genesis) ++account.commits.genesis;
        if (commit.kind == CommitLine::Kind::roster) ++account.commits.roster;
        if (commit.kind == CommitLine::Kind::merge) {
            auto round = maker.make(commit, previous.value_or(commit.time));
            ++(round.joint() ? account.commits.joint : account.commits.lone);
            for (auto const& part : round.parts) {
                account.sites[part.site].tokens += part.tokens;
                ++(round.joint() ? account.sites[part.site].joint_rounds
                                 : account.sites[part.site].lone_rounds);
            }
            account.rounds.push_back(std::move(round));
        }
        if (commit.kind != CommitLine::Kind::roster) previous = commit.time;
    }
    account.round_summary = summary_of(account.rounds);
}

}  // namespace curtail::account
