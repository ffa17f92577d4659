// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/store.hpp"

namespace curtail::protocol::simulator {

/// The state of the commit from which a simulated fork continues.
struct Origin {
    Round round;
    Ranges done;
    Ranges aside;
    bool has_momentum{};
};

/// Returns `run` as a fork of another run.
[[nodiscard]] RunSpec forked(RunSpec run);

/// Creates run.json, commit 1 and the payloads of the fork `run`, as `curtail-store fork` does. If
/// `forgets` is set, commit 1 states that its model contains no block.
void store_fork(SimStore& store, RunSpec const& run, Origin const& origin, bool forgets);

}  // namespace curtail::protocol::simulator
