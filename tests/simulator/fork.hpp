// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "rounds/policy.hpp"
#include "simulator/store.hpp"

namespace curtail::rounds::simulator {

/// The state of the commit from which a simulated fork continues.
struct Origin {
    Round round;
    Ranges done;
    Ranges aside;
    bool has_momentum{};
};

/// Returns `run` as a fork of another run.
[[nodiscard]] RunSpec forked(RunSpec run);

/// Creates run.json, commit 1 and the payloads of the fork `run`, as `curtail-store fork` does.
void store_fork(SimStore& store, RunSpec const& run, Origin const& origin, Policy policy);

}  // namespace curtail::rounds::simulator
