// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "protocol/records/record.hpp"

// The rules by which a commit refuses a contribution (docs/rounds.md).
namespace curtail::protocol {

/// Returns true if the blocks of `ranges` have `tokens` tokens in total. Does not overflow for any
/// ranges that a record can hold.
[[nodiscard]] bool has_tokens(RunSpec const& run, Ranges const& ranges, Tokens tokens);

/// Returns the reason why a commit after `parent` must refuse the contribution that `header`
/// announces. `held` are the blocks that the contribution's member holds. Checks the reasons
/// `wrong_run`, `bad_tokens`, `not_held`, `stale` and `nan`, in this order. Returns an empty
/// optional if none of them applies. Does not check the reasons `digest` and `norm`:
/// KnownContribution::bad reports these faults.
[[nodiscard]] std::optional<Refusal> refusal(RunSpec const& run, Commit const& parent,
                                             Ranges const& held, Header const& header);

/// Returns sqrt(q / t), where q is Header::sumsq() and t is the contribution's number of tokens.
/// Returns 0 if t is 0 or the result would not be finite.
[[nodiscard]] double delta_norm(Header const& header);

}  // namespace curtail::protocol
