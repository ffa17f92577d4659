// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "core/units.hpp"

namespace curtail::rounds {

/// Parameters of the round protocol. They are part of run.json and therefore equal at every site.
/// Names and defaults: docs/rounds.md.
struct Params {
    Millis round_time{600'000};   ///< from adopting a model to the cut, with several members
    std::int64_t local_steps{0};  ///< cut after this many steps if that is earlier; 0: off
    Millis checkpoint_interval{600'000};  ///< a lone member commits its weights this often
    Millis gather_time{30'000};           ///< a merger waits at most this long for headers
    Millis lease{120'000};                ///< a merge lease is valid this long
    Millis first_base_wait{180'000};      ///< longest wait of a joiner for a lone member's commit
    Millis poll_run_lone{5'000};          ///< interval of reads for a new commit when alone,
    Millis poll_run{30'000};              ///< with several members,
    Millis poll_run_starved{10'000};      ///< and with nothing left to train
    Millis poll_wait{2'000};              ///< the same for headers and commits around a merge
    Millis drop_after{1'800'000};         ///< a member not seen for this long is suspect
    Millis skew{60'000};                  ///< allowance for the store's clock on top of drop_after
    std::int64_t max_undecided{2};     ///< contributions in flight per member; one more on leaving
    std::int64_t max_staleness{2};     ///< rounds; older contributions are refused
    std::int64_t max_missed{2};        ///< merges in a row without a contribution: suspect
    std::int64_t keep_models{3};       ///< newest models kept
    std::int64_t milestone_every{50};  ///< keep every nth round's model for good; 0: none
    std::int64_t outer_min_permille{250};  ///< least work for an outer step with momentum, in
                                           ///< 1/1000 of the members' capacity
    std::int64_t staleness_discount_permille{250};  ///< weight 1 / (1 + discount * staleness)
    std::int64_t block_tokens{65'536};
    std::int64_t grant_quantum{16};  ///< blocks; grants are rounded up to it
    friend bool operator==(Params const&, Params const&) = default;
};

/// The outer optimizer: turns averaged deltas into the next model.
struct Outer {
    enum class Type { average, nesterov };  ///< theta - g, or Nesterov with momentum in the commit
    Type type{Type::average};
    double eta{0.7};  ///< outer learning rate, nesterov only
    double mu{0.9};   ///< outer momentum, nesterov only
    friend bool operator==(Outer const&, Outer const&) = default;
};

}  // namespace curtail::rounds
