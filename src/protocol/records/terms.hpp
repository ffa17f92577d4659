// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "protocol/records/record.hpp"

// The terms of a run: all that an amendment can change. Everything else in run.json is fixed.
namespace curtail::protocol {

/// Returns the terms with which a run begins.
[[nodiscard]] Terms terms_of(RunSpec const& run);
/// Returns `run` with other terms. Keeps Params::block_tokens, which is fixed.
[[nodiscard]] RunSpec with_terms(RunSpec run, Terms const& terms);
/// Returns `run` with the terms that `tip` states. They govern the commit that follows `tip`.
[[nodiscard]] RunSpec in_force(RunSpec const& run, Commit const& tip);

/// Says why the amendment cannot change the run after `commit`: for example, because
/// the new budget ends before blocks that the model includes. `run` gives all that no amendment
/// can change. Empty: the amendment is valid.
[[nodiscard]] std::optional<std::string> obstacle(RunSpec const& run, Commit const& commit,
                                                  Amendment const& amendment);

/// Lists the terms in which a site's configuration differs from those in force, as `KEY is A, and B
/// in this site's configuration`. Ignores the list of sites.
[[nodiscard]] std::vector<std::string> differences(Terms const& in_force, Terms const& ours);

}  // namespace curtail::protocol
