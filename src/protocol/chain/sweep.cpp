// SPDX-License-Identifier: Apache-2.0
#include "protocol/chain/sweep.hpp"

#include "protocol/chain/chain.hpp"
#include "protocol/records/terms.hpp"

namespace curtail::chain {
namespace {

std::string folder_of(RunId const& run) { return "runs/" + run.value; }

// The name in the store of an object of the run, relative to the run's folder.
std::string relative(RunId const& run, std::string const& name)
{
    auto const before = folder_of(run).size() + 1;
    return name.substr(std::min(before, name.size()));
}

Result<std::vector<SweepDecision>> list_payloads(chain::RunObjects const& objects)
{
    std::vector<SweepDecision> decisions;
    for (char const* kind : {"models", "deltas"}) {
        auto const folder = store::ObjectFolder::parse(folder_of(objects.run()) + "/" + kind);
        if (!folder) return tl::unexpected(folder.error());
        auto listing = objects.store().list_all(*folder, objects.call());
        if (!listing) return tl::unexpected(listing.error());
        for (auto& object : *listing)
            decisions.push_back(
                {{relative(objects.run(), object.name), object.info.size, object.info.modified},
                 upkeep::SweepReason::young});
    }
    return decisions;
}

Result<std::vector<SweepDecision>> list_leftovers(chain::RunObjects const& objects)
{
    auto const folder = store::ObjectFolder::parse(folder_of(objects.run()));
    if (!folder) return tl::unexpected(folder.error());
    auto listing = objects.store().leftovers(*folder, objects.call());
    if (!listing) return tl::unexpected(listing.error());
    std::vector<SweepDecision> decisions;
    for (auto& leftover : *listing)
        decisions.push_back({{relative(objects.run(), leftover.name), {0}, leftover.modified},
                             upkeep::SweepReason::young,
                             std::move(leftover.upload),
                             true});
    return decisions;
}

Result<void> remove(chain::RunObjects const& objects, SweepDecision const& decision)
{
    if (decision.leftover)
        return objects.store().remove_leftover(
            {folder_of(objects.run()) + "/" + decision.object.name, decision.upload,
             decision.object.modified},
            objects.call());
    auto const name = chain::object_name(objects.run(), decision.object.name);
    if (!name) return tl::unexpected(name.error());
    return objects.store().remove(*name, objects.call());
}

}  // namespace

Result<SweepPlan> plan_sweep(chain::RunObjects const& objects, Time now,
                             upkeep::SweepRules const& rules)
{
    auto payloads = list_payloads(objects);
    if (!payloads) return tl::unexpected(payloads.error());
    auto leftovers = list_leftovers(objects);
    if (!leftovers) return tl::unexpected(leftovers.error());
    // The chain comes second: it decides the round of every model that was listed, unless the round
    // is still open.
    auto const chain = chain::read_chain(objects, chain::Check::rules);
    if (!chain) return tl::unexpected(chain.error());
    auto const run = objects.spec();
    if (!run) return tl::unexpected(run.error());
    if (chain->empty() || !*run)
        return fail(ExitCode::no_input, "cannot sweep run " + objects.run().value,
                    "the store has no commit of it", "check the name of the run and the store");
    upkeep::NeededPayloads needed(protocol::in_force(**run, chain->back()).params);
    for (auto const& commit : *chain) needed.add(commit);
    SweepPlan plan{needed.newest(), needed.round(), now, std::move(*payloads)};
    for (auto& decision : plan.decisions)
        decision.reason = upkeep::decide(needed, decision.object, now, rules);
    for (auto& decision : *leftovers) {
        decision.reason = upkeep::decide_leftover(decision.object, now, rules);
        plan.decisions.push_back(std::move(decision));
    }
    return plan;
}

SweepResult carry_out(chain::RunObjects const& objects, SweepPlan const& plan,
                      std::function<void(std::int64_t done)> const& progress)
{
    SweepResult result;
    for (auto const& decision : plan.decisions) {
        if (!upkeep::is_deletion(decision.reason)) continue;
        if (objects.call().is_over()) break;
        if (auto const removed = remove(objects, decision); !removed) {
            result.errors.push_back(removed.error());
            continue;
        }
        ++result.deleted;
        result.freed += decision.object.size;
        if (progress) progress(result.deleted);
    }
    return result;
}

}  // namespace curtail::chain
