// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ostream>
#include <vector>

#include "simulator/process.hpp"

/// The complete log of a Site. Has one line for each input and for each output, with all fields,
/// and one for the state of the site after the input.
namespace curtail::protocol::simulator {

/// Appends one input of a process, the site's outputs and its new state.
void trace(std::ostream& out, Millis now, SimProcess const& p, Input const& input,
           std::vector<Output> const& outputs);

}  // namespace curtail::protocol::simulator
