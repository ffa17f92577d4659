// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "programs/frame/program.hpp"

namespace curtail::apps::sim_program {

[[nodiscard]] Command rounds_command();

}  // namespace curtail::apps::sim_program
