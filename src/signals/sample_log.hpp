// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "core/intensity.hpp"
#include "core/result.hpp"
#include "signals/sample.hpp"

/// `poller/signals.jsonl` keeps every sample that a window was decided by, one JSON object a line:
/// `{"region":"CAISO_NORTH","time":TIME,"intensity_gco2_per_kwh":394.6,"provider":"watttime"}`. A
/// report computes the carbon of a live run from it. Times are on the signal's clock; an intensity
/// of null is a sample without a value. Each sample is written once, as it was first used, and the
/// samples of a region are in order of time.
namespace curtail::signals {

/// Appends samples to the file. A line cut short by a crash is written again.
class SampleLog {
  public:
    explicit SampleLog(std::filesystem::path path) : path_(std::move(path)) {}
    /// Finds the newest sample of each region in the file. Call it once, before the first add().
    [[nodiscard]] Result<void> load();
    /// Queues those of the samples that are newer than the region's newest. `samples` are in order
    /// of time. Returns whether there were any.
    bool add(RegionId const& region, std::span<Sample const> samples);
    /// Appends the queued samples. They are on disk when this succeeds, and stay queued otherwise.
    [[nodiscard]] Result<void> write();

  private:
    std::filesystem::path path_;
    std::map<RegionId, Time> newest_;
    std::string lines_;  ///< queued
};

/// The samples of a file.
struct SampleFile {
    std::vector<RegionSeries> regions;  ///< in order of first appearance
    std::set<std::string> providers;
    int broken_lines{0};  ///< cut short when their writer crashed, or damaged
};
/// Reads a whole file. Of samples of one region at one time the last counts. A missing file has no
/// samples.
[[nodiscard]] Result<SampleFile> read_sample_log(std::filesystem::path const& path);

}  // namespace curtail::signals
