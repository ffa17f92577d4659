// SPDX-License-Identifier: Apache-2.0
#include "account/figures.hpp"
#include "core/build_info.hpp"
#include "reference/parts.hpp"

namespace curtail::reference {

std::vector<account::ProvenanceNote> provenance()
{
    using energy::Origin;
    return {{"co2",
             "CO₂",
             {Origin::modelled, "power model × WattTime marginal signal"},
             "Sum of power × marginal intensity on a 60 s grid, over sites. Signal: WattTime "
             "co2_moer, 5 min samples (lb/MWh × 0.453592). Accounting rule " +
                 account::rule_text(energy::AccountingRule::linear) +
                 ". Past its ends, the signal keeps its first or last value. PUE 1. Always-on: "
                 "2.024 kW from the first to the last step of the one-site "
                 "baseline, × the intensity of each region over "
                 "the same clock."},
            {"energy",
             "Energy",
             {Origin::modelled, "power model, no meter"},
             "Per site, 4 × A100: 2.024 kW while training, 0.468 kW while provisioned and not "
             "training, else 0. The 240 s of provisioning "
             "before each start carry no power."},
            {"share",
             "Curtailed share",
             {Origin::modelled, "as energy, < 100 g/kWh"},
             "Energy on grid points where the site's own interpolated intensity is below 100 "
             "g/kWh, over all energy."},
            {"wall",
             "Wall time",
             {Origin::logged, "optimizer steps"},
             "Time of the last logged optimizer step after time zero, of the run and of each "
             "baseline."},
            {"ppl",
             "Perplexity",
             {Origin::logged, "training loss only"},
             "Lowest smoothed: minimum of y(i) = 0.99 y(i-1) + 0.01 x(i) over logged rows; rows "
             "of several sites at the same second are "
             "averaged first. It depends on how densely "
             "a run was logged; the mean loss of the last 1000 steps does not."},
            {"tokens",
             "Tokens",
             {Origin::derived, "logged steps × 524,288"},
             "Optimizer steps inside rounds × 524,288. NEM_SA's log is thinned; its steps are the "
             "round's range less the partner's."},
            {"goodput",
             "Goodput",
             {Origin::logged, "steps and events"},
             "Time between the first and last step of each training segment, over time from "
             "provisioning start to release, all sites."}};
}

std::vector<account::FactGroup> facts_of(Logs const& logs, std::string const& source)
{
    return {{"Run",
             false,
             {{"source", source},
              {"executed", logs.events.front().wall_time + " to " + logs.events.back().wall_time +
                               ", zone not recorded"}}},
            {"Model",
             false,
             {{"architecture", "GPT, depth 20, width 1280, 10 heads of 128"},
              {"parameters", "560,988,200"},
              {"sequence / vocabulary", "2048 / 65,536"}}},
            {"Training",
             false,
             {{"batch", "524,288 tokens per site and step"},
              {"planned steps", "23,400"},
              {"inner optimizer", "Muon, AdamW; state discarded at every merge"},
              {"outer step", "plain average, weights by micro-batches"}}},
            {"Sites and devices",
             false,
             {{"each", "4 × A100"}, {"power model", "0.468 kW idle, 2.024 kW training, per site"}}},
            {"Windows and signals",
             false,
             {{"open below / close above", "100 / 100 g/kWh"},
              {"close delay", "600 s"},
              {"provider", "WattTime v3, co2_moer, marginal"}}},
            {"Software",
             false,
             {{"trainer", "Python prototype: Flower, nanochat, Vessim, Redis"},
              {"report", "Curtail " + std::string(build_info().version)}}}};
}

std::map<std::string, std::string> missing()
{
    return {{"delta_norm", "the reference did not record the norm of a round's delta"},
            {"bytes", "transfers were not metered"},
            {"transfer",
             "Upload and download were not logged apart: upload is in contribute + wait, download "
             "in adopt + restart."},
            {"comparison",
             "Always-on scenarios use the logs of the baseline runs, the same power model and the "
             "same intensities from the same time zero. "
             "Two sites: 2.024 kW each while training, 0.468 kW each in between; the range covers "
             "the three pairs of this run's regions."}};
}

std::vector<std::pair<std::string, std::string>> notes()
{
    return {{"Clock",
             "Decisions come 13.3 s before the trace crosses the threshold: the signal replay "
             "started that much before the logs' time zero. The figures are not shifted."},
            {"Provisioning",
             "Four starts of 240 s draw no power in the model; at 0.468 kW they would add 0.125 "
             "kWh."},
            {"Last round", "Round 38 ends without a recorded merge, 672 s after the last step."},
            {"Round 13", "CAISO_NORTH's 14 steps entered a merge 3.6 h after they were made."}};
}

}  // namespace curtail::reference
