// SPDX-License-Identifier: Apache-2.0
#include "poller/poll/status.hpp"

#include <fmt/format.h>

#include "base/core/text.hpp"

namespace curtail::poll {
namespace {

std::string signal_text(SignalStatus const& signal)
{
    if (!signal.requested) return "not requested";
    if (!signal.sample_time) return "no signal";
    auto const age = format_duration(signal.time - *signal.sample_time);
    if (signal.sample_is_empty)
        return fmt::format("no signal ({} reported no value {} ago)", signal.provider, age);
    if (!signal.intensity)
        return fmt::format("no fresh signal (the last sample from {} is {} old)", signal.provider,
                           age);
    return fmt::format("{:.1f} gCO2/kWh, {} old, from {}", signal.intensity->value, age,
                       signal.provider);
}

std::string job_line(plan::Job const& job)
{
    return fmt::format("  job     {} {}{}\n", printable(job.id.value),
                       printable(job.launcher_state),
                       job.reason.empty() ? "" : " (" + printable(job.reason) + ")");
}

std::string trainer_line(OtherTrainer const& trainer)
{
    return fmt::format(
        "  trainer active{}{}\n", trainer.since ? " since " + format_time(*trainer.since) : "",
        trainer.job.empty()
            ? ", started by hand without a job"
            : " in job " + printable(trainer.job) + ", which this poller did not submit");
}

std::string action_line(plan::Action const& action, bool dry_run)
{
    bool const names_job = action.type != plan::ActionType::wait && !action.job.value.empty();
    return fmt::format(
        "  {} {}{}: {}\n", dry_run ? "would  " : "action ", plan::to_text(action.type),
        names_job ? " job " + printable(action.job.value) : "", printable(action.why));
}

// Errors and warnings, one message each.
std::vector<std::string> problems(PollFindings const& findings)
{
    std::vector<std::string> messages;
    for (auto const& error : findings.errors()) messages.push_back(printable(error.message()));
    if (!findings.jobs.warning.empty()) messages.push_back(printable(findings.jobs.warning));
    return messages;
}

std::string paragraph(PollFindings const& findings, bool dry_run)
{
    auto const& jobs = findings.jobs;
    auto text = fmt::format("{} ({})\n  signal  {}\n  window  {}{}: {}\n", findings.site.value,
                            format_time(findings.signal.time), signal_text(findings.signal),
                            windows::to_string(findings.signal.phase),
                            jobs.window ? " since " + printable(jobs.window->value) : "",
                            printable(findings.signal.why));
    for (auto const& job : jobs.jobs) text += job_line(job);
    if (jobs.jobs.empty() && !jobs.list_error) text += "  job     none\n";
    if (jobs.other_trainer) text += trainer_line(*jobs.other_trainer);
    for (auto const& problem : problems(findings)) text += "  problem " + problem + "\n";
    for (auto const& action : jobs.actions) text += action_line(action, dry_run);
    return text;
}

json::Array to_json(std::vector<plan::Job> const& jobs)
{
    return json::array_of(jobs, [](plan::Job const& job) {
        return json::Object{{"job", job.id.value},
                            {"state", job.launcher_state},
                            {"reason", job.reason},
                            {"window", job.window.value}};
    });
}

json::Value to_json(std::optional<OtherTrainer> const& trainer)
{
    if (!trainer) return {};
    return json::Object{{"job", trainer->job}, {"since", json::time_or_null(trainer->since)}};
}

json::Array to_json(std::vector<plan::Action> const& actions)
{
    return json::array_of(actions, [](plan::Action const& action) {
        return json::Object{{"action", plan::to_text(action.type)},
                            {"job", action.job.value},
                            {"window", action.window.value},
                            {"why", action.why}};
    });
}

json::Object to_json(PollFindings const& findings)
{
    auto const& signal = findings.signal;
    json::Value age;
    if (signal.sample_time) age = seconds_between(*signal.sample_time, signal.time);
    auto const trouble = problems(findings);
    return {{"site", findings.site.value},
            {"region", findings.region.value},
            {"signal_time", format_time(signal.time)},
            {"intensity_gco2_per_kwh", json::value_or_null(signal.intensity)},
            {"age_s", age},
            {"provider", signal.provider},
            {"phase", windows::to_string(signal.phase)},
            {"window", json::value_or_null(findings.jobs.window)},
            {"why", signal.why},
            {"jobs", to_json(findings.jobs.jobs)},
            {"other_trainer", to_json(findings.jobs.other_trainer)},
            {"actions", to_json(findings.jobs.actions)},
            {"trouble", json::Array(trouble.begin(), trouble.end())}};
}

}  // namespace

std::vector<Error> PollFindings::errors() const
{
    std::vector<Error> all;
    for (auto const& error : {signal.error, jobs.list_error, jobs.action_error})
        if (error) all.push_back(*error);
    return all;
}

std::string explain(std::vector<PollFindings> const& sites, bool dry_run)
{
    std::string text;
    for (auto const& site : sites) text += paragraph(site, dry_run);
    return text;
}

json::Value to_json(std::vector<PollFindings> const& sites)
{
    return json::Object{
        {"sites", json::array_of(sites, [](PollFindings const& site) { return to_json(site); })}};
}

}  // namespace curtail::poll
