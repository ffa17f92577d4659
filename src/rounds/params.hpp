// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "core/units.hpp"

namespace curtail::rounds {

/// Parameters of the round protocol, part of run.json and so the same for every site of a run.
/// Names and defaults: docs/rounds.md.
struct Params {
    Millis round_time{
        600'000};  ///< time between the model's take-over and the cut, with several members
    std::int64_t local_steps{0};          ///< cut after this many steps instead; 0: off
    Millis checkpoint_interval{600'000};  ///< a lone member commits its weights this often
    Millis gather_time{30'000};  ///< a merger waits at most this long for the others' headers
    Millis lease{120'000};       ///< a lease to merge is believed this long
    Millis first_base_wait{
        180'000};  ///< a joiner beside a lone member waits at most this long for a common base
    Millis poll_run_lone{5'000};      ///< look for a new commit this often when alone,
    Millis poll_run{30'000};          ///< with several members,
    Millis poll_run_starved{10'000};  ///< and with nothing left to train
    Millis poll_wait{2'000};  ///< look for headers and commits this often while waiting for a merge
    Millis drop_after{1'800'000};   ///< a member not seen for this long is suspect
    Millis skew{60'000};            ///< allowance for the store's clock on top of drop_after
    std::int64_t max_undecided{2};  ///< contributions in flight per member (one more when leaving)
    std::int64_t max_staleness{2};  ///< rounds; older contributions are refused
    std::int64_t max_missed{
        2};  ///< merges in a row without a contribution that make a member suspect
    std::int64_t keep_models{3};       ///< newest models kept
    std::int64_t milestone_every{50};  ///< every so many rounds a model is kept for good; 0: never
    std::int64_t outer_min_permille{
        250};  ///< least work for an outer step, in 1/1000 of what the members could have done
    std::int64_t staleness_discount_permille{250};  ///< weight 1 / (1 + discount * staleness)
    std::int64_t block_tokens{65'536};
    std::int64_t grant_quantum{16};  ///< blocks; grants are rounded up to it
    friend bool operator==(Params const&, Params const&) = default;
};

/// The outer optimizer: what turns averaged deltas into the next model.
struct Outer {
    enum class Kind { average, nesterov };  ///< theta - g, or Nesterov with momentum in the commit
    Kind kind{Kind::average};
    double eta{0.7};  ///< outer learning rate, nesterov only
    double mu{0.9};   ///< outer momentum, nesterov only
    friend bool operator==(Outer const&, Outer const&) = default;
};

}  // namespace curtail::rounds
