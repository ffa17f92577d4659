// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/core/time.hpp"
#include "protocol/site/phase.hpp"

namespace curtail::protocol::site {

/// When a member takes its next actions, and the phase to which the member returns after `adopt`.
struct Schedule {
    MonoTime poll;          ///< earliest time to read the next commit
    MonoTime publish;       ///< after a failure: earliest time to publish again
    MonoTime merge;         ///< after a failure: earliest time to merge or commit again
    MonoTime amendment;     ///< earliest time to look for the next amendment
    MonoTime header;        ///< earliest time to read an own header back
    MonoTime status;        ///< earliest time to write the site's status
    MonoTime scan;          ///< in the state `run`: earliest time to read others' headers
    MonoTime gather_until;  ///< end of the wait for missing headers before a merge
    /// Phase in which the member continues after `adopt` if two conditions hold: the commit did not
    /// end the round, and a published contribution of this member is undecided. Otherwise, the
    /// member continues with `run`.
    Phase back{Phase::run};
};

}  // namespace curtail::protocol::site
