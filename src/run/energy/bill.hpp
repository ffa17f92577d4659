// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "run/energy/state.hpp"
#include "run/energy/tally.hpp"

// Computes the energy and carbon of one site, and of a hypothetical site that never pauses.
namespace curtail::energy {

/// How a number was obtained. A `logged` number was read from files that the run wrote. A
/// `modelled` number was computed with a model, such as Power.
enum class Origin { logged, modelled };
/// Returns the origin's name, such as `logged`.
[[nodiscard]] char const* name(Origin origin);

/// Where a number comes from.
struct Provenance {
    Origin origin{Origin::modelled};
    std::string source;  ///< for the user, such as "power model x WattTime marginal signal"
    friend bool operator==(Provenance const&, Provenance const&) = default;
};

/// The energy and carbon of one site, and where their values come from.
struct Bill {
    std::map<PowerState, Tally> by_state{};
    Tally total{};
    WattHours inside_windows{};  ///< energy drawn while the site's window was open or closing

    Bill& operator+=(Bill const& other);
    /// Returns `inside_windows` as a fraction of the total energy, or an empty optional if no
    /// energy was drawn.
    [[nodiscard]] std::optional<double> inside_share() const;
};

/// How a site is billed while its settings do not change.
struct Billing {
    Interval when{Time::min(), Time::max()};
    std::optional<Power> power;  ///< empty: unknown
    /// Energy drawn while the intensity is below this threshold counts as clean. The technical
    /// report (arXiv:2602.22760) takes it for energy that would have been curtailed.
    GramsPerKwh threshold{100};
    IntensitySeries intensity;
};
/// How a site is billed over all time: in order, without gaps and without overlap.
using Billings = std::vector<Billing>;

/// Computes the bill of a site. `states` are the site's states while it had devices; they must not
/// overlap each other. `windows` are the intervals in which the site's window was open or closing.
/// These intervals must be in order of time, and must not overlap each other.
[[nodiscard]] Bill bill_of(std::span<StateInterval const> states, std::span<Interval const> windows,
                           Billings const& billings);

/// Computes running totals at `count` times: `from`, `from + step`, and so on. Each total counts
/// the energy and carbon since `from`.
[[nodiscard]] std::vector<Tally> cumulative(std::span<StateInterval const> states,
                                            Billings const& billings, Time from, Millis step,
                                            std::size_t count);

/// Returns the parts of `states` that lie inside `interval`.
[[nodiscard]] std::vector<StateInterval> clip(std::span<StateInterval const> states,
                                              Interval interval);

/// The bill of always-on training: one site does the work of the run and never pauses.
struct AlwaysOnBill {
    Interval when;  ///< when this site would train
    /// The part of `when` up to the end of the observed signal. The bill covers only this part,
    /// because the intensity after it is unknown.
    Interval observed;
    Tokens tokens;  ///< trained in `observed`
    Tally tally;    ///< of `observed`
};
/// Computes the energy and carbon of always-on training. The site trains on `tokens` tokens, from
/// `start` on, at training power. `start`, `tokens_per_second` and `billings` must use the same
/// clock; in a replay, this is the signal's clock. Throws std::invalid_argument if
/// `tokens_per_second` is not positive.
[[nodiscard]] AlwaysOnBill always_on(Tokens tokens, double tokens_per_second, Time start,
                                     Billings const& billings);

}  // namespace curtail::energy
