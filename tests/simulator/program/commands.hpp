// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "programs/frame/program.hpp"

namespace curtail::programs::sim_program {

[[nodiscard]] Command rounds_command();

}  // namespace curtail::programs::sim_program
