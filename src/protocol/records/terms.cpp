// SPDX-License-Identifier: Apache-2.0
#include "protocol/records/terms.hpp"

#include <fmt/format.h>

namespace curtail::protocol {
Terms terms_of(RunSpec const& run)
{
    Terms terms{run.sites, run.params, run.outer, run.budget};
    terms.params.block_tokens = Params{}.block_tokens;
    return terms;
}

RunSpec with_terms(RunSpec run, Terms const& terms)
{
    auto const block_tokens = run.params.block_tokens;
    run.sites = terms.sites;
    run.params = terms.params;
    run.params.block_tokens = block_tokens;
    run.outer = terms.outer;
    run.budget = terms.budget;
    return run;
}

RunSpec in_force(RunSpec const& run, Commit const& tip) { return with_terms(run, tip.terms); }

bool changes_falling_rates(RunSpec const& run, Commit const& commit, Terms const& before,
                           Terms const& after)
{
    auto const now = with_terms(run, before);
    return with_terms(run, after).schedule() != now.schedule() &&
           now.is_warmdown(commit.totals.tokens);
}

std::optional<std::string> obstacle(RunSpec const& run, Commit const& commit, Terms const& before,
                                    Terms const& after)
{
    if (changes_falling_rates(run, commit, before, after))
        return fmt::format(
            "it changes the budget after {} tokens, but the learning rates already fall toward the "
            "end of the budget of {} tokens",
            commit.totals.tokens.value, with_terms(run, before).end().value);
    auto const changed = with_terms(run, after);
    if (changed.stream_blocks() > run.data_blocks())
        return fmt::format(
            "its budget of {} tokens is larger than the data of all epochs, {} tokens",
            after.budget.value_or(Tokens{}).value,
            (run.data_blocks() * run.params.block_tokens).value);
    // The blocks that the run can no longer give up.
    auto needed = commit.done + commit.aside;
    for (auto const& m : commit.members) needed += m.held;
    if (!Ranges::between(0, changed.stream_blocks()).contains(needed))
        return "its budget ends before blocks that are done, aside or held by a member";
    return std::nullopt;
}

tl::expected<Terms, std::string> amended(RunSpec const& run, Commit const& commit,
                                         Amendment const& amendment)
{
    if (amendment.run != run.run) return tl::unexpected("it belongs to run " + amendment.run.value);
    if (amendment.base > commit.number)
        return tl::unexpected(
            fmt::format("it was made on commit {}, which does not exist", amendment.base.value));
    auto after = changed(commit.terms, amendment.changes);
    if (!after) return after;
    if (auto why = obstacle(run, commit, commit.terms, *after)) return tl::unexpected(*why);
    return after;
}

}  // namespace curtail::protocol
