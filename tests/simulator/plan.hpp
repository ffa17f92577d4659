// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "simulator/simulator.hpp"

namespace curtail::protocol::simulator {

inline constexpr std::int64_t fewest_sites = 2;
inline constexpr std::int64_t most_sites = 8;

/// How slow a site is.
struct Delays {
    double slowness{1};   ///< as Simulator::set_slowness()
    Millis first_read{};  ///< as Simulator::set_first_read()
};

/// The set-up of one simulated run.
struct Plan {
    /// What happens to the sites when the time of faults is over.
    enum class Ending {
        all_continue,
        all_killed,  ///< one new process completes the run
        one_survives
    };
    RunSpec run;
    Chaos chaos;
    Millis chaos_time{60'000};
    Ending ending{Ending::all_continue};
    /// Whether the stored chain is verified in the end, as `curtail-store verify` does. The
    /// invariants have been checked by then, so that some of the runs suffice.
    bool verifies{true};
    std::optional<Origin> origin{};  ///< empty: the run is no fork
    std::vector<Delays> delays{};    ///< by site; empty: the simulator draws them
};

/// Draws a set-up: sites, parameters of the protocol, and kinds of faults.
[[nodiscard]] Plan plan_of(std::uint64_t seed);

/// Runs `plan` in `s`, a new simulator of Plan::run: first with faults, then without, until the run
/// is complete. Then checks the model. Throws Violation.
void complete_run(Simulator& s, Plan const& plan);

}  // namespace curtail::protocol::simulator
