// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/csv.hpp"
#include "base/core/ids.hpp"
#include "base/core/result.hpp"
#include "run/samples/sample.hpp"

namespace curtail::samples {

/// Intensities of one or more regions at common times, recorded in a CSV file (docs/signals.md).
class Trace {
  public:
    /// All `series` must have samples at the same times. Each must have at least one sample.
    /// `source` names the trace in messages.
    Trace(std::string source, std::vector<RegionSeries> series)
        : source_(std::move(source)), series_(std::move(series))
    {
    }

    [[nodiscard]] std::vector<RegionSeries> const& series() const { return series_; }
    [[nodiscard]] Time first_time() const { return series_.front().points.front().time; }
    [[nodiscard]] Time last_time() const { return series_.front().points.back().time; }
    /// Returns the samples of one region in [from, to]. Fails with `config` if the trace has no
    /// such region; the message suggests the nearest name.
    [[nodiscard]] Result<std::vector<Sample>> samples(RegionId const& region,
                                                      Time from = Time::min(),
                                                      Time to = Time::max()) const;

  private:
    std::string source_;
    std::vector<RegionSeries> series_;
};

/// Parses CSV with the header `point_time,REGION,...`. Times are ISO 8601 with a time zone, in
/// increasing order. Intensities are in gCO2/kWh; an empty cell means no signal. The period of each
/// sample (SamplePoint::period) is the median time between the next few rows. Of the last row
/// before a hole, it is at most the time since the row before. Fails with `data` if the text is
/// invalid, has a line longer than csv::line_limit or has more than `row_limit` rows; the message
/// names `source` and the line.
[[nodiscard]] Result<Trace> parse_trace(std::string_view text, std::string const& source,
                                        std::size_t row_limit = csv::row_limit);
/// Parses a file. Fails like parse_trace(), or with `no_input` if the file cannot be opened.
[[nodiscard]] Result<Trace> read_trace(std::filesystem::path const& file);

}  // namespace curtail::samples
