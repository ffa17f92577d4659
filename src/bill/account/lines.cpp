// SPDX-License-Identifier: Apache-2.0
// Compares the lines of each log with each other, and with what other records say about the same
// thing. The writer of a log appends lines in order of time, and each line once.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/core/text.hpp"
#include "bill/account/checks.hpp"
#include "run/runlog/configuration.hpp"
#include "run/runlog/poller_events.hpp"

namespace curtail::account {
namespace {

using energy::Bound;
using journal::Stream;

// Adds a doubt if lines of a file are wrong. `what` goes on after "3 lines from A to B".
void report(std::vector<Doubt>& doubts, std::size_t index, std::string const& file,
            Contradictions const& wrong, char const* title, std::string const& what)
{
    if (wrong.count == 0) return;
    doubts.push_back(
        {index, Bound::exact, title,
         fmt::format("{}: {} lines, {}, {}.", file, wrong.count, span_text(wrong.when), what)});
}

std::string key_of(Event const& event)
{
    return format_time(event.time) + event.type + json::to_string(event.details);
}
std::string key_of(StepMetrics const& step)
{
    return format_time(step.time) + fmt::format("{} {}", step.step, step.duration.count());
}

// Two threads may write in another order than they read the clock.
constexpr Millis most_disorder{250};

template <class Line>
void check_order(std::vector<Doubt>& doubts, std::size_t index, std::string const& file,
                 std::vector<Line> const& lines)
{
    Contradictions early;
    Contradictions repeated;
    std::set<std::string> seen;
    std::optional<Time> newest;
    for (auto const& line : lines) {
        if (!seen.insert(key_of(line)).second) {
            repeated.add(line.time);
            continue;
        }
        if (newest && line.time + most_disorder < *newest) early.add({line.time, *newest});
        newest = std::max(newest.value_or(line.time), line.time);
    }
    report(doubts, index, file, early, "Lines out of order",
           "are earlier than the lines before them. They were moved or inserted, or a clock "
           "was set back");
    report(doubts, index, file, repeated, "Repeated lines", "have the content of earlier lines");
}

// The poller numbers its events.
void check_numbers(std::vector<Doubt>& doubts, std::size_t index, std::string const& file,
                   std::vector<Event> const& events)
{
    Contradictions wrong;
    std::int64_t highest = 0;
    Time last{};
    for (auto const& event : events) {
        auto const number = event.integer("number");
        if (!number) continue;
        if (*number <= highest) wrong.add({std::min(last, event.time), std::max(last, event.time)});
        highest = std::max(highest, *number);
        last = event.time;
    }
    report(doubts, index, file, wrong, "Event numbers out of order",
           "have a number that is not above the one before. Lines were moved or inserted, or "
           "two pollers wrote the file");
}

// The event has the digest of the settings, and that of each file.
void check_digests(std::vector<Doubt>& doubts, std::size_t index, std::string const& file,
                   std::vector<Event> const& events)
{
    Contradictions wrong;
    for (auto const& event : events) {
        auto const logged = runlog::configuration_in(event);
        if (!logged) continue;
        auto const expected = runlog::to_event(*logged, event.time, event.site).details;
        for (char const* key : {"digest", "files"}) {
            auto const* value = event.details.find(key);
            if (value != nullptr && *value == *expected.find(key)) continue;
            wrong.add(event.time);
            break;
        }
    }
    report(doubts, index, file, wrong, "Changed settings",
           "have settings that do not fit their digest. They were changed later");
}

// The events of a replay have two times. The poller logs a decision when its time on the signal's
// clock has come, and most of them soon after.
void check_clock(std::vector<Doubt>& doubts, std::size_t index, std::string const& file,
                 std::vector<Event> const& events, Axis const& axis, bool is_replay)
{
    constexpr FractionalSeconds most_ahead{1};
    constexpr Millis most_late = std::chrono::hours{1};
    Contradictions early;
    Contradictions late;
    bool has_punctual = false;
    for (auto const& event : events) {
        auto const change = runlog::phase_change_in(event);
        if (!change) continue;
        auto const lateness = axis.signal(event.time) - change->time;
        if (lateness < -axis.factor() * most_ahead) early.add(event.time);
        if (lateness > most_late) late.add(event.time);
        else has_punctual = true;
    }
    char const* const what =
        is_replay
            ? "have a time on the signal's clock that does not fit clock.json. The file was changed"
            : "have a time on the signal's clock that is later than the line. A clock was wrong, "
              "or lines were changed";
    report(doubts, index, file, early, "Clock and decisions differ", what);
    if (!has_punctual && axis.factor() != 1)
        report(doubts, index, file, late, "Clock and decisions differ", what);
}

double median(std::vector<double> values)
{
    auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

// How late decisions were logged, in real seconds, against the time in the replay.
class Lateness {
  public:
    void add(double time, double late) { all_.emplace_back(time, late); }
    // Returns by how much the lateness grows or shrinks from the first decision to the last, if
    // that is far more than it varies. A pause of the poller makes a few decisions late; a median
    // leaves them out. 0: the clock fits.
    [[nodiscard]] double drift() const
    {
        constexpr std::size_t enough = 8;
        constexpr double least = 2;
        if (all_.size() < enough) return 0;
        auto const slope = median_slope();
        std::vector<double> levels, deviations;
        for (auto const& [time, late] : all_) levels.push_back(late - slope * time);
        for (auto const level : levels) deviations.push_back(std::abs(level - median(levels)));
        auto const [first, last] = std::ranges::minmax(all_);
        auto const change = slope * (last.first - first.first);
        return std::abs(change) > std::max(least, 4 * median(deviations)) ? change : 0;
    }

  private:
    [[nodiscard]] double median_slope() const
    {
        constexpr std::size_t most = 500;
        auto const stride = all_.size() / most + 1;
        std::vector<double> slopes;
        for (std::size_t i = 0; i < all_.size(); i += stride)
            for (std::size_t j = 0; j < i; j += stride)
                if (all_[i].first != all_[j].first)
                    slopes.push_back((all_[i].second - all_[j].second) /
                                     (all_[i].first - all_[j].first));
        return slopes.empty() ? 0 : median(std::move(slopes));
    }

    std::vector<std::pair<double, double>> all_;
};

// With a wrong factor, decisions are the later the longer the replay lasts.
void check_drift(std::vector<Doubt>& doubts, std::vector<Event> const& events, Axis const& axis)
{
    if (axis.factor() == 1) return;
    Contradictions decisions;
    Lateness lateness;
    for (auto const& event : events) {
        auto const change = runlog::phase_change_in(event);
        if (!change) continue;
        decisions.add(event.time);
        auto const late = axis.signal(event.time) - change->time;
        lateness.add(axis.at(event.time) / axis.factor(),
                     FractionalSeconds(late).count() / axis.factor());
    }
    auto const drift = lateness.drift();
    if (drift == 0) return;
    doubts.push_back(
        {std::nullopt, Bound::exact, "Clock and decisions differ",
         fmt::format("the poller's events.jsonl of all sites: by clock.json, the delay "
                     "of decisions changes steadily by {:.1f} real s {}. The factor of "
                     "the clock was changed, or the poller was ever slower.",
                     drift, span_text(decisions.when))});
}

// A step trains on whole blocks, or is skipped and trains none.
void check_tokens(std::vector<Doubt>& doubts, std::size_t index, RunFiles const& files)
{
    auto const& site = files.run.sites[index].site;
    auto const block = files.run.rounds.block_tokens;
    Contradictions wrong;
    for (auto const& step : files.sites[index].metrics)
        if (step.tokens.value % block.value != 0) wrong.add(step.time);
    report(doubts, index, log_name(site, Stream::metrics), wrong, "Steps without whole blocks",
           "have a number of tokens that is no multiple of rounds.block_tokens");
}

// Times of decisions, or of events that follow from them.
using Times = std::set<Time>;

Contradictions differences(Times const& a, Times const& b)
{
    std::vector<Time> either;
    std::ranges::set_symmetric_difference(a, b, std::back_inserter(either));
    Contradictions found;
    for (auto const time : either) found.add(time);
    return found;
}

Contradictions jobs_without_window(std::vector<Event> const& events)
{
    std::set<std::string> opened;
    Contradictions wrong;
    for (auto const& event : events) {
        if (auto const turn = runlog::window_change_in(event); turn && turn->opens)
            opened.insert(turn->window);
        auto const job = runlog::job_change_in(event);
        if (job && job->type == runlog::JobChange::Type::submitted && !job->window.empty() &&
            !opened.contains(job->window))
            wrong.add(event.time);
    }
    return wrong;
}

// Each window opens and closes by a decision, on the signal's clock. The last line may be a
// decision whose event is still to come.
void check_windows(std::vector<Doubt>& doubts, std::size_t index, std::string const& file,
                   std::vector<Event> const& events)
{
    Times decided_openings, decided_closings, openings, closings;
    for (auto const& event : events) {
        auto const signal_time = runlog::signal_time_of(event);
        if (!signal_time) continue;
        if (auto const turn = runlog::window_change_in(event))
            (turn->opens ? openings : closings).insert(*signal_time);
        auto const phase = runlog::phase_change_in(event);
        if (!phase || &event == &events.back()) continue;
        if (phase->to == windows::Phase::closed) decided_closings.insert(*signal_time);
        if (phase->from == windows::Phase::closed) decided_openings.insert(*signal_time);
    }
    constexpr char const* title = "Windows and decisions differ";
    constexpr char const* what =
        "decide about a window without its event window-{}, or the other way round. Lines are "
        "missing or were changed";
    report(doubts, index, file, differences(openings, decided_openings), title,
           fmt::format(what, "open"));
    report(doubts, index, file, differences(closings, decided_closings), title,
           fmt::format(what, "close"));
    report(doubts, index, file, jobs_without_window(events), title,
           "submit a job for a window that no event window-open names. Lines are missing or were "
           "changed");
}

// The poller gives each event of all its sites the next number. Of journals, the newest pieces may
// be missing, so nothing follows from them.
void check_missing_numbers(std::vector<Doubt>& doubts, RunFiles const& files)
{
    auto const is_local = [](SiteFiles const& site) {
        return !site.publication.is_remote && !site.publication.is_missing;
    };
    if (!std::ranges::all_of(files.sites, is_local)) return;
    std::map<std::int64_t, Time> numbers;
    for (auto const& event : files.poller_events)
        if (auto const number = event.integer("number")) numbers.emplace(*number, event.time);
    Contradictions gaps;
    for (auto one = numbers.begin(); one != numbers.end() && std::next(one) != numbers.end(); ++one)
        if (auto const next = std::next(one); next->first != one->first + 1)
            gaps.add({std::min(one->second, next->second), std::max(one->second, next->second)});
    if (gaps.count == 0) return;
    doubts.push_back({std::nullopt, Bound::exact, "Event numbers are missing",
                      fmt::format("the poller's events.jsonl of all sites: numbers are missing in "
                                  "{} places, {}. Lines are missing, or a site is no longer in the "
                                  "run file.",
                                  gaps.count, span_text(gaps.when))});
}

}  // namespace

std::vector<Doubt> line_doubts_of(RunFiles const& files, Timeline const& timeline)
{
    std::vector<Doubt> doubts;
    for (std::size_t s = 0; s < files.sites.size(); ++s) {
        auto const& site = files.run.sites[s].site;
        auto const poller = poller_events_of(files.poller_events, site);
        auto const poller_file = log_name(site, Stream::poller);
        auto const trainer_file = log_name(site, Stream::trainer);
        check_order(doubts, s, poller_file, poller);
        check_order(doubts, s, trainer_file, files.sites[s].events);
        check_order(doubts, s, log_name(site, Stream::metrics), files.sites[s].metrics);
        check_numbers(doubts, s, poller_file, poller);
        check_digests(doubts, s, poller_file, poller);
        check_digests(doubts, s, trainer_file, files.sites[s].events);
        check_clock(doubts, s, poller_file, poller, timeline.axis, files.clock.has_value());
        check_windows(doubts, s, poller_file, poller);
        check_tokens(doubts, s, files);
    }
    check_missing_numbers(doubts, files);
    check_drift(doubts, files.poller_events, timeline.axis);
    return doubts;
}

}  // namespace curtail::account
