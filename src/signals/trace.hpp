// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "signals/provider.hpp"

namespace curtail::signals {

/// Intensities of several regions at common times, recorded in a CSV file (docs/signals.md).
class Trace {
  public:
    /// All of `series` have readings at the same times, at least one.
    Trace(std::string source, std::vector<RegionSeries> series)
        : source_(std::move(source)), series_(std::move(series))
    {
    }

    [[nodiscard]] std::string const& source() const { return source_; }
    [[nodiscard]] std::vector<RegionSeries> const& series() const { return series_; }
    [[nodiscard]] std::vector<RegionId> regions() const;
    [[nodiscard]] Time first_time() const { return series_.front().readings.front().time; }
    [[nodiscard]] Time last_time() const { return series_.front().readings.back().time; }
    /// Samples of one region in [from, to]. Code `config` for an unknown region; names the nearest.
    [[nodiscard]] Result<std::vector<Sample>> samples(RegionId const& region,
                                                      Time from = Time::min(),
                                                      Time to = Time::max()) const;

  private:
    std::string source_;
    std::vector<RegionSeries> series_;
};

/// Limits on input. Longer lines (bytes) and more rows are errors.
inline constexpr std::size_t trace_line_limit = 1 << 20;
inline constexpr std::size_t trace_row_limit = 10'000'000;

/// Parses CSV with header `point_time,REGION,...`, ISO 8601 times with zone in increasing order,
/// and intensities in g/kWh. An empty cell means no signal. Errors have code `data` and name
/// `source` and line.
[[nodiscard]] Result<Trace> parse_trace(std::string_view text, std::string const& source,
                                        std::size_t row_limit = trace_row_limit);
/// Parses a file; code `no_input` if it cannot be read.
[[nodiscard]] Result<Trace> read_trace(std::filesystem::path const& file);

/// Replays a trace: each sample is known from its own time on, never before.
class TraceProvider final : public Provider {
  public:
    explicit TraceProvider(Trace trace) : trace_(std::move(trace)) {}
    [[nodiscard]] Answer samples(RegionId const& region, Time from, Time to) override;
    [[nodiscard]] Trace const& trace() const { return trace_; }

  private:
    Trace trace_;
};

}  // namespace curtail::signals
