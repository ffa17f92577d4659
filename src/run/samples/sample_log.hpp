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

/// What is wrong with a sample.
enum class SampleFault {
    /// Lines, or the provider's answer, give other values or periods for its time. Then none of
    /// them counts.
    contradicted,
    /// The provider computed another value for its time later. The first line counts.
    revised,
    /// Its line was not written after the one before it, so somebody inserted it. It does not
    /// count.
    inserted,
};
/// Samples of one region and kind with the same fault.
struct FaultySamples {
    SampleFault fault{SampleFault::contradicted};
    RegionId region;
    SignalType type{SignalType::marginal};
    std::size_t text{};    ///< index of the text with the samples
    std::size_t other{};   ///< index of the text that contradicts them; it may be the same
    std::int64_t count{};  ///< number of samples
    Time from{};           ///< time of the earliest of them
    Time to{};             ///< time of the latest of them
    friend bool operator==(FaultySamples const&, FaultySamples const&) = default;
};

/// When marginal samples with a value were received, by region and by the time of the sample.
using ReceiptTimes = std::map<RegionId, std::map<Time, Time>>;

/// The samples in a file.
struct SampleFile {
    std::vector<RegionSeries> regions;   ///< the samples of kind `marginal`, by region in the order
                                         ///< in which the regions first appear
    std::vector<RegionSeries> averages;  ///< the samples of kind `average`, in the same way
    std::set<std::string> providers;     ///< of the samples of kind `marginal`
    std::int64_t samples{0};             ///< number of samples in `regions`
    std::int64_t estimated{0};           ///< how many of these the provider marked as estimated
    std::vector<FaultySamples> faults;   ///< in order of regions, kinds and texts
    /// Samples without a stored answer of their provider that confirms them. `fault` says nothing.
    std::vector<FaultySamples> unconfirmed;
    std::vector<BrokenLines> broken_lines;  ///< the skipped lines of each text, in their order
    std::vector<ReceiptTimes> receipts;     ///< of each text, in their order
};

/// A range of times, with both ends.
struct TimeRange {
    Time from{Time::min()};
    Time to{Time::max()};
};

/// A text of which each line is a sample.
struct SampleText {
    std::string_view text;
    /// The regions whose samples the text may have; lines of others are damaged. Empty: all.
    std::vector<RegionId> regions{};
    TimeRange received{};  ///< when its writer can have received samples
    /// Compares each sample with the stored answer of its provider. That takes longer than all
    /// other checks together.
    bool checks_answers{true};
};
/// Reads all lines of all texts; the order of the texts does not matter. A line without the key
/// `kind` has a marginal sample. A line whose intensity is below min_intensity or above
/// max_intensity is damaged. A line without a value yields to one with a value.
///
/// The writer of a log appends a line when it has received a sample. A sample is therefore
/// `inserted` if it was received more than 15 minutes before its own time, or outside
/// SampleText::received. It also is if it is not later than the samples before it, and either was
/// received earlier or neither repeats one of them nor was received later. After the loss of a
/// file, its writer asks for the newest samples again: a sample that was received later counts.
///
/// A sample contradicts itself if its intensity is not that of the value that the provider sent. It
/// also does if the stored answer of the provider gives another sample.
/// Two samples of one region, kind and time contradict each other if their values or their periods
/// differ. In one text, the later one may be a revision: it was received and computed later. A
/// sample also contradicts another text if its time lies between two samples of that text which are
/// at most half their period apart, and if it has the value of neither. What is contradicted is
/// unknown.
[[nodiscard]] SampleFile parse_samples(std::span<SampleText const> texts);

}  // namespace curtail::samples
