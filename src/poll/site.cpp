// SPDX-License-Identifier: Apache-2.0
#include "poll/site.hpp"

#include <algorithm>

#include "plan/set_back.hpp"
#include "windows/replay.hpp"

namespace curtail::poll {
namespace {

Time real_now() { return SystemClock{}.now(); }

std::vector<Reading> readings_of(std::vector<signals::Sample> const& samples)
{
    std::vector<Reading> readings;
    readings.reserve(samples.size());
    for (auto const& sample : samples)
        readings.push_back({sample.time, signals::accepted(sample, signals::SignalType::marginal)});
    return readings;
}

/// The events of one change of phase, and the window that is open after it.
void note_change(SiteRecord& record, std::vector<runlog::Event>& events,
                 windows::Change const& change, SiteId const& site)
{
    auto const now = real_now();
    events.push_back(runlog::to_event(
        runlog::Decision{change.time, std::string(windows::to_string(change.from)),
                         std::string(windows::to_string(change.to)),
                         std::string(windows::to_string(change.reason)), change.intensity},
        now, site.value));
    bool const could = windows::may_run(change.from);
    bool const can = windows::may_run(change.to);
    if (!could && can) record.open_window = WindowId{format_time(change.time)};
    if (could != can)
        events.push_back(runlog::to_event(
            runlog::WindowChange{can, record.open_window.value_or(WindowId{}).value, change.time},
            now, site.value));
    if (!can) record.open_window.reset();
}

/// Two clocks of one site need not agree better than this.
constexpr Seconds clock_tolerance{5};

plan::Outcome outcome_of(Result<void> const& result, plan::JobId const& submitted)
{
    if (result) return {plan::Outcome::Kind::done, submitted, {}};
    bool const silent = result.error().code == ExitCode::temporary;
    return {silent ? plan::Outcome::Kind::unknown : plan::Outcome::Kind::refused,
            {},
            result.error().message()};
}

std::string in_a_row(int failures)
{
    return failures == 0 ? "" : " (failure " + std::to_string(failures) + " in a row)";
}

/// `job 7 failed (FAILED, exit code 3); next try in 10.0 s (failure 1 in a row)`
std::string failure_text(plan::Happening const& failed, plan::SiteState const& state)
{
    auto text = "job " + failed.job.value + " failed (" + failed.word;
    if (failed.exit_code) text += ", exit code " + std::to_string(*failed.exit_code);
    return text + "); next try in " + format_duration(failed.retry_after.value_or(Millis(0))) +
           in_a_row(state.failures);
}

/// A window that is open and has no job because the last ones failed.
std::optional<Error> waits_after_failures(plan::SiteState const& state, plan::Wish const& wish,
                                          Time now)
{
    bool const waits =
        wish.job && state.jobs.empty() && !state.intent && state.retry_at && now < *state.retry_at;
    if (!waits || state.failures == 0) return std::nullopt;
    return Error{ExitCode::unavailable, state.failure,
                 "next try in " + format_duration(*state.retry_at - now) + in_a_row(state.failures),
                 ""};
}

}  // namespace

std::vector<Error> SiteReport::troubles() const
{
    std::vector<Error> all;
    for (auto const& trouble : {signal_trouble, job_trouble, action_trouble})
        if (trouble) all.push_back(*trouble);
    return all;
}

SiteWatch::SiteWatch(Parts parts, Book& book, Log log)
    : parts_(std::move(parts)), book_(book), log_(std::move(log))
{
    report_.site = parts_.site.site;
    report_.region = parts_.site.region;
}

plan::Rules SiteWatch::rules() const
{
    auto rules = parts_.rules;
    std::lock_guard const guard(mutex_);
    if (hurried_) {
        rules.grace = Millis(0);
        rules.drains = 1;
    }
    return rules;
}

void SiteWatch::hurry()
{
    std::lock_guard const guard(mutex_);
    hurried_ = true;
}

/// A trouble is told when it begins, changes or ends, not each time.
void SiteWatch::tell(std::optional<Error>& known, std::optional<Error> const& trouble,
                     char const* what)
{
    std::lock_guard const guard(mutex_);
    if (known == trouble) return;
    known = trouble;
    if (!trouble) log_.info(id().value + ": " + what + " answers again");
    else log_.warning(id().value + ": " + trouble->message());
}

void SiteWatch::warn(std::string const& warning)
{
    std::lock_guard const guard(mutex_);
    if (!warning.empty() && report_.job_warning != warning)
        log_.warning(id().value + ": " + warning);
    report_.job_warning = warning;
}

/// A window that was evaluated up to a moment that is still to come would stand still until then.
/// In real time it goes on from now; in a replay, where time comes back by itself and the same
/// samples with it, it waits.
std::optional<Error> SiteWatch::set_back(SiteRecord& record, Time signal_now) const
{
    if (!record.evaluated_until || *record.evaluated_until <= signal_now + clock_tolerance)
        return std::nullopt;
    bool const is_replay = parts_.signals_begin.has_value();
    Error trouble{ExitCode::temporary, "the clock was set back",
                  "the window was evaluated up to " + format_time(*record.evaluated_until) +
                      ", and it is " + format_time(signal_now),
                  is_replay ? "nothing is decided until then"
                            : "it goes on from now; is this machine's clock right?"};
    if (is_replay) return trouble;
    record.evaluated_until = signal_now;
    if (record.window.closing_since)
        record.window.closing_since = std::min(*record.window.closing_since, signal_now);
    return trouble;
}

Look SiteWatch::evaluate(Time signal_now)
{
    auto before = book_.site(id());
    if (!parts_.provider) {
        show_stored(before, signal_now);
        return {};
    }
    auto const clock_trouble = set_back(before, signal_now);
    auto const until = before.evaluated_until.value_or(parts_.signals_begin.value_or(signal_now));
    windows::Rule const rule{parts_.site.signal_max_age, parts_.site.window};
    auto const answer =
        parts_.provider->samples(parts_.site.region, until - rule.max_age, signal_now);
    tell(report_.signal_trouble, clock_trouble ? clock_trouble : answer.problem,
         "the signal's provider");
    auto const recorded = book_.record(parts_.site.region, answer.samples);
    auto const replay =
        windows::replay(before.window, until, readings_of(answer.samples), rule, signal_now);
    {
        std::lock_guard const guard(mutex_);
        report_.signal_time = replay.until;
        report_.intensity = replay.intensity;
        report_.phase = replay.state.phase;
        report_.why = replay.explanation;
        auto const after = std::find_if(answer.samples.begin(), answer.samples.end(),
                                        [&](auto const& s) { return s.time > signal_now; });
        if (after != answer.samples.begin()) {
            report_.sample_time = std::prev(after)->time;
            report_.provider = std::prev(after)->provider;
            report_.sample_is_empty =
                !signals::accepted(*std::prev(after), signals::SignalType::marginal);
        }
    }
    for (auto const& change : replay.changes)
        log_.info(id().value + ": " + std::string(windows::to_string(change.from)) + " -> " +
                  std::string(windows::to_string(change.to)) + " at " + format_time(change.time) +
                  ": " + change.explanation);
    // A provider knows a day; who falls further behind than that would judge the time between anew,
    // without its samples. A trace knows all.
    bool const can_wait = parts_.signals_begin.has_value() || !recorded.value_or(false);
    auto const changed = book_.change(
        id(),
        [&](SiteRecord& record, std::vector<runlog::Event>& events) {
            record.window = replay.state;
            record.evaluated_until = replay.until;
            for (auto const& change : replay.changes) note_change(record, events, change, id());
        },
        can_wait);
    return {!replay.changes.empty(), recorded ? changed : tl::unexpected(recorded.error())};
}

void SiteWatch::show_stored(SiteRecord const& record, Time signal_now)
{
    std::lock_guard const guard(mutex_);
    report_.asked = false;
    report_.signal_time = record.evaluated_until.value_or(signal_now);
    report_.phase = record.window.phase;
    report_.why = record.evaluated_until ? "as it was left then" : "it was never evaluated";
}

plan::Wish SiteWatch::wish(SiteRecord const& record, Halt halt) const
{
    if (halt == Halt::trace_over) return {false, {}, "the trace is over"};
    if (halt == Halt::person) return {false, {}, "the poller was asked to stop everything"};
    if (std::error_code error; std::filesystem::exists(parts_.complete_mark, error))
        return {false, {}, "the run is complete"};
    if (!record.open_window) return {false, {}, "the window is closed"};
    return {true, *record.open_window, "the window is open since " + record.open_window->value};
}

void SiteWatch::show_undecided(Halt halt)
{
    auto const record = book_.site(id());
    auto const wanted = wish(record, halt);
    std::lock_guard const guard(mutex_);
    report_.window = record.open_window;
    report_.jobs.clear();
    report_.actions = {{plan::Action::Kind::wait,
                        {},
                        wanted.window,
                        {},
                        "nothing is done about jobs until they can be listed; " + wanted.why}};
}

Look SiteWatch::tend(Halt halt, bool dry)
{
    auto const now = real_now();
    auto const listed = parts_.launcher->jobs();
    tell(report_.job_trouble, listed ? std::nullopt : std::optional(listed.error()),
         "the launcher");
    if (!listed) {
        show_undecided(halt);
        return {};
    }
    std::vector<plan::Happening> happened;
    auto written = book_.change(id(), [&](SiteRecord& record, std::vector<runlog::Event>& events) {
        auto seen = plan::observe(plan::set_back(record.jobs, now, rules()), *listed, now, rules());
        record.jobs = std::move(seen.state);
        for (auto const& happening : seen.happenings)
            events.push_back(job_event(id(), happening, real_now()));
        happened = std::move(seen.happenings);
    });
    auto const record = book_.site(id());
    for (auto const& happening : happened)
        if (happening.kind == plan::Happening::Kind::failed)
            log_.warning(id().value + ": " + failure_text(happening, record.jobs));
    warn(plan::warning_of(record.jobs, *listed));
    auto const wanted = wish(record, halt);
    auto const actions = plan::decide(record.jobs, wanted, *listed, now, rules());
    {
        std::lock_guard const guard(mutex_);
        report_.window = record.open_window;
        report_.actions = actions;
        report_.action_trouble = waits_after_failures(record.jobs, wanted, now);
        report_.jobs.clear();
        for (auto const& job : *listed)
            if (job.state != plan::Job::State::ended) report_.jobs.push_back(job);
    }
    for (auto const& action : actions) {
        if (dry || action.kind == plan::Action::Kind::wait) continue;
        if (auto noted = act(action); !noted) written = noted;
    }
    return {true, written};
}

/// A submission that nobody would remember is not made. Stopping a job twice does no harm.
Result<void> SiteWatch::act(plan::Action const& action)
{
    using Kind = plan::Action::Kind;
    auto noted = book_.intend(id(), action, real_now());
    if (!noted && action.kind == Kind::submit) return noted;
    plan::JobId submitted;
    Result<void> done;
    if (action.kind == Kind::submit) {
        auto const job = parts_.launcher->submit(action.window, action.intent);
        if (job) submitted = *job;
        else done = tl::unexpected(job.error());
    } else if (action.kind == Kind::drain) {
        done = parts_.launcher->drain(action.job);
    } else {
        done = parts_.launcher->cancel(action.job, action.kind == Kind::cancel_pending);
    }
    if (!done) {
        std::lock_guard const guard(mutex_);
        report_.action_trouble = done.error();
    }
    auto const outcome = outcome_of(done, submitted);
    auto const job = action.kind == Kind::submit ? outcome.job : action.job;
    auto const text = id().value + ": " + plan::to_text(action.kind) +
                      (job.value.empty() ? "" : " job " + job.value) + ": " + action.why;
    if (outcome.kind == plan::Outcome::Kind::done) log_.info(text);
    else log_.warning(text + ": " + outcome.why);
    auto const concluded = book_.conclude(id(), action, outcome, real_now(), rules());
    return noted ? concluded : noted;
}

bool SiteWatch::is_quiet() const
{
    auto const record = book_.site(id());
    return record.jobs.jobs.empty() && !record.jobs.intent;
}

SiteReport SiteWatch::report() const
{
    std::lock_guard const guard(mutex_);
    return report_;
}

}  // namespace curtail::poll
