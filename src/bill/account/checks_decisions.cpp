// SPDX-License-Identifier: Apache-2.0
// Compares the decisions of a poller about its window with the samples. The poller logs both: each
// sample with which it evaluates the window, and each change of the window's phase. Between two
// decisions, the samples must fit the phase (run/windows/detector.hpp).
#include <fmt/format.h>

#include <algorithm>

#include "bill/account/checks.hpp"
#include "bill/account/signal.hpp"
#include "run/runlog/configuration.hpp"
#include "run/runlog/poller_events.hpp"

namespace curtail::account {
namespace {

using energy::Bound;
using windows::Phase;

// When the poller of a site received the samples of its region. Null if no sample says so.
using Receipts = std::map<Time, Time>;

Receipts const* receipts_of(RunFiles const& files, std::size_t index, RegionId const& region)
{
    if (index >= files.wrong_samples.receipts.size() || files.trace_from_file) return nullptr;
    auto const found = files.wrong_samples.receipts[index].find(region);
    return found != files.wrong_samples.receipts[index].end() ? &found->second : nullptr;
}

// A poller decides with the newest sample that it has received.
class KnownSamples {
  public:
    KnownSamples(RegionSeries const& series, Receipts const* received)
        : series_(series), received_(received)
    {
    }
    // Whether a decision of `change`, logged at `logged`, can have had its intensity. The provider
    // may have had no value for a sample whose value this poller received later, or never.
    [[nodiscard]] bool explain(windows::PhaseChange const& change, Time logged,
                               Millis max_age) const
    {
        auto point = std::ranges::upper_bound(series_.points, change.time, {}, &SamplePoint::time);
        while (point != series_.points.begin()) {
            --point;
            if (point->time + max_age < change.time) break;
            bool const is_stale = point->time + max_age == change.time;
            if (!change.intensity && (is_stale || !was_known(*point, logged))) return true;
            bool const is_equal = point->intensity == change.intensity;
            if (!was_known(*point, logged)) {
                if (is_equal && !received_->contains(point->time)) return true;
                continue;
            }
            // Unknown: the provider had no value, or records contradict each other.
            return !point->intensity || is_equal;
        }
        return !change.intensity;
    }

  private:
    // False if this poller received the sample later, or if its log lacks it.
    [[nodiscard]] bool was_known(SamplePoint const& point, Time logged) const
    {
        if (received_ == nullptr || !point.intensity) return true;
        auto const found = received_->find(point.time);
        return found != received_->end() && found->second <= logged;
    }

    RegionSeries const& series_;
    Receipts const* received_;
};

// A decision, as the poller logged it.
struct LoggedDecision {
    windows::PhaseChange change;
    Time logged;  // a real time
};

std::vector<LoggedDecision> decisions_of(std::vector<Event> const& events)
{
    std::vector<LoggedDecision> decisions;
    for (auto const& event : events)
        if (auto change = runlog::phase_change_in(event))
            decisions.push_back({std::move(*change), event.time});
    return decisions;
}

// Returns the decisions whose intensity is not that of the newest sample.
Contradictions unexplained(std::vector<LoggedDecision> const& decisions, SiteRecords const& r,
                           RunFiles const& files)
{
    Contradictions wrong;
    for (auto const& [change, logged] : decisions) {
        auto const& settings = r.timeline.settings.at(logged);
        auto const* series = find_region(files.trace, settings.region);
        if (series == nullptr || series->points.empty()) continue;
        // Of a run in progress, the samples may be published later than the decisions.
        auto const tolerance =
            r.files.publication.is_remote ? Millis{0} : Millis(settings.signal_max_age);
        if (change.time > series->points.back().time + tolerance) continue;
        KnownSamples const known(*series, receipts_of(files, r.index, settings.region));
        if (!known.explain(change, logged, settings.signal_max_age)) wrong.add(change.time);
    }
    return wrong;
}

// The phases of a window over time, on the signal's clock: each from its time on.
using Phases = std::vector<std::pair<Time, Phase>>;

// Follows the decisions from a closed window on.
class Follower {
  public:
    // `thresholds`: all that were ever in force.
    explicit Follower(std::vector<windows::Thresholds> const& thresholds) : thresholds_(thresholds)
    {
    }
    void take(windows::PhaseChange const& change)
    {
        auto const leads_to = [&](windows::Thresholds const& thresholds) {
            return windows::advance(state_, change.intensity, change.time, thresholds)
                       .state.phase == change.to;
        };
        if (change.from != state_.phase || std::ranges::none_of(thresholds_, leads_to))
            wrong_.add({phases_.size() > 1 ? phases_.back().first : change.time, change.time});
        bool const closes = change.to == Phase::closing;
        set({change.to, closes ? std::optional(change.time) : std::nullopt}, change.time);
    }
    // The poller has lost its state, and begins again with a closed window.
    void restart(Time time) { set({}, time); }

    // Returns the decisions that cannot follow the one before.
    [[nodiscard]] Contradictions const& wrong() const { return wrong_; }
    [[nodiscard]] Phases const& phases() const { return phases_; }

  private:
    void set(windows::WindowState state, Time time)
    {
        state_ = state;
        phases_.emplace_back(std::max(time, phases_.back().first), state.phase);
    }

    std::vector<windows::Thresholds> const& thresholds_;
    windows::WindowState state_{};
    Phases phases_{{Time::min(), Phase::closed}};
    Contradictions wrong_;
};

// Follows all decisions. A poller logs its settings when they change, and once more if it has lost
// its state.
Follower follow(SiteRecords const& r, std::vector<Event> const& events, Axis const& axis)
{
    Follower follower(r.timeline.settings.thresholds);
    std::string settings;
    for (auto const& event : events) {
        if (auto const change = runlog::phase_change_in(event)) follower.take(*change);
        auto const configuration = runlog::configuration_in(event);
        if (!configuration) continue;
        auto const digest = configuration->digest();
        if (std::exchange(settings, digest) == digest) follower.restart(axis.signal(event.time));
    }
    return follower;
}

// Whether a window can stay in `phase` while a sample is the newest one.
bool fits(Phase phase, GramsPerKwh intensity, windows::Thresholds const& thresholds)
{
    if (intensity < thresholds.open_below) return phase == Phase::open;
    if (intensity > thresholds.close_above) return phase != Phase::open;
    return phase != Phase::closing;
}

// Whether the window was, at some time of [use.from, use.to), in a phase that fits a sample.
bool fits_some_phase(Phases const& phases, energy::Interval use, GramsPerKwh intensity,
                     std::vector<windows::Thresholds> const& all_thresholds)
{
    auto const next = std::ranges::upper_bound(phases, use.from, {}, &Phases::value_type::first);
    for (auto phase = std::prev(next); phase != phases.end() && phase->first < use.to; ++phase)
        if (std::ranges::any_of(all_thresholds, [&](windows::Thresholds const& thresholds) {
                return fits(phase->second, intensity, thresholds);
            }))
            return true;
    return false;
}

// From when to when the poller certainly evaluated the window with the samples, on the signal's
// clock: from its first event on. Of journals, later decisions may not be published yet. A trace
// also has samples that came after the last evaluation.
energy::Interval evaluated(SiteRecords const& r, RunFiles const& files, Axis const& axis,
                           std::vector<Event> const& events,
                           std::vector<LoggedDecision> const& decisions)
{
    Time const first = axis.signal(events.front().time);
    energy::Interval times{first, files.trace_from_file ? first : axis.signal(events.back().time)};
    if (!decisions.empty())
        times = {std::min(times.from, decisions.front().change.time),
                 std::max(times.to, decisions.back().change.time)};
    if (files.evaluated_until && !r.files.publication.is_remote)
        times.to = std::max(times.to, *files.evaluated_until);
    return times;
}

// When a sample certainly was the newest one that the poller knew. It may be empty.
energy::Interval in_use(std::vector<SamplePoint> const& points, std::size_t index,
                        Receipts const* received, Millis max_age)
{
    auto const& point = points[index];
    energy::Interval use{point.time, point.time + max_age};
    if (index + 1 < points.size()) use.to = std::min(use.to, points[index + 1].time);
    if (received == nullptr) return use;
    auto const found = received->find(point.time);
    use.from = found != received->end() ? std::max(use.from, found->second) : use.to;
    return use;
}

// The interval in which a site certainly was in a region, on the signal's clock; the last one.
energy::Interval last_stay(LoggedSettings const& settings, RegionId const& region, Axis const& axis)
{
    energy::Interval stay{Time::max(), Time::max()};
    for (auto one = settings.all.rbegin(); one != settings.all.rend(); ++one) {
        if (one->site.region != region) break;
        stay.from = one->from == Time::min() ? Time::min() : axis.signal(one->from);
    }
    return stay;
}

// Returns the samples with which the window cannot have had the phase of the decisions, under any
// of the settings that were ever in force.
Contradictions ignored_samples(Phases const& phases, SiteRecords const& r, RunFiles const& files,
                               Axis const& axis, energy::Interval times)
{
    Contradictions ignored;
    auto const& settings = r.timeline.settings;
    auto const& region = settings.last().region;
    auto const* series = find_region(files.trace, region);
    auto const* const received = receipts_of(files, r.index, region);
    if (series == nullptr || (received == nullptr && !files.clock)) return ignored;
    Millis max_age = settings.last().signal_max_age;
    for (auto const& one : settings.all)
        max_age = std::min<Millis>(max_age, one.site.signal_max_age);
    times.from = std::max(times.from, last_stay(settings, region, axis).from);
    for (std::size_t i = 0; i < series->points.size(); ++i) {
        auto const& intensity = series->points[i].intensity;
        auto use = in_use(series->points, i, received, max_age);
        use = {std::max(use.from, times.from), std::min(use.to, times.to)};
        if (!intensity || use.from >= use.to) continue;
        if (!fits_some_phase(phases, use, *intensity, settings.thresholds)) ignored.add(use);
    }
    return ignored;
}

// Returns the decisions whose time on the signal's clock is before that of the decision before.
Contradictions out_of_order(std::vector<LoggedDecision> const& decisions)
{
    Contradictions early;
    for (std::size_t i = 1; i < decisions.size(); ++i)
        if (decisions[i].change.time < decisions[i - 1].change.time)
            early.add({decisions[i].change.time, decisions[i - 1].change.time});
    return early;
}

}  // namespace

void check_decisions(Doubts& doubts, SiteRecords const& r, RunFiles const& files, Axis const& axis)
{
    auto const events = poller_events_of(r.poller, r.site.site);
    if (events.empty()) return;
    auto const decisions = decisions_of(events);
    auto const add = [&](Contradictions const& wrong, char const* title, char const* which,
                         std::string const& what) {
        if (wrong.count == 0) return;
        doubts.push_back(
            {r.index, Bound::exact, title,
             fmt::format("{}: {} {}, {}, {}.", log_name(r.site.site, journal::Stream::poller),
                         wrong.count, which, span_text(wrong.when), what)});
    };
    std::string const changed =
        "A clock was set back, or one of the two files lacks lines or was changed";
    add(unexplained(decisions, r, files), "Decisions and samples differ", "lines",
        "do not have the intensity of the newest sample of signals.jsonl. " + changed);
    auto const early = out_of_order(decisions);
    add(early, "Decisions out of order", "decisions",
        "have a signal_time before that of the decision before. A clock was set back, or lines "
        "were changed. The phases of the window are not compared with the samples");
    bool const has_windows = std::ranges::any_of(
        events, [](Event const& event) { return runlog::window_change_in(event).has_value(); });
    if (early.count > 0 || (decisions.empty() && has_windows)) return;
    auto const follower = follow(r, events, axis);
    add(follower.wrong(), "Decisions out of order", "decisions",
        "cannot follow the one before. Lines are missing or were changed");
    add(ignored_samples(follower.phases(), r, files, axis,
                        evaluated(r, files, axis, events, decisions)),
        "Decisions and samples differ", "samples of signals.jsonl",
        "do not fit the phase that the window has by the decisions. " + changed);
}

}  // namespace curtail::account
