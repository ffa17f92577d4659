// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "energy/state.hpp"
#include "energy/tally.hpp"

/// The energy and carbon of one site, and of a site that never stops.
namespace curtail::energy {

/// How a figure was obtained.
enum class Origin { measured, logged, derived, modelled, estimated };
[[nodiscard]] char const* name(Origin origin);

struct Provenance {
    Origin origin{Origin::modelled};
    std::string source;  ///< for people: "power model x WattTime marginal signal"
    friend bool operator==(Provenance const&, Provenance const&) = default;
};

/// The energy and carbon of one site, and where the figures come from.
struct Bill {
    std::map<State, Tally> by_state;
    Tally total;
    WattHours inside_windows;  ///< drawn while the site's window was open or closing
    Provenance energy;
    Provenance carbon;
    [[nodiscard]] std::optional<double> inside_share() const;  ///< of the energy
};

/// What a bill is computed with.
struct Rules {
    Power power;
    GramsPerKwh threshold{100};  ///< below it, energy would have been curtailed
    Provenance energy;
    Provenance carbon;
};

/// The bill of a site. `states` do not overlap. `windows` are in order and do not overlap.
[[nodiscard]] Bill bill_of(std::span<StateInterval const> states, std::span<Interval const> windows,
                           IntensitySeries const& intensity, Rules const& rules);

/// Running totals at `from`, `from + step`, ... (`count` of them), each of everything drawn since
/// `from`.
[[nodiscard]] std::vector<Tally> cumulative(std::span<StateInterval const> states,
                                            IntensitySeries const& intensity, Rules const& rules,
                                            Time from, Millis step, std::size_t count);

/// The part of `states` inside `interval`.
[[nodiscard]] std::vector<StateInterval> clip(std::span<StateInterval const> states,
                                              Interval interval);

/// The counterfactual: one site that never stops.
struct AlwaysOn {
    Interval when;
    Tally tally;
    Interval held;  ///< the part of `when` after the last sample, where `intensity` holds its value
};
/// Trains `tokens` at `tokens_per_second` (seconds of the signal's clock) from `start`, without a
/// pause, at training power. Throws std::invalid_argument unless the rate is positive.
[[nodiscard]] AlwaysOn always_on(Tokens tokens, double tokens_per_second, Time start,
                                 IntensitySeries const& intensity, Rules const& rules);

}  // namespace curtail::energy
