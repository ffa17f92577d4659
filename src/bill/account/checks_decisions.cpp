// SPDX-License-Identifier: Apache-2.0
// Compares the decisions of a poller about its window with the samples. The poller logs both: each
// sample with which it evaluates the window, and each change of the window's phase. Between two
// decisions, the samples must fit the phase (run/windows/detector.hpp).
#include <fmt/format.h>

#include <algorithm>

#include "bill/account/checks.hpp"
#include "bill/account/signal.hpp"
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
        // Of a run in progress, the samples may be published later than the decisions.
        if (series == nullptr || series->points.empty() ||
            change.time > series->points.back().time + settings.signal_max_age)
            continue;
        KnownSamples const known(*series, receipts_of(files, r.index, settings.region));
        if (!known.explain(change, logged, settings.signal_max_age)) wrong.add(change.time);
    }
    return wrong;
}

// Whether a window can stay in `phase` while a sample is the newest one.
bool fits(Phase phase, GramsPerKwh intensity, windows::Thresholds const& thresholds)
{
    if (intensity < thresholds.open_below) return phase == Phase::open;
    if (intensity > thresholds.close_above) return phase != Phase::open;
    return phase != Phase::closing;
}

// The phases of a window over time, by the decisions of its poller.
class Phases {
  public:
    // The decisions must be in order of time, and there must be one.
    explicit Phases(std::vector<LoggedDecision> const& decisions) : decisions_(decisions) {}

    // Whether the window had a phase that `accepts` accepts at some time of [from, to).
    template <class Accepts>
    [[nodiscard]] bool any_between(Time from, Time to, Accepts const& accepts) const
    {
        auto after = std::ranges::upper_bound(decisions_, from, {}, time_of);
        // A state that was lost begins again with another phase.
        if (after != decisions_.begin() && accepts(std::prev(after)->change.to)) return true;
        for (; after != decisions_.end(); ++after) {
            if (accepts(after->change.from)) return true;
            if (after->change.time >= to) return false;
            if (accepts(after->change.to)) return true;
        }
        return false;
    }

  private:
    static Time time_of(LoggedDecision const& decision) { return decision.change.time; }

    std::vector<LoggedDecision> const& decisions_;
};

// From when to when the poller certainly evaluated the window with the samples, on the signal's
// clock: from its first event on. Of journals, later decisions may not be published yet. A trace
// also has samples that came after the last evaluation.
energy::Interval evaluated(SiteRecords const& r, RunFiles const& files, Axis const& axis,
                           std::vector<LoggedDecision> const& decisions)
{
    energy::Interval times{decisions.front().change.time, decisions.back().change.time};
    for (auto const& event : poller_events_of(r)) {
        auto const time = axis.signal(event.time);
        times.from = std::min(times.from, time);
        if (!files.trace_from_file) times.to = std::max(times.to, time);
    }
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

// Returns the samples with which the window cannot have had the phase of the decisions. What is
// tested is true under all settings that were ever in force.
Contradictions ignored_samples(std::vector<LoggedDecision> const& decisions, SiteRecords const& r,
                               RunFiles const& files, Axis const& axis)
{
    Contradictions ignored;
    auto const& settings = r.timeline.settings;
    auto const& region = settings.last().region;
    auto const* series = find_region(files.trace, region);
    auto const* const received = receipts_of(files, r.index, region);
    bool const knows_receipts = received != nullptr || !r.is_live;
    auto const is_in_region = [&](SettingsInForce const& one) { return one.site.region == region; };
    if (series == nullptr || !knows_receipts || decisions.empty() ||
        !std::ranges::all_of(settings.all, is_in_region))
        return ignored;
    Millis max_age = settings.last().signal_max_age;
    for (auto const& one : settings.all)
        max_age = std::min<Millis>(max_age, one.site.signal_max_age);
    Phases const phases(decisions);
    auto const times = evaluated(r, files, axis, decisions);
    for (std::size_t i = 0; i < series->points.size(); ++i) {
        auto const& intensity = series->points[i].intensity;
        auto use = in_use(series->points, i, received, max_age);
        use = {std::max(use.from, times.from), std::min(use.to, times.to)};
        if (!intensity || use.from >= use.to) continue;
        auto const is_possible = [&](Phase phase) {
            return std::ranges::any_of(settings.all, [&](SettingsInForce const& one) {
                return fits(phase, *intensity, one.site.window);
            });
        };
        if (!phases.any_between(use.from, use.to, is_possible)) ignored.add(use);
    }
    return ignored;
}

}  // namespace

void check_decisions(Doubts& doubts, SiteRecords const& r, RunFiles const& files, Axis const& axis)
{
    auto const decisions = decisions_of(poller_events_of(r));
    auto const add = [&](Contradictions const& wrong, char const* which, std::string const& what) {
        if (wrong.count == 0) return;
        doubts.push_back({r.index, Bound::exact, "Decisions and samples differ",
                          fmt::format("{}: {} {}, {}, {}. One of the two files lacks lines or was "
                                      "changed.",
                                      log_name(r.site.site, journal::Stream::poller), wrong.count,
                                      which, span_text(wrong.when), what)});
    };
    add(unexplained(decisions, r, files), "lines",
        "do not have the intensity of the newest sample of signals.jsonl");
    Contradictions early;
    for (std::size_t i = 1; i < decisions.size(); ++i)
        if (decisions[i].change.time < decisions[i - 1].change.time)
            early.add({decisions[i].change.time, decisions[i - 1].change.time});
    if (early.count == 0)
        return add(ignored_samples(decisions, r, files, axis), "samples of signals.jsonl",
                   "do not fit the phase that the window has by the decisions");
    doubts.push_back(
        {r.index, Bound::exact, "Decisions out of order",
         fmt::format("{}: {} decisions, {}, have a signal_time before that of the decision before. "
                     "A clock was set back, or lines were changed. The phases of the window are "
                     "not compared with the samples.",
                     log_name(r.site.site, journal::Stream::poller), early.count,
                     span_text(early.when))});
}

}  // namespace curtail::account
