// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <tl/expected.hpp>

#include "protocol/records/record.hpp"

// The terms of a run: all that an amendment can change. Everything else in run.json is fixed.
namespace curtail::protocol {

/// Returns the terms with which a run begins.
[[nodiscard]] Terms terms_of(RunSpec const& run);
/// Returns `run` with other terms. Keeps Params::block_tokens, which is fixed.
[[nodiscard]] RunSpec with_terms(RunSpec run, Terms const& terms);
/// Returns `run` with the terms that `tip` states. They govern the commit that follows `tip`.
[[nodiscard]] RunSpec in_force(RunSpec const& run, Commit const& tip);

/// Returns whether an amendment from `before` to `after` would change the schedule of the learning
/// rates although they already fall in `commit`.
[[nodiscard]] bool changes_falling_rates(RunSpec const& run, Commit const& commit,
                                         Terms const& before, Terms const& after);
/// Says why no amendment can change the terms from `before` to `after` in `commit`, whose own terms
/// do not count: for example, because the new budget ends before blocks that the model includes.
/// `run` gives all that no amendment can change. Empty: an amendment can.
[[nodiscard]] std::optional<std::string> obstacle(RunSpec const& run, Commit const& commit,
                                                  Terms const& before, Terms const& after);
/// Returns the terms after the amendment, if `commit` with its terms takes it in. Otherwise returns
/// why the amendment is void. It is void if it was made on other values of what it changes, if a
/// value is invalid, or if there is an obstacle().
[[nodiscard]] tl::expected<Terms, std::string> amended(RunSpec const& run, Commit const& commit,
                                                       Amendment const& amendment);

/// Returns what an amendment must state to change `from` to `to`. The order of sites has no
/// meaning.
[[nodiscard]] std::vector<TermChange> changes(Terms const& from, Terms const& to);
/// Returns the terms with these changes. Otherwise says why they are impossible: a `from` is not in
/// force, or the new terms are not valid.
[[nodiscard]] tl::expected<Terms, std::string> changed(Terms const& terms,
                                                       std::vector<TermChange> const& changes);
/// Says which change sets a value that no terms have, whatever the others are. Empty: none does.
[[nodiscard]] std::optional<std::string> invalid_value(std::vector<TermChange> const& changes);

/// Returns the key of a term in run files, such as `rounds.round_time_s`; of a site, its term.
[[nodiscard]] std::string file_key(std::string const& term);
/// Says what changes, for people.
[[nodiscard]] std::string to_text(TermChange const& change);

/// Lists the terms in which a site's configuration differs from those in force, as `KEY is A in the
/// run's terms and B in this site's configuration`. Ignores the list of sites.
[[nodiscard]] std::vector<std::string> differences(Terms const& in_force, Terms const& ours);

}  // namespace curtail::protocol
