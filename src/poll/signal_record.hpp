// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "signals/sample.hpp"

namespace curtail::poll {

/// `poller/signals.jsonl`: every sample that windows were decided by, for good, one a line:
/// `{"region":"CAISO_NORTH","time":TIME,"intensity_gco2_per_kwh":394.6,"provider":"watttime"}`. The
/// carbon of a run is computed from it.
///
/// Times are on the signals' clock; an intensity of null is a sample without a value. Each sample
/// stands once, as it was first used, and a region's are in order of time. A line cut short by a
/// crash is written again.
class SignalRecord {
  public:
    explicit SignalRecord(std::filesystem::path path) : path_(std::move(path)) {}
    /// Finds out what is there already; once, before the first add().
    [[nodiscard]] Result<void> recall();
    /// Takes those of the samples, which are in order of time, that are newer than the region's
    /// newest; answers whether there were any.
    bool add(RegionId const& region, std::span<signals::Sample const> samples);
    /// Appends what was taken; on disk when this returns without error, else kept for the next
    /// time.
    [[nodiscard]] Result<void> write();

  private:
    std::filesystem::path path_;
    std::map<RegionId, Time> newest_;
    std::string lines_;  ///< taken and not written
};

}  // namespace curtail::poll
