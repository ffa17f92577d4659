// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/plan.hpp"

/// One site's plan in a look or two.
namespace curtail::plan {

using Kind = Action::Kind;
using testing::HasSubstr;
using testing::SizeIs;

inline Time at(int seconds) { return from_unix_ms(1'768'151'100'000) + Seconds(seconds); }
inline Wish const open{true, {"w1"}, "the window is open"};
inline Wish const closed{false, {}, "the window is closed"};
inline Rules const rules{};

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
    one.word = exit_code == 0 ? "COMPLETED" : "FAILED";
    one.exit_code = exit_code;
    one.ended = at(second);
    one.end = exit_code == 0 ? Job::End::clean : Job::End::failed;
    return one;
}

/// One look without effects: what is observed, then what is decided.
struct Look {
    SiteState state;
    std::vector<Happening> happenings;
    std::vector<Action> actions;
};
inline Look look(SiteState const& before, Wish const& wish, std::vector<Job> const& jobs,
                 int second)
{
    auto seen = observe(before, jobs, at(second), rules);
    auto actions = decide(seen.state, wish, jobs, at(second), rules);
    return {std::move(seen.state), std::move(seen.happenings), std::move(actions)};
}
inline SiteState tracking(std::vector<Job> const& jobs, int second = 0)
{
    return observe({}, jobs, at(second), rules).state;
}
inline SiteState done(SiteState state, Action const& action, int second, std::string submitted = {})
{
    state = begin(std::move(state), action, at(second));
    return finish(std::move(state), action, {Outcome::Kind::done, {std::move(submitted)}, {}},
                  at(second), rules)
        .state;
}

}  // namespace curtail::plan
