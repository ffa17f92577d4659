// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string_view>

#include "base/core/units.hpp"
#include "run/energy/interval.hpp"

namespace curtail::energy {

/// What a site does with its devices. A site without devices has no state and draws no power.
/// - `starting`: the job has started, and the trainer has not yet entered any other state;
/// - `training`: steps run;
/// - `exchange`: the site cuts, waits for the merge, or adopts;
/// - `idle`: the trainer has no blocks, copies a snapshot, or was killed in the state `training`;
/// - `draining`: the trainer is stopping and runs no step, or has exited;
/// - `suspended`: the scheduler had suspended the job, and its processes did not run;
/// - `frozen`: the processes did not run, and the scheduler did not say why;
/// - `stalled`: a step took much longer than all others, although the processes ran;
/// - `requeued`: the job waited to start again under the same number, as far as its logs tell;
/// - `between_jobs`: no job of the site ran, and its nodes stayed switched on for it.
/// The account finds the last five; a trainer does not log them.
enum class PowerState {
    starting,
    training,
    exchange,
    idle,
    draining,
    suspended,
    frozen,
    stalled,
    requeued,
    between_jobs
};
inline constexpr PowerState all_states[] = {
    PowerState::starting, PowerState::training,    PowerState::exchange, PowerState::idle,
    PowerState::draining, PowerState::suspended,   PowerState::frozen,   PowerState::stalled,
    PowerState::requeued, PowerState::between_jobs};
/// Returns the state's name, such as `training`.
[[nodiscard]] char const* name(PowerState state);
/// Returns the state with the name `name`, or an empty optional if there is none.
[[nodiscard]] std::optional<PowerState> state_named(std::string_view name);

/// An interval in which a site was in one state.
struct StateInterval {
    PowerState state{PowerState::idle};
    Interval when;
    friend bool operator==(StateInterval const&, StateInterval const&) = default;
};

/// What a site's nodes do while none of its jobs runs.
enum class BetweenJobs {
    unknown,   ///< the bill states both figures
    released,  ///< others use them, or they are switched off
    idle       ///< they stay switched on for the site
};
/// Returns the name, such as `released`.
[[nodiscard]] char const* name(BetweenJobs between_jobs);

/// The power that a site's devices draw. Nothing is metered: this is a model with two levels.
struct Power {
    Watts idle;      ///< in every state except `training` and `stalled`
    Watts training;  ///< in `training`, and in `stalled`, where devices may compute
    /// Power usage effectiveness of the building: its total power, divided by the power of its
    /// devices (ISO/IEC 30134-2). At least 1.
    double pue{1};
    /// Returns the power that the building draws for the site in `state`: the power of the devices,
    /// multiplied by `pue`.
    [[nodiscard]] Watts of(PowerState state) const
    {
        bool const computes = state == PowerState::training || state == PowerState::stalled;
        return pue * (computes ? training : idle);
    }
    friend bool operator==(Power const&, Power const&) = default;
};

}  // namespace curtail::energy
