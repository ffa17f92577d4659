// SPDX-License-Identifier: Apache-2.0
#include "simulator/causes.hpp"

#include <algorithm>

namespace curtail::rounds::simulator {
namespace {

bool names_one_of(Exit const& exit, std::set<std::string> const& names)
{
    return std::any_of(names.begin(), names.end(), [&](std::string const& name) {
        return exit.error->message().find(name) != std::string::npos;
    });
}

}  // namespace

bool Causes::explain(Exit const& exit, SimProcess const& p, SimStore const& store) const
{
    switch (exit.code) {
        case ExitCode::ok:
            return true;
        case ExitCode::data:
            return p.hardware.nan_cuts >= 3 || p.hardware.skips >= 3;
        case ExitCode::protocol:
            return explain_protocol_error(exit, store);
        case ExitCode::config:
            return p.is_retired();
        case ExitCode::temporary:
            return names_one_of(exit, damaged_);
        case ExitCode::unavailable:
            return p.stopping;
        default:
            return false;
    }
}

bool Causes::explain_protocol_error(Exit const& exit, SimStore const& store) const
{
    return names_one_of(exit, foreign_) || !store.get(run_name);
}

}  // namespace curtail::rounds::simulator
