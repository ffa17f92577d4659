// SPDX-License-Identifier: Apache-2.0
#include "simulator/causes.hpp"

#include <algorithm>

#include "protocol/records/names.hpp"

namespace curtail::protocol::simulator {
namespace {

bool names_one_of(Exit const& exit, std::set<std::string> const& names)
{
    return std::any_of(names.begin(), names.end(), [&](std::string const& name) {
        return exit.error->message().find(name) != std::string::npos;
    });
}

// True if commits have decided three contributions in a row of the process that skipped all blocks.
bool skipped_three_times(Process const& process, SimStore const& store)
{
    int in_a_row = 0;
    for (auto const& commit : store.chain())
        for (auto const& d : commit.decided) {
            if (member_parts(d.member).process != process) continue;
            bool const skips = !d.refused && d.ranges.empty() && !d.skipped.empty();
            in_a_row = skips ? in_a_row + 1 : 0;
            if (in_a_row == 3) return true;
        }
    return false;
}

// True if a later process of the site has been admitted, or has removed this one before that.
bool is_replaced(Process const& process, SimStore const& store)
{
    CommitNumber own, newest;
    for (auto const& commit : store.chain())
        for (auto const& r : commit.removed)
            if (r.reason == Removal::succeeded && member_parts(r.member).process == process)
                return true;
    for (auto const& commit : store.chain())
        for (auto const& m : commit.members) {
            auto const parts = member_parts(m.id);
            if (parts.process.site != process.site) continue;
            auto& last = parts.process == process ? own : newest;
            last = std::max(last, parts.admitted);
        }
    return newest > own && own.value > 0;
}

// True if the store has lost the commit that the process reads next.
bool cannot_read_on(SimProcess const& p, SimStore const& store)
{
    auto const& tip = p.machine->tip();
    return tip && store.is_lost(commit_name(tip->number.next()));
}

}  // namespace

bool Causes::explain(Exit const& exit, SimProcess const& p, SimStore const& store) const
{
    switch (exit.code) {
        case ExitCode::ok:
            return p.ledger.lost + p.ledger.unanswered == Tokens{};
        case ExitCode::data:
            return p.hardware.nan_cuts >= 3 || skipped_three_times(p.identity, store);
        case ExitCode::protocol:
            return explain_protocol_error(exit, store);
        case ExitCode::config:
            return p.is_retired();
        case ExitCode::temporary:
            return names_one_of(exit, damaged_) || is_replaced(p.identity, store) ||
                   cannot_read_on(p, store);
        case ExitCode::unavailable:
            return p.ledger.lost + p.ledger.unanswered > Tokens{};
        default:
            return false;
    }
}

bool Causes::explain_protocol_error(Exit const& exit, SimStore const& store) const
{
    return names_one_of(exit, foreign_) || store.has_lost_commits() || !store.get(run_name);
}

}  // namespace curtail::protocol::simulator
