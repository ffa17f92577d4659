// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/time.hpp"
#include "rounds/site/phase.hpp"

namespace curtail::rounds::site {

/// Times of a member's next actions, and the phase to which it returns.
struct Schedule {
    MonoTime poll;           ///< earliest read of the next commit
    MonoTime publish;        ///< earliest next try to publish, after a failure
    MonoTime merge;          ///< earliest next try to merge or commit, after a failure
    MonoTime scan;           ///< earliest read of others' headers in state `run`
    MonoTime gather_until;   ///< end of the wait for missing headers before a merge
    Phase back{Phase::run};  ///< phase after `adopt` if the round is still the same
};

}  // namespace curtail::rounds::site
