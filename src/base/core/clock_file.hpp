// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>

#include "base/core/clock.hpp"
#include "base/core/result.hpp"

namespace curtail {

/// Returns the path of the file that defines a run's replay clock: `<run folder>/clock.json`.
[[nodiscard]] std::filesystem::path clock_file(std::filesystem::path const& run_folder);

/// Reads a run's replay clock from its file: `{"origin":TIME,"real_origin":TIME,"factor":300}`.
/// Each TIME is a text that parse_time() accepts. Returns an empty optional if the file does not
/// exist; the run then uses real time. Fails with `data` if the file is invalid.
[[nodiscard]] Result<std::optional<TimeScale>> read_clock(std::filesystem::path const& run_folder);

/// Creates the file that defines a run's replay clock. Keeps an existing file, so that every later
/// poll and the report use the same clock. Returns the clock in the file. Fails with
/// `cannot_create` or `io` if the file cannot be written. Fails with `data` if an existing file is
/// invalid.
[[nodiscard]] Result<TimeScale> make_clock(std::filesystem::path const& run_folder,
                                           TimeScale const& scale);

}  // namespace curtail
