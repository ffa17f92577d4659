// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "bill/account/figures.hpp"
#include "bill/account/parts.hpp"
#include "bill/account/text.hpp"

namespace curtail::account {
namespace {

std::string below_text(Account const& a)
{
    if (std::ranges::any_of(a.sites, &has_changed_threshold)) return "below the threshold in force";
    return "< " + each_site(a, &thresholds_text) + " g/kWh";
}

}  // namespace

std::vector<ProvenanceNote> provenance_of(Account const& a)
{
    using energy::Origin;
    bool const has_meter = std::ranges::any_of(
        a.sites, [](auto const& site) { return site.metered && site.metered->is_used; });
    std::string const signal = a.signal_provider.empty() ? "no signal" : a.signal_provider;
    return {
        {"co2",
         "CO₂",
         {Origin::modelled, "power model × " + signal},
         "Integral of power × marginal intensity over each state, summed over sites. Accounting "
         "rule " +
             rule_text() +
             ". Where no sample holds, intensity is unknown: that energy is shown, and its CO₂ is "
             "not in the sum. Negative intensity counts as 0. Without any sample there is no "
             "figure. Power includes each site's PUE. Always-on: the run's tokens at the rate of "
             "the steps and the training power of the region's site (else of the reference site), "
             "from the "
             "signal's first sample to the end of the observed signal, by the same integral. The "
             "run and always-on are compared over the tokens that both have."},
        {"energy",
         "Energy",
         {Origin::modelled,
          has_meter ? "power model, training in part metered" : "power model, no meter"},
         std::string("Two power levels per site, from its configuration: one for training, one for "
                     "any other state in which it holds devices, or in which idle nodes count. ") +
             (has_meter ? "Where the site file says what the meters cover, training is metered."
                        : "Not metered.")},
        {"share",
         "Share below the threshold",
         {Origin::modelled, "as energy, " + below_text(a)},
         "Energy drawn while the site's own intensity was below its threshold, divided by all "
         "energy. That is a sign of curtailment, not curtailment itself. Inside windows: energy "
         "drawn while the window was open or "
         "closing, divided by all energy; it includes what the close delay costs."},
        {"wall",
         "Wall time",
         {Origin::logged, "optimizer steps"},
         "Time of the last logged optimizer step after time zero, on the signal's clock."},
        {"ppl",
         "Loss",
         {Origin::logged, a.held_out ? "held-out text" : "training loss only"},
         "Held-out loss belongs to the commit it names and is measured on text that no site "
         "trained on. The unigram entropy of that text is the loss of a model that knows only "
         "token frequencies. Training perplexity is the least value of the smoothed training "
         "curve; it says nothing about text that the run has not seen."},
        {"tokens",
         "Tokens",
         {Origin::logged, "chain of commits"},
         "Tokens in the committed model, by the ledger of the last commit. By site: tokens of its "
         "included contributions."},
        {"goodput",
         "Goodput",
         {Origin::logged, "trainers' states"},
         "Time in training, times the fraction of each site's trained tokens that the model "
         "includes, divided by the time from a window's opening (or the release of the job "
         "before) to the release of the devices, over all sites. Refused, lost and undecided work "
         "does not count."}};
}

}  // namespace curtail::account
