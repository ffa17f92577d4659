// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/core/ids.hpp"
#include "base/core/intensity.hpp"
#include "base/core/log_lines.hpp"
#include "base/core/result.hpp"
#include "run/samples/sample.hpp"

// A site's signals.jsonl contains every sample with which the poller evaluated the site's window.
// Each line is one JSON object:
// `{"region":"CAISO_NORTH","time":TIME,"intensity_gco2_per_kwh":394.6,"provider":"watttime",
// "kind":"marginal","period_s":300,"estimated":false,"generated_at":TIME}`.
// The last three keys are absent if the provider does not state their values. A live sample also
// has the keys of SampleOrigin: what the provider sent, and the answer itself. curtail-report
// computes the carbon of a live run from this file.
//
// In a replay, times are on the trace's clock. A sample without a value has the intensity null.
// Each sample is written once, with the value that was first used. The samples of a region and kind
// are in order of time.

namespace curtail::samples {

/// A writer that appends samples to the file. If a crash cut a line short, load() ignores that
/// line. add() then accepts the sample of that line again.
class SampleLog {
  public:
    explicit SampleLog(std::filesystem::path path) : path_(std::move(path)) {}
    /// Finds the newest sample of each region and kind in the last 256 KiB of the file. Call load()
    /// once, before the first add().
    [[nodiscard]] Result<void> load();
    /// Queues each sample whose time is later than that of every sample of `region` with its kind,
    /// in the file and in the queue. `samples` must be in order of time. Returns whether any sample
    /// was queued.
    bool add(RegionId const& region, std::span<Sample const> samples);
    /// Appends the queued samples and syncs the file to disk. After a failure, the samples are
    /// still queued.
    [[nodiscard]] Result<void> write();

  private:
    std::filesystem::path path_;
    std::map<std::pair<RegionId, SignalType>, Time> newest_;
    std::string lines_;  ///< queued lines
};

/// The samples in a file.
struct SampleFile {
    std::vector<RegionSeries> regions;   ///< the samples of kind `marginal`, by region in the order
                                         ///< in which the regions first appear
    std::vector<RegionSeries> averages;  ///< the samples of kind `average`, in the same way
    std::set<std::string> providers;     ///< of the samples of kind `marginal`
    std::int64_t samples{0};             ///< number of samples in `regions`
    std::int64_t estimated{0};           ///< how many of these the provider marked as estimated
    /// Number of samples with another value than an earlier one of the same region, kind and time.
    std::int64_t contradictions{0};
    std::vector<BrokenLines> broken_lines;  ///< the skipped lines of each text, in their order
};

/// A text of which each line is a sample.
struct SampleText {
    std::string_view text;
    /// The regions whose samples the text may have; lines of others are damaged. Empty: all.
    std::vector<RegionId> regions{};
};
/// Reads all lines of all texts. A line without the key `kind` has a marginal sample. If a region
/// has several samples of one kind with the same time, the first of them counts. A line whose
/// intensity is below min_intensity or above max_intensity is damaged.
[[nodiscard]] SampleFile parse_samples(std::span<SampleText const> texts);

}  // namespace curtail::samples
