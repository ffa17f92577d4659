// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace curtail {

/// Path of a run's replay clock: `<run folder>/clock.json`.
[[nodiscard]] std::filesystem::path clock_file(std::filesystem::path const& run_folder);

/// Reads a run's replay clock: `{"origin":TIME,"real_origin":TIME,"factor":300}`. Empty if the file
/// does not exist: the run uses real time.
[[nodiscard]] Result<std::optional<TimeScale>> read_clock(std::filesystem::path const& run_folder);

/// Creates a run's replay clock when a replay begins. An existing file wins, so that every later
/// poll and the report use the same clock. Returns the content of the file.
[[nodiscard]] Result<TimeScale> make_clock(std::filesystem::path const& run_folder,
                                           TimeScale const& scale);

}  // namespace curtail
