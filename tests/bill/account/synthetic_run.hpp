// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>

#include "bill/account/files.hpp"

namespace curtail::account::test {

/// Variants of the synthetic run.
struct Synthetic {
    bool empty{false};  ///< the run is configured, but nothing has happened yet
    /// Second of the trace at which the files end. With a small value, windows are still open.
    double stop_at{70'000};
    bool gaps{false};  ///< the trace has intervals without samples
    /// Text appended to the name of the first region, and to labels, devices and reasons.
    std::string region_suffix{};
    bool evaluated{true};  ///< evaluation.json exists
    int chatter{0};        ///< number of extra events of the first site, as in a very long run
    double factor{300};    ///< clock factor; with a small one, the run has many steps and rounds
    double round_s{3};     ///< real seconds of training in a round
    /// Real duration of a step of a lone site. If two sites train, a step takes 10/7 of it.
    Millis step{280};
    /// Token budget of all commits, in blocks; 0: that of run.json, as without an amendment.
    std::int64_t amended_blocks{0};
    /// The commits refuse all work of SPP_TX, and clip that of NEM_SA in joint rounds. A round
    /// takes 3 s, and SPP_TX is in quarantine in the end.
    bool refuses{false};
};

/// Writes the files that a demo with three sites leaves: configuration (`run.json`), trace
/// (`trace.csv`), clock, events, metrics and the chain of commits. The run replays the trace in
/// signals/. Equal arguments give equal files.
void write_synthetic_run(std::filesystem::path const& folder, Synthetic const& how);

/// Returns the number of broken lines in all logs.
[[nodiscard]] inline int broken_lines_of(RunFiles const& files)
{
    int count = 0;
    for (auto const& file : files.broken_files) count += file.lines.count;
    return count;
}

}  // namespace curtail::account::test
