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

/// What the Python prototype of arXiv:2602.22760 logged, as published
/// (results/reference/README.md).
namespace curtail::reference {

/// One logged optimizer step.
struct LoggedStep {
    Time time;
    std::int64_t step{};
    double loss{};  ///< nats per token
    double perplexity{};
};

struct LoggedEvent {
    Time time;
    std::string wall_time;  ///< of the machine that ran it; zone not recorded
    std::string type;
    std::optional<std::int64_t> round;
    std::string client;  ///< `client_0`; empty if it concerns no single client
    std::string details;
};

struct Logs {
    static constexpr std::array<char const*, 3> clients{"client_0", "client_1", "client_2"};
    static constexpr std::array<char const*, 3> regions{"CAISO_NORTH", "SPP_TX",
                                                        "NEM_SA"};  ///< of the clients, in order

    /// Time zero of all logs: the trace's first sample, as in the reference's carbon rules.
    Time zero;
    std::vector<RegionSeries> trace;
    std::array<std::vector<LoggedStep>, 3> steps;  ///< per client
    std::vector<LoggedStep> one_site;              ///< baseline: one site, always on
    std::vector<LoggedStep> two_sites;             ///< baseline: two sites, always on
    std::vector<LoggedEvent> events;

    [[nodiscard]] RegionSeries const* find(RegionId const& region) const;
    [[nodiscard]] double seconds(Time time) const { return seconds_between(zero, time); }
};

/// Reads client_{0,1,2}.csv, baseline_1_client.csv, baseline_2_clients.csv and events.csv of
/// `folder`. `trace` holds the intensity; its first sample is time zero. The times of each log must
/// not fall.
[[nodiscard]] Result<Logs> read_logs(std::filesystem::path const& folder,
                                     std::vector<RegionSeries> trace);

}  // namespace curtail::reference
