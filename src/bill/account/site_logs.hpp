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
    /// The lines of each stream that do not count; those of the samples are not known.
    std::array<BrokenLines, journal::all_streams.size()> broken_lines;
    std::string closing_problem{};  ///< why the site's closing cannot be trusted; may be empty
    /// How many of these lines, counted from their begin, the chain of commits fixes.
    struct Counts {
        std::size_t poller_events{};
        std::size_t events{};
        std::size_t metrics{};
        std::size_t evaluations{};
    } fixed;

    [[nodiscard]] journal::SiteLog const& text(journal::Stream stream) const
    {
        return texts.at(static_cast<std::size_t>(stream));
    }
};

/// Returns the name of a site's log for people, such as `alpha events.jsonl`.
[[nodiscard]] std::string log_name(SiteId const& site, journal::Stream stream);

/// Returns the lines of `logs` that the chain of commits fixes, as if a site had published no
/// others.
[[nodiscard]] SiteLogs fixed_part(SiteLogs const& logs);

/// Reads the logs of one site. Fails if the store or a local file cannot be read.
[[nodiscard]] Result<SiteLogs> read_site_logs(journal::LogReader const& reader, SiteId const& site);

/// Reads the logs of all sites of `run`, all at the same time. Returns a result for each, in the
/// order of the run's file.
[[nodiscard]] std::vector<Result<SiteLogs>> read_all_site_logs(config::Run const& run,
                                                               journal::LogReader const& reader);

/// Returns the samples of all sites, given in the order of the run file.
[[nodiscard]] samples::SampleFile samples_of(config::Run const& run,
                                             std::vector<SiteLogs> const& sites);

/// The clock of a run, as the journals of its sites have it.
struct PublishedClock {
    bool is_known{false};              ///< some site has a journal
    std::optional<TimeScale> clock{};  ///< of the first stream; empty: the run is live
    bool differs{false};               ///< another stream has another clock, or none
};
[[nodiscard]] PublishedClock published_clock(std::vector<SiteLogs> const& sites);

/// Returns how complete the logs of a site are.
[[nodiscard]] Publication publication_of(SiteLogs const& logs);

}  // namespace curtail::account
