// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "rounds/policy.hpp"

namespace curtail::rounds::simulator {

/// Makes policies that break a rule.
class Saboteur {
  public:
    [[nodiscard]] static Policy policy(Fault fault) { return Policy(fault); }
};

/// What is known about a deliberate fault.
struct FaultRow {
    Fault fault;
    char const* name;
    char const* what;  ///< what the faulty state machine does, as a sentence without its subject
};
/// Returns the row of the fault.
[[nodiscard]] FaultRow const& row(Fault fault);

}  // namespace curtail::rounds::simulator
