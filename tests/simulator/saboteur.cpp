// SPDX-License-Identifier: Apache-2.0
#include "simulator/saboteur.hpp"

#include "simulator/sabotage.hpp"

namespace curtail::protocol::simulator {

std::unique_ptr<Saboteur> saboteur_of(std::optional<Fault> fault, RunSpec const& run,
                                      SimStore& store)
{
    if (fault)
        for (auto const make : {saboteur_of_commits, saboteur_of_orders, saboteur_of_inputs})
            if (auto saboteur = make(*fault, run, store)) return saboteur;
    return std::make_unique<Saboteur>();
}

}  // namespace curtail::protocol::simulator
