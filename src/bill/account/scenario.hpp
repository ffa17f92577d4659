// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "bill/account/loss.hpp"
#include "bill/account/times.hpp"
#include "run/energy/tally.hpp"

// What a run is compared with. account.hpp explains numbers named `..._s`.
namespace curtail::account {

/// How fast a site trains.
struct SiteRate {
    double tokens_per_s{};  ///< tokens per real second, over some of the site's steps
    /// Whether these are the steps that ran while no other site held devices. Otherwise, the site
    /// has no such step, and these are all its steps.
    bool lone{true};
    friend bool operator==(SiteRate const&, SiteRate const&) = default;
};

/// A scenario in a comparison: the run itself, or always-on training.
struct Scenario {
    std::string id;  ///< `run`, or `one:REGION` (one site, always on in REGION)
    std::string label;
    std::string region;  ///< empty for `run`
    std::size_t sites{1};
    std::string as_site;    ///< site of the run whose rate and power this has; empty for `run`
    bool elsewhere{false};  ///< whether `as_site` is in another region than the scenario
    std::optional<SiteRate> rate;  ///< the rate of `as_site`
    /// Duration of the scenario; for `run`, from time zero to the last step. Always-on may last
    /// longer than the observed signal.
    MaybeSeconds wall_s;
    std::optional<double> step;  ///< real seconds per step
    energy::Tally tally;
    Tokens tokens;  ///< of always-on: those until the end of the observed signal
    /// The part of always-on up to the end of the observed signal, as a fraction of its time.
    double observed{1};
    std::optional<double> perplexity;  ///< lowest smoothed training perplexity
    std::optional<double> held_out_perplexity;
    std::optional<FinalLoss> tail;
};

/// Running totals at `from_s`, and every `Account::always_on_step_s` after it.
struct RunningTotals {
    double from_s{};
    std::vector<energy::Tally> tallies;
};

}  // namespace curtail::account
