// SPDX-License-Identifier: Apache-2.0
#include "protocol/rules/fork.hpp"

#include "protocol/records/names.hpp"
#include "protocol/rules/next.hpp"
#include "protocol/rules/refusal.hpp"

namespace curtail::protocol {

Commit first_of_fork(RunSpec const& run, Digest const& run_sha256, Commit const& origin,
                     CommitWriter const& by, Time now)
{
    auto c = genesis(run, run_sha256, by, now, origin.model.weights);
    c.round = c.model.round = origin.round;
    c.recent = {{origin.round, c.number}};
    c.outer = origin.outer;
    c.totals = origin.totals;
    c.done = origin.done;
    c.aside = origin.aside;
    return c;
}

std::optional<std::string> broken_fork_rule(RunSpec const& run, Digest const& run_sha256,
                                            Commit const& first)
{
    if (first.parent != run_sha256) return "must name the digest of run.json";
    if (first != first_of_fork(run, run_sha256, first, first.by, first.time))
        return "must only repeat the state of another run";
    auto const stream = Ranges::between(0, run.stream_blocks());
    if (first.done.overlaps(first.aside)) return "no block must be done and aside";
    if (!stream.contains(first.done + first.aside))
        return "done and aside must lie inside the stream";
    if (first.done + first.aside == stream) return "must leave blocks to train";
    if (!has_tokens(run, first.done, first.totals.tokens))
        return "totals must count the tokens of all blocks that are done";
    return std::nullopt;
}

}  // namespace curtail::protocol
