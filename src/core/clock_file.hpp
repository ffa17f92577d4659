#pragma once
#include <filesystem>
#include <optional>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace curtail {

/// Where a run's replay clock stands: `<run folder>/clock.json`.
[[nodiscard]] std::filesystem::path clock_file(std::filesystem::path const& run_folder);

/// The replay clock of a run: `{"origin":TIME,"real_origin":TIME,"factor":300}`. Nothing if there is no such file: real time counts.
[[nodiscard]] Result<std::optional<TimeScale>> read_clock(std::filesystem::path const& run_folder);

}  // namespace curtail
