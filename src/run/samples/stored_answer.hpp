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
/// Reads the stored answer as the poller did when it received it, and compares what it says about
/// the sample: region, time, intensity, kind, unit, value, model, period, and whether and when the
/// provider has estimated it. A line with an answer and without `received` differs.
[[nodiscard]] AnswerCheck check_answer(json::Object const& line);

}  // namespace curtail::samples
