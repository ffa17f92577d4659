// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <vector>

#include "core/log.hpp"
#include "core/result.hpp"
#include "signals/sample.hpp"

namespace curtail::signals::watttime {

/// What WattTimeProvider knows about a region. Stored as JSON, shared by all runs from cron.
struct RegionState {
    std::vector<Sample> samples;     ///< sorted by time, one per time
    std::optional<Error> problem;    ///< of the last query
    int failures{0};                 ///< in a row, at most max_failures
    std::optional<Time> not_before;  ///< no query before this time
    bool server_asked{false};        ///< not_before comes from the server's Retry-After
};

inline constexpr int max_failures = 4;

/// Inserts a sample at its place. Replaces an older one for the same time; drops the oldest beyond
/// a day of samples.
void insert(std::vector<Sample>& samples, Sample sample);

/// Reads a state file. A missing file, or one that other users could have written, gives an empty
/// state. Damaged parts are logged and dropped.
[[nodiscard]] RegionState read_state(std::filesystem::path const& file, Log const& log);
[[nodiscard]] Result<void> write_state(std::filesystem::path const& file, RegionState const& state);

}  // namespace curtail::signals::watttime
