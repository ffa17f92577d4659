// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "protocol/site/site.hpp"
#include "simulator/fault.hpp"
#include "simulator/store.hpp"

namespace curtail::protocol::simulator {

/// Stands between the state machine of one process and the rest of the simulation. The state
/// machine is correct. A saboteur changes its configuration, its inputs or its outputs, so that the
/// process as a whole breaks one rule. This one changes nothing.
class Saboteur {
  public:
    Saboteur() = default;
    Saboteur(Saboteur const&) = delete;
    Saboteur& operator=(Saboteur const&) = delete;
    virtual ~Saboteur() = default;

    /// Changes the configuration of the process before it starts.
    virtual void configure(SiteConfig&) {}
    /// Passes an input on to the site. Returns the outputs of the process.
    [[nodiscard]] virtual std::vector<Output> on(Site& site, MonoTime now, Input const& input)
    {
        return site.on(now, input);
    }
};

/// Returns a new saboteur for one process of `run`. The faults that a Saboteur cannot make are
/// those of the parts of the simulation that carry orders out: the store, the sweep and the fork.
/// `store` must outlive the result.
[[nodiscard]] std::unique_ptr<Saboteur> saboteur_of(std::optional<Fault> fault, RunSpec const& run,
                                                    SimStore& store);

}  // namespace curtail::protocol::simulator
