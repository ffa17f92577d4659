#pragma once
#include <filesystem>

#include "core/clock_file.hpp"

namespace curtail::poll {

using curtail::read_clock;

/// Makes the replay clock of a run, once, when the replay begins: whoever comes later (the poller again, the report) reads the same.
/// Answers what the file says, whoever made it.
[[nodiscard]] Result<TimeScale> make_clock(std::filesystem::path const& run_folder, TimeScale const& wanted);

}  // namespace curtail::poll
