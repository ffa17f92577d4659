// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "poller/plan/plan.hpp"

/// Short forms for tests of one site's plan.
namespace curtail::plan {

using runlog::JobChange;
using Type = ActionType;
using testing::HasSubstr;
using testing::SizeIs;

inline Time at(int seconds) { return from_unix_ms(1'768'151'100'000) + Seconds(seconds); }
inline DesiredState const open{true, {"w1"}, "the window is open"};
inline DesiredState const closed{false, {}, "the window is closed"};
inline JobLimits const limits{};

inline Job job(std::string id, Job::State state, std::string intent = "i0")
{
    return {{std::move(id)},
            {"w1"},
            {std::move(intent)},
            state,
            "",
            {},
            state == Job::State::pending ? std::nullopt : std::optional(at(0)),
            {}};
}
inline Job ended(std::string id, int second, int exit_code)
{
    auto one = job(std::move(id), Job::State::ended);
    one.launcher_state = exit_code == 0 ? "COMPLETED" : "FAILED";
    one.exit_code = exit_code;
    one.ended = at(second);
    one.end = exit_code == 0 ? Job::End::clean : Job::End::failed;
    return one;
}

/// One poll without effects: observe, then decide.
struct Step {
    SiteState state;
    std::vector<runlog::JobChange> events;
    std::vector<Action> actions;
};
inline Step poll(SiteState const& before, DesiredState const& desired, std::vector<Job> const& jobs,
                 int second)
{
    auto update = observe(before, jobs, at(second), limits);
    auto actions = decide(update.state, desired, jobs, at(second), limits);
    return {std::move(update.state), std::move(update.events), std::move(actions)};
}
/// Returns the state of a site whose poller has observed `jobs` for the first time.
inline SiteState tracking(std::vector<Job> const& jobs, int second = 0)
{
    return observe({}, jobs, at(second), limits).state;
}
/// Returns the state after `action` has succeeded. If `action` is a submit, `submitted` is the id
/// of the new job.
inline SiteState done(SiteState state, Action const& action, int second, std::string submitted = {})
{
    state = begin(std::move(state), action, at(second));
    return finish(std::move(state), action, {Outcome::Status::done, {std::move(submitted)}, {}},
                  at(second), limits)
        .state;
}

}  // namespace curtail::plan
