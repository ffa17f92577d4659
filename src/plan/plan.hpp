// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plan/decide.hpp"
#include "plan/observe.hpp"
#include "plan/record.hpp"

// Decides what to do about the jobs of one site, from the desired state and the jobs that the
// launcher lists. The functions read no clock and do no I/O.
//
// One poll of a site calls `observe` with the listed jobs, then `decide`. It calls `begin` before
// it carries out an action, and `finish` with the outcome. The caller stores the state that
// `begin` returns before it carries out the action, so a crash in between loses nothing. All times
// are real times, even if the signals follow a recorded trace.
namespace curtail::plan {
}
