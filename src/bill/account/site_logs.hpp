// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <optional>
#include <vector>

#include "bill/account/publication.hpp"
#include "run/journal/site_log.hpp"
#include "run/runlog/event.hpp"
#include "run/runlog/held_out.hpp"
#include "run/runlog/metrics.hpp"
#include "run/samples/sample_log.hpp"

// Reads the logs of a run's sites, from the journal in the store or from local files. Other owners
// write their sites' journals, so a line counts only if it belongs to the journal's site, and if
// its time is possible.
namespace curtail::account {

/// What the logs of one site contain.
struct SiteLogs {
    std::array<journal::SiteLog, journal::all_streams.size()> texts;
    std::vector<runlog::Event> poller_events;
    std::vector<runlog::Event> events;
    std::vector<runlog::StepMetrics> metrics;
    std::vector<runlog::HeldOutLine> evaluations;
    int broken_lines{0};  ///< number of lines that do not count, without those of the signals

    [[nodiscard]] journal::SiteLog const& text(journal::Stream stream) const
    {
        return texts.at(static_cast<std::size_t>(stream));
    }
};

/// Reads the logs of one site. Fails if the store or a local file cannot be read.
///
/// With `newest_steps`, reads only the end of the metrics: at least the steps of this training
/// time. Reads all of them nevertheless if a trainer of the site was killed.
[[nodiscard]] Result<SiteLogs> read_site_logs(journal::LogReader const& reader, SiteId const& site,
                                              std::optional<FractionalSeconds> newest_steps = {});

/// Reads the logs of all sites of `run`, all at the same time. Returns a result for each, in the
/// order of the run's file.
[[nodiscard]] std::vector<Result<SiteLogs>> read_all_site_logs(
    config::Run const& run, journal::LogReader const& reader,
    std::optional<FractionalSeconds> newest_steps = {});

/// Returns the events that earlier versions of the poller wrote to one file for all sites.
[[nodiscard]] Result<runlog::EventFile> read_common_events(config::Run const& run);

/// Reads the samples of all sites, given in the order of the run file. Includes those that earlier
/// versions of the poller wrote to one file for all sites. Of two samples of one region and time,
/// the one of the first site counts.
[[nodiscard]] Result<samples::SampleFile> read_samples(config::Run const& run,
                                                       std::vector<SiteLogs> const& sites);

/// Returns the clock of a replay: that in the run's folder, otherwise that in a site's journal.
/// Returns an empty optional if the run is live.
[[nodiscard]] Result<std::optional<TimeScale>> read_run_clock(config::Run const& run,
                                                              std::vector<SiteLogs> const& sites);

/// Returns how complete the logs of a site are.
[[nodiscard]] Publication publication_of(SiteLogs const& logs);

}  // namespace curtail::account
