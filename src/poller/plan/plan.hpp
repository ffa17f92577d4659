// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "poller/plan/decide.hpp"
#include "poller/plan/lookup.hpp"
#include "poller/plan/observe.hpp"
#include "poller/plan/record.hpp"

// Decides what to do about the jobs of one site, from the desired state and the jobs that the
// launcher lists. The functions read no clock and do no I/O.
//
// One poll of a site calls `observe` with the listed jobs, then `decide`. For each action except
// `wait`, the poll calls `begin`, stores the returned state, carries out the action, and calls
// `finish` with the outcome. If the poller dies during the action, the next poller continues from
// the stored state. All times are real times, even if the signals follow a recorded trace.
namespace curtail::plan {
}
