// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "account/parts.hpp"

namespace curtail::account {

Evaluation evaluation_of(RunFiles const& files)
{
    if (!files.evaluation) return {};
    auto const& found = *files.evaluation;
    auto const commit =
        std::find_if(files.commits.begin(), files.commits.end(),
                     [&](CommitSummary const& c) { return c.number == found.commit.value; });
    auto const rejected = [](std::string const& why) {
        return Evaluation{{}, "evaluation.json belongs to another run: " + why};
    };
    if (commit == files.commits.end())
        return rejected(fmt::format("this run has no commit {}", found.commit.value));
    if (found.trained_tokens && *found.trained_tokens != commit->tokens)
        return rejected(
            fmt::format("its model was trained on {} tokens, and commit {} of this run "
                        "on {}",
                        found.trained_tokens->value, found.commit.value, commit->tokens.value));
    HeldOut held;
    held.commit = found.commit.value;
    held.trained = commit->tokens;
    held.loss = found.loss;
    held.unigram_entropy = found.unigram_entropy;
    held.tokens = found.tokens;
    held.bits_per_byte = found.bits_per_byte;
    for (auto const& c : files.commits)
        if (c.kind == CommitSummary::Kind::merge && c.number > held.commit) held.newer = c.number;
    return {held, {}};
}

}  // namespace curtail::account
