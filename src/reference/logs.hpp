// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "core/intensity.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"

// The logs of the experiment in arXiv:2602.22760. A Python prototype wrote these logs, and they
// were published unchanged (results/reference/README.md). The logs call a site a client.
namespace curtail::reference {

/// One logged optimizer step.
struct LoggedStep {
    Time time;
    std::int64_t step{};  ///< counted from 0; all sites of a run share the count
    double loss{};        ///< nats per token
    double perplexity{};
};

/// One logged event.
struct LoggedEvent {
    Time time;
    std::string wall_time;  ///< clock time of the machine that logged the event; the time zone
                            ///< was not recorded
    std::string type;
    std::optional<std::int64_t> round;
    std::string client;  ///< such as `client_0`; empty if the event concerns no single client
    std::string details;
};

/// All logs, and the trace of the carbon intensity.
struct Logs {
    static constexpr std::array<char const*, 3> clients{"client_0", "client_1", "client_2"};
    /// The regions of the clients, in the same order as `clients`.
    static constexpr std::array<char const*, 3> regions{"CAISO_NORTH", "SPP_TX", "NEM_SA"};

    /// Time zero, from which the log files count seconds. read_logs() sets it to the time of the
    /// first sample of `regions.back()` in `trace`. Hence all times, except LoggedEvent::wall_time,
    /// are on the signal's clock.
    Time zero;
    std::vector<RegionSeries> trace;
    std::array<std::vector<LoggedStep>, 3> steps;  ///< one list per client
    std::vector<LoggedStep> one_site;              ///< steps of an always-on run with one site
    std::vector<LoggedStep> two_sites;             ///< steps of an always-on run with two sites
    std::vector<LoggedEvent> events;

    /// Returns the element of `trace` for `region`, or null if there is none.
    [[nodiscard]] RegionSeries const* find(RegionId const& region) const;
    /// Returns the seconds from time zero to `time`.
    [[nodiscard]] double seconds(Time time) const { return seconds_between(zero, time); }
};

/// Reads client_{0,1,2}.csv, baseline_1_client.csv, baseline_2_clients.csv and events.csv in
/// `folder`. `trace` holds the intensity of each region. Fails with `data` if `trace` lacks a
/// region of Logs::regions, if a file is empty or damaged, or if the times in a file decrease.
[[nodiscard]] Result<Logs> read_logs(std::filesystem::path const& folder,
                                     std::vector<RegionSeries> trace);

}  // namespace curtail::reference
