// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <vector>

#include "base/core/log.hpp"
#include "base/core/result.hpp"
#include "run/samples/sample.hpp"

namespace curtail::signals::watttime {

/// What WattTimeProvider knows about a region. All processes that cron starts share this state, as
/// a JSON file.
struct RegionState {
    std::vector<samples::Sample> samples;  ///< sorted by time; no two have the same time
    std::optional<Error> problem;          ///< the last query's problem; empty if it had none
    int failures{0};                       ///< failed queries in a row, counted up to max_failures
    std::optional<Time> not_before;        ///< earliest time of the next query
    bool server_asked{false};  ///< whether `not_before` comes from the server's Retry-After
};

inline constexpr int max_failures = 4;

/// Inserts a sample in order of time, and replaces a sample with the same time. Drops the oldest
/// sample if there are more than 288 (one day of values).
void insert(std::vector<samples::Sample>& samples, samples::Sample sample);

/// Reads a state file. Returns an empty state if the file is missing, or if other users could have
/// written it. Logs and drops damaged parts.
[[nodiscard]] RegionState read_state(std::filesystem::path const& file, Log const& log);
[[nodiscard]] Result<void> write_state(std::filesystem::path const& file, RegionState const& state);

}  // namespace curtail::signals::watttime
