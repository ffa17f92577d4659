// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/core/json.hpp"

namespace curtail::samples {

/// What the provider's answer in a line of signals.jsonl says about the line's sample.
enum class AnswerCheck {
    none,    ///< the line has no answer that Curtail can read
    agrees,  ///< the answer gives the sample
    differs  ///< the answer is damaged, or gives another sample
};
/// Reads the stored answer as the poller did when it received it, and compares each member of the
/// line that comes from it: time, intensity, value, period and the others.
[[nodiscard]] AnswerCheck check_answer(json::Object const& line);

}  // namespace curtail::samples
