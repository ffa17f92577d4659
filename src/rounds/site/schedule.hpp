// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/time.hpp"
#include "rounds/site/phase.hpp"

namespace curtail::rounds::site {

/// Times of a member's next actions.
struct Schedule {
    MonoTime poll;           ///< read the next commit
    MonoTime publish;        ///< after a failure to publish
    MonoTime merge;          ///< after a failure to merge
    MonoTime scan;           ///< read headers with nothing left to train
    MonoTime gather_until;   ///< merge without the missing headers
    Phase back{Phase::run};  ///< phase after ADOPT if the round is the same
};

}  // namespace curtail::rounds::site
