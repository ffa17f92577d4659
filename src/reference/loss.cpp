// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>

#include "account/curves.hpp"
#include "reference/parts.hpp"

namespace curtail::reference {
namespace {

constexpr double smoothing_steps = 100;
constexpr double tail_steps = 1000;
constexpr std::int64_t bucket_steps = 500;
constexpr std::size_t fewest_steps_of_a_bucket = 20;
constexpr std::size_t most_points = 1500;

std::vector<account::CurvePoint> points_of(Logs const& logs, std::vector<LoggedStep> const& steps)
{
    std::vector<account::CurvePoint> out;
    out.reserve(steps.size());
    for (auto const& s : steps)
        out.push_back({static_cast<double>(s.step), logs.seconds(s.time), s.loss, s.perplexity});
    return out;
}

std::map<std::int64_t, account::MeanError> buckets_of(
    std::vector<account::CurvePoint> const& points)
{
    std::map<std::int64_t, std::vector<double>> losses;
    for (auto const& p : points)
        losses[static_cast<std::int64_t>(p.step) / bucket_steps].push_back(p.loss);
    std::map<std::int64_t, account::MeanError> out;
    for (auto const& [bucket, values] : losses)
        if (values.size() > fewest_steps_of_a_bucket) out[bucket] = account::mean_error(values);
    return out;
}

account::Difference difference_of(std::string id, std::vector<account::CurvePoint> const& points,
                                  std::map<std::int64_t, account::MeanError> const& base)
{
    account::Difference out{std::move(id), {}, {}, {}};
    for (auto const& [bucket, mine] : buckets_of(points)) {
        auto const theirs = base.find(bucket);
        if (bucket == 0 || theirs == base.end()) continue;
        out.step.push_back((static_cast<double>(bucket) + 0.5) * static_cast<double>(bucket_steps));
        out.difference.push_back(mine.mean - theirs->second.mean);
        out.error.push_back(std::hypot(mine.error.value(), theirs->second.error.value()));
    }
    return out;
}

// The points of all clients, in order of step.
std::vector<account::CurvePoint> all_points(Logs const& logs)
{
    std::vector<account::CurvePoint> all;
    for (auto const& steps : logs.steps) {
        auto const mine = points_of(logs, steps);
        all.insert(all.end(), mine.begin(), mine.end());
    }
    std::stable_sort(all.begin(), all.end(),
                     [](auto const& a, auto const& b) { return a.step < b.step; });
    return all;
}

// A curve of the loss charts, and the loss it ends with.
struct Outcome {
    account::Curve curve;
    account::FinalLoss final;
};

Outcome outcome_of(std::string const& id, std::string const& label,
                   std::vector<account::CurvePoint> const& points, double best_perplexity,
                   double wall_s, std::int64_t steps)
{
    auto const tail = account::tail_of(points, tail_steps);
    return {account::smoothed_curve(id, label, points, smoothing_steps, most_points),
            {id, label, best_perplexity, tail.mean, tail.error, wall_s, steps}};
}

}  // namespace

account::LossAccount loss_of(Logs const& logs, double last_step_s, Tokens tokens)
{
    account::LossAccount loss;
    loss.tokens_per_step = step_tokens;
    loss.smoothing = "exponential, constant 100 optimizer steps (52.4 M tokens)";
    loss.tail_steps = static_cast<std::int64_t>(tail_steps);
    for (std::size_t c = 0; c < logs.steps.size(); ++c)
        loss.raw.push_back(
            account::raw_curve(Logs::clients[c], points_of(logs, logs.steps[c]), most_points));
    auto const all = all_points(logs);
    auto const perplexity = perplexity_of(logs);
    auto const one = points_of(logs, logs.one_site);
    auto const two = points_of(logs, logs.two_sites);
    for (auto const& outcome :
         {outcome_of("run", "this run", all, perplexity.run, last_step_s, tokens / step_tokens),
          outcome_of("one", "one site, always on", one, perplexity.one_site, one.back().t,
                     logs.one_site.back().step + 1),
          outcome_of("two", "two sites, always on", two, perplexity.two_sites, two.back().t,
                     logs.two_sites.back().step + 1)}) {
        loss.curves.push_back(outcome.curve);
        loss.finals.push_back(outcome.final);
    }
    auto const base = buckets_of(one);
    loss.difference_to = "one";
    loss.difference_bucket = bucket_steps;
    loss.differences = {difference_of("run", all, base), difference_of("two", two, base)};
    return loss;
}

}  // namespace curtail::reference
