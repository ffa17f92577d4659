#pragma once
#include <filesystem>
#include <optional>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace curtail::poll {

/// The replay clock of a run, `<run folder>/clock.json`: `{"origin":TIME,"real_origin":TIME,"factor":300}`. Made once, when the replay
/// begins; whoever comes later (the poller again, the report) reads the same. Nothing if there is no such file: real time counts.
[[nodiscard]] Result<std::optional<TimeScale>> read_clock(std::filesystem::path const& run_folder);
/// Makes the file unless it exists; answers what it says then.
[[nodiscard]] Result<TimeScale> make_clock(std::filesystem::path const& run_folder, TimeScale const& wanted);

}  // namespace curtail::poll
