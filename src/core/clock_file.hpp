// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace curtail {

/// Where a run's replay clock stands: `<run folder>/clock.json`.
[[nodiscard]] std::filesystem::path clock_file(std::filesystem::path const& run_folder);

/// The replay clock of a run: `{"origin":TIME,"real_origin":TIME,"factor":300}`. Nothing if there
/// is no such file: real time counts.
[[nodiscard]] Result<std::optional<TimeScale>> read_clock(std::filesystem::path const& run_folder);

/// Makes the replay clock of a run, once, when the replay begins: whoever comes later (the poller
/// again, the report) reads the same. Answers what the file says, whoever made it.
[[nodiscard]] Result<TimeScale> make_clock(std::filesystem::path const& run_folder,
                                           TimeScale const& wanted);

}  // namespace curtail
