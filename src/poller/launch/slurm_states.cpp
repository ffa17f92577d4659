// SPDX-License-Identifier: Apache-2.0
#include "poller/launch/slurm_states.hpp"

#include <algorithm>

#include "base/core/text.hpp"

namespace curtail::launch {
namespace {

using State = plan::Job::State;
using End = plan::Job::End;

struct StateName {
    std::string_view name;
    State state;
    End end{End::failed};
};
constexpr StateName state_names[] = {{"PENDING", State::pending},
                                     {"REQUEUED", State::pending},
                                     {"REQUEUE_HOLD", State::pending},
                                     {"REQUEUE_FED", State::pending},
                                     {"SPECIAL_EXIT", State::pending},
                                     {"RESV_DEL_HOLD", State::pending},
                                     {"RUNNING", State::running},
                                     {"CONFIGURING", State::running},
                                     {"SUSPENDED", State::running},
                                     {"STOPPED", State::running},
                                     {"RESIZING", State::running},
                                     {"SIGNALING", State::running},
                                     {"POWER_UP_NODE", State::running},
                                     {"EXPEDITING", State::running},
                                     {"COMPLETING", State::ending},
                                     {"STAGE_OUT", State::ending},
                                     {"UPDATE_DB", State::ending},
                                     {"COMPLETED", State::ended, End::clean},
                                     {"NODE_FAIL", State::ended, End::displaced},
                                     {"BOOT_FAIL", State::ended, End::displaced},
                                     {"PREEMPTED", State::ended, End::displaced},
                                     {"REVOKED", State::ended, End::displaced},
                                     {"FAILED", State::ended, End::failed},
                                     {"CANCELLED", State::ended, End::cancelled},
                                     {"TIMEOUT", State::ended, End::failed},
                                     {"DEADLINE", State::ended, End::failed},
                                     {"OUT_OF_MEMORY", State::ended, End::failed},
                                     {"LAUNCH_FAILED", State::ended, End::displaced},
                                     {"RECONFIG_FAIL", State::ended, End::displaced}};

}  // namespace

void set_state(plan::Job& job, std::string_view name)
{
    job.launcher_state = printable(name);
    auto const* const known = std::ranges::find(state_names, name, &StateName::name);
    if (known != std::end(state_names)) {
        job.state = known->state;
        job.end = known->end;
        job.cleaning_up = job.state == State::ending;
        return;
    }
    job.state = State::running;
    job.warning = "job " + job.id.value + " is in the unknown state " + job.launcher_state +
                  ", which counts as running";
}

bool is_state(std::string_view text)
{
    bool const is_cut = std::ranges::any_of(state_names, [&](StateName const& known) {
        return known.name.starts_with(text) && known.name != text;
    });
    return !is_cut &&
           text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == std::string_view::npos;
}

bool is_job_number(std::string_view text) { return parse_number<std::int64_t>(text) > 0; }

bool is_time(std::string_view text)
{
    static constexpr std::string_view unknown[] = {"N/A", "NONE", "None", "Unknown", "0"};
    return parse_seconds(text) || std::ranges::find(unknown, text) != std::end(unknown);
}

std::optional<Time> parse_seconds(std::string_view text)
{
    constexpr std::int64_t year_2001{1'000'000'000};
    auto const seconds = parse_number<std::int64_t>(text);
    bool const is_whole = seconds && *seconds >= year_2001;
    return is_whole ? std::optional(Time{Seconds{*seconds}}) : std::nullopt;
}

void correct_unstarted(plan::Job& job)
{
    bool const missed_deadline = job.launcher_state == "DEADLINE";
    bool const can_be_unstarted = missed_deadline || job.end == End::cancelled;
    if (!can_be_unstarted || (job.started && job.started != job.ended)) return;
    job.started.reset();
    if (missed_deadline) job.exit_code.reset();
}

}  // namespace curtail::launch
