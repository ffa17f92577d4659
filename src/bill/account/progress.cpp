// SPDX-License-Identifier: Apache-2.0
#include "bill/account/progress.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace curtail::account {
namespace {

// Intervals of training time, in seconds before the end of the newest step.
struct Span {
    double from;  // the greater number
    double to;
};

// Returns how long before the end the last `speed_window` of training time began; `measured`
// becomes the training time since then.
double window_begin(std::vector<Span> spans, double& measured)
{
    std::sort(spans.begin(), spans.end(), [](Span a, Span b) { return a.to < b.to; });
    measured = 0;
    double reached = 0;
    for (auto const& span : spans) {
        double const from = std::max(reached, span.to);
        if (span.from <= from) continue;
        double const rest = speed_window.count() - measured;
        if (span.from - from >= rest) {
            measured += rest;
            return from + rest;
        }
        measured += span.from - from;
        reached = span.from;
    }
    return reached;
}

}  // namespace

std::optional<Speed> speed_of(std::vector<StepWork> const& work)
{
    if (work.empty()) return std::nullopt;
    auto const newest =
        std::max_element(work.begin(), work.end(),
                         [](StepWork const& a, StepWork const& b) { return a.end < b.end; });
    std::vector<Span> spans;
    for (auto const& w : work) {
        double const to = FractionalSeconds(newest->end - w.end).count();
        spans.push_back({to + w.duration.count(), to});
    }
    double measured = 0;
    double const begin = window_begin(spans, measured);
    if (measured <= 0) return std::nullopt;
    double tokens = 0;
    for (std::size_t i = 0; i < work.size(); ++i) {
        auto const [from, to] = spans[i];
        if (to >= begin || from <= to) continue;
        tokens += static_cast<double>(work[i].tokens) * (std::min(from, begin) - to) / (from - to);
    }
    return Speed{tokens / measured, FractionalSeconds(measured), newest->end};
}

double TokenProgress::share() const
{
    return target > Tokens{} ? std::min(1.0, ratio(done, target)) : 1;
}

std::optional<FractionalSeconds> TokenProgress::training_left() const
{
    if (done >= target) return FractionalSeconds{0};
    if (!speed || speed->tokens_per_s <= 0) return std::nullopt;
    return FractionalSeconds(static_cast<double>(target - done) / speed->tokens_per_s);
}

std::string training_text(FractionalSeconds duration)
{
    constexpr double day_s = 86'400;
    if (duration.count() >= 2 * day_s) return fmt::format("{:.1f} days", duration.count() / day_s);
    return format_duration(std::chrono::round<Millis>(duration));
}

void TrainerProgress::add(runlog::StepMetrics const& step, Tokens target)
{
    target_ = target;
    constexpr FractionalSeconds grain{1};  // bounds the number of entries
    auto const done = step.progress + step.tokens;
    auto const tokens = done_ ? std::max(Tokens{}, done - *done_) : step.tokens;
    done_ = done;
    if (recent_.empty() || recent_.back().duration >= grain) recent_.push_back({});
    auto& last = recent_.back();
    last.end = step.time;
    last.duration += step.duration;
    last.tokens += tokens;
    duration_ += step.duration;
    tokens_ += tokens;
    while (duration_ - recent_.front().duration >= speed_window) {
        duration_ -= recent_.front().duration;
        tokens_ = tokens_ - recent_.front().tokens;
        recent_.pop_front();
    }
}

TokenProgress TrainerProgress::now() const
{
    TokenProgress progress{target_, done_.value_or(Tokens{}), {}};
    if (duration_.count() > 0)
        progress.speed =
            Speed{static_cast<double>(tokens_) / duration_.count(), duration_, recent_.back().end};
    return progress;
}

}  // namespace curtail::account
