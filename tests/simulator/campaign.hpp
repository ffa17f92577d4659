// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/core/result.hpp"
#include "protocol/site/site.hpp"
#include "simulator/fault.hpp"
#include "simulator/invariant.hpp"

namespace curtail::protocol::simulator {

/// How much was simulated.
struct Amount {
    std::int64_t runs{0};
    std::int64_t steps{0};   ///< operations on the store, and events of trainers
    std::int64_t events{0};  ///< steps, answers, timers, faults
    std::int64_t commits{0};
    std::map<ProtocolState, std::int64_t> states{};  ///< inputs after which a site was in the state
    Amount& operator+=(Amount const& other);
};

/// A broken invariant, and where it was found.
struct Failure {
    std::uint64_t seed{};
    std::int64_t run{};    ///< which run of the seed, from 1
    std::int64_t steps{};  ///< steps of the seed until then
    Invariant invariant{Invariant::commit};
    std::string text{};
    std::vector<std::string> trace{};  ///< the last events before it
};

/// The seeds `first` to `last`. Each seed simulates whole runs, one after the other, until it has
/// made at least `steps` steps or an invariant is broken. A seed determines everything that
/// happens.
struct Campaign {
    std::uint64_t first{0};
    std::uint64_t last{0};
    std::int64_t steps{2'000};  ///< of each seed
    unsigned threads{1};
    std::optional<Fault> fault{};  ///< that all sites have
    /// Folder for a complete log of each seed, `SEED.log`; empty: none.
    std::string log_folder{};
};

/// What came out of a campaign.
struct Outcome {
    Amount amount{};
    std::vector<Failure> failures{};  ///< sorted by seed
};

/// Runs the seeds in several threads. Calls `progress` with the number of finished seeds, from any
/// of the threads but never from two at once. Fails with `cannot_create` if a log cannot be
/// written.
[[nodiscard]] Result<Outcome> run_campaign(Campaign const& campaign,
                                           std::function<void(std::int64_t)> const& progress);

/// How a fault was found.
struct Detection {
    Fault fault{};
    std::int64_t steps{};              ///< of all runs until then
    std::optional<Failure> failure{};  ///< empty: not within the limit of steps
};
/// Runs seeds from `first` on, in which all sites have the fault, until an invariant is broken or
/// `limit` steps are made.
[[nodiscard]] Detection detect(Fault fault, std::uint64_t first, std::int64_t limit);

}  // namespace curtail::protocol::simulator
