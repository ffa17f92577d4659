// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "base/core/units.hpp"

namespace curtail::protocol {

inline constexpr std::int64_t max_undecided_limit = 100;  ///< greatest Params::max_undecided
inline constexpr std::int64_t keep_models_limit = 1000;   ///< greatest Params::keep_models

/// Parameters of the round protocol. They are part of run.json and therefore equal at every site.
/// All times are real time, even in a replay. docs/rounds.md explains each parameter.
struct Params {
    Millis round_time{600'000};  ///< time from a merge commit to the cut; not for a lone member
    /// The cut comes after this many steps if `round_time` has not passed by then. 0: no limit. Not
    /// for a lone member.
    std::int64_t local_steps{0};
    Millis checkpoint_interval{600'000};  ///< time between a lone member's commits of its weights
    Millis gather_time{30'000};           ///< longest wait for headers before a merge
    Millis lease{120'000};                ///< validity of a merge lease
    /// Longest time that a new member waits for a lone member to commit.
    Millis first_base_wait{180'000};
    Millis poll_run_lone{5'000};  ///< interval at which a lone member looks for the next commit
    Millis poll_run{30'000};      ///< the same interval for a member that is not lone
    /// Upper limit of `poll_run_lone` and `poll_run` for a starved member.
    Millis poll_run_starved{10'000};
    /// Interval at which a member looks for the next commit while it waits for a merge or for its
    /// first model. Before its own merge, it looks for missing headers at this interval too.
    Millis poll_wait{2'000};
    /// A member is suspect if its Member::seen is longer ago than `drop_after` + `skew`.
    Millis drop_after{1'800'000};
    Millis skew{60'000};  ///< largest expected error of the store's clock
    /// Most undecided contributions per member. A leaving member may have one more.
    std::int64_t max_undecided{2};
    std::int64_t max_staleness{2};  ///< in rounds; contributions with more staleness are refused
    /// A member is suspect if this many merges in a row decided no contribution of the member.
    std::int64_t max_missed{2};
    std::int64_t keep_models{3};  ///< number of newest models kept
    /// With the value n, the model of every nth round is never deleted. 0: no milestones.
    std::int64_t milestone_every{50};
    /// A merge takes the outer step with momentum only if it includes at least M * this / 1000
    /// tokens. M is the number of tokens that all members together can train on in `round_time`.
    /// Otherwise the merge averages.
    std::int64_t outer_min_permille{250};
    /// The weight of a contribution is divided by 1 + staleness * this parameter / 1000.
    std::int64_t staleness_discount_permille{250};
    /// How long a site retries to read a model for which it has requested a repair.
    Millis repair_wait{120'000};
    Millis sweep_after{86'400'000};  ///< age of an unused payload before a site deletes it
    Millis status_interval{60'000};  ///< interval at which a site writes `status/<site>.json`
    /// Most blocks that the run sets aside. 0: a thousandth of the stream, at least 1.
    std::int64_t max_aside{0};
    Tokens block_tokens{65'536};     ///< tokens in a block
    std::int64_t grant_quantum{16};  ///< in blocks; grant_target() is a multiple of this number
    friend bool operator==(Params const&, Params const&) = default;
};

/// Settings of the outer optimizer, which turns averaged deltas into the next model.
struct Outer {
    /// `average` subtracts the weighted average of the deltas. `nesterov` makes a Nesterov step
    /// with that average; its momentum is kept in the store.
    enum class Type { average, nesterov };
    Type type{Type::average};
    double eta{0.7};  ///< outer learning rate, nesterov only
    double mu{0.9};   ///< factor of the outer momentum, nesterov only
    friend bool operator==(Outer const&, Outer const&) = default;
};

}  // namespace curtail::protocol
