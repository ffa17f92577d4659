// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "bill/account/files.hpp"

// The carbon intensity with which a run is billed.
namespace curtail::account {

/// A trace that is not the one that the run followed.
struct OtherTrace {
    std::string name;  ///< of its file, for the user
    std::vector<RegionSeries> series;
};

/// Returns the samples of a region; null if there are none.
[[nodiscard]] RegionSeries const* find_region(std::vector<RegionSeries> const& series,
                                              RegionId const& region);

/// Sets what RunFiles has about the signal: the samples that the pollers logged, or those of the
/// file `trace` if it is the signal of the run. It is if all pollers have logged that they replayed
/// this file, and none has ever logged another signal. It also is if the pollers have logged
/// neither a signal nor a sample. Otherwise, takes only the regions without a site from `trace`,
/// and returns the trace. Returns an empty optional in all other cases. Fails if `trace` cannot be
/// read.
[[nodiscard]] Result<std::optional<OtherTrace>> read_signal(
    RunFiles& files, std::optional<std::filesystem::path> const& trace,
    std::vector<SiteLogs> const& logs);

/// Sets what RunFiles has about the signal from the logged samples.
void take_samples(RunFiles& files, std::vector<SiteLogs> const& logs);

/// Returns the run as if it had had the present settings of its sites, or as if `trace` had been
/// its signal.
[[nodiscard]] std::shared_ptr<RunFiles const> recalculated(RunFiles const& files,
                                                           std::optional<std::string> const& name,
                                                           std::optional<OtherTrace> trace);

}  // namespace curtail::account
