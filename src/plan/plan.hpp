// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plan/decide.hpp"
#include "plan/observe.hpp"
#include "plan/record.hpp"

/// Desired state + listed jobs -> actions, for one site. Pure: no clock, no I/O.
///
/// One step is: `observe` the listed jobs, `decide` what to do, and for each action `begin` it
/// before it is carried out and `finish` it with its outcome. The caller stores the state that
/// `begin` returns first, so a crash during the action loses nothing. Times are real times,
/// whatever clock the signals follow.
namespace curtail::plan {
}
