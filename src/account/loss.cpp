// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "account/account_of.hpp"
#include "account/curves.hpp"
#include "account/thin.hpp"

namespace curtail::account {
namespace {

constexpr std::size_t most_dots_of_a_site = 1500;

/// `row` has a loss.
CurvePoint point_of(StepMetrics const& row, double tokens_per_step, Axis const& axis)
{
    return {static_cast<double>(row.progress.value) / tokens_per_step, axis.at(row.time), *row.loss,
            std::exp(*row.loss)};
}

/// Shows the evaluation only if it is of this run, and says of which commit where it is not of the
/// newest model.
void add_held_out(RunFiles const& files, Account& account)
{
    if (!files.held_out) return;
    auto held = *files.held_out;
    auto const commit = std::find_if(files.commits.begin(), files.commits.end(),
                                     [&](CommitLine const& c) { return c.number == held.commit; });
    if (commit == files.commits.end() ||
        (held.trained_tokens && *held.trained_tokens != commit->tokens)) {
        auto const why =
            commit == files.commits.end()
                ? fmt::format("this run has no commit {}", held.commit)
                : fmt::format("it was trained on {} tokens there, and commit {} here on {}",
                              *held.trained_tokens, held.commit, commit->tokens);
        account.missing["held_out"] = "evaluation.json is of another run: " + why;
        account.notes.emplace_back(
            "Held-out loss",
            account.missing["held_out"] + ". It is not shown; evaluate the run again.");
        return;
    }
    for (auto const& c : files.commits)
        if (c.kind == CommitLine::Kind::merge && c.number > held.commit) held.newer = c.number;
    if (held.newer)
        account.notes.emplace_back(
            "Held-out loss",
            fmt::format(
                "It is of commit {}; the model is at commit {} by now. Evaluate the run again.",
                held.commit, *held.newer));
    account.held_out = held;
}

}  // namespace

void fill_loss(RunFiles const& files, RunStory const& story, Account& account)
{
    add_held_out(files, account);
    auto const per_step = files.run.training.batch_tokens;
    std::vector<CurvePoint> all;
    double seconds = 0;
    std::int64_t steps = 0;
    LossAccount loss;
    for (std::size_t s = 0; s < files.sites.size(); ++s) {
        std::vector<CurvePoint> mine;
        for (auto const& row : files.sites[s].metrics) {
            if (row.loss) mine.push_back(point_of(row, static_cast<double>(per_step), story.axis));
            seconds += row.duration.count();
            ++steps;
        }
        loss.raw.push_back(raw_curve(files.run.sites[s].site.value, mine, most_dots_of_a_site));
        all.insert(all.end(), mine.begin(), mine.end());
    }
    if (all.empty()) return;
    account.step = seconds / static_cast<double>(steps);
    std::stable_sort(all.begin(), all.end(),
                     [](CurvePoint const& a, CurvePoint const& b) { return a.step < b.step; });
    auto const count = static_cast<double>(all.size());
    double const constant = std::clamp(std::round(count / 50), 5.0, 100.0);
    loss.tokens_per_step = per_step;
    loss.smoothing = fmt::format("exponential, constant {:.0f} optimizer steps ({:.3g} M tokens)",
                                 constant, constant * static_cast<double>(per_step) * 1e-6);
    loss.tail_steps = static_cast<std::int64_t>(std::clamp(std::round(count / 10), 20.0, 1000.0));
    auto curve = smoothed_curve("run", "this run", all, constant, most_points_of_a_line);
    auto const tail = tail_of(all, static_cast<double>(loss.tail_steps));
    double const best = *std::min_element(curve.perplexity.begin(), curve.perplexity.end());
    loss.finals.push_back({"run", "this run", best, tail.mean, tail.error,
                           account.last_step_s.value_or(0), static_cast<std::int64_t>(all.size())});
    loss.curves.push_back(std::move(curve));
    account.loss = std::move(loss);
}

}  // namespace curtail::account
