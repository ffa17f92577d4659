// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "bill/account/parts.hpp"

namespace curtail::account {

namespace {

// The commit of this run that a line is about; null if the line is of another run.
CommitSummary const* commit_of(RunFiles const& files, runlog::HeldOutLine const& line)
{
    auto const it =
        std::find_if(files.commits.begin(), files.commits.end(),
                     [&](CommitSummary const& c) { return c.number == line.commit.value; });
    if (it == files.commits.end()) return nullptr;
    return it->tokens == line.trained && it->model == line.model ? &*it : nullptr;
}

std::optional<std::int64_t> newer_than(RunFiles const& files, std::int64_t commit)
{
    std::optional<std::int64_t> newer;
    for (auto const& c : files.commits)
        if (c.kind == CommitSummary::Kind::merge && c.number > commit) newer = c.number;
    return newer;
}

// The newest loss in the sites' journals.
std::optional<HeldOut> newest_followed(RunFiles const& files)
{
    std::optional<HeldOut> newest;
    for (auto const& [site, line] : followed_of(files)) {
        if (!line.loss || !line.unigram_entropy) continue;
        HeldOut held;
        held.commit = line.commit.value;
        held.trained = line.trained;
        held.loss = *line.loss;
        held.unigram_entropy = *line.unigram_entropy;
        held.tokens = line.tokens;
        held.bits_per_byte = line.bits_per_byte;
        held.newer = newer_than(files, held.commit);
        held.followed = true;
        newest = held;
    }
    return newest;
}

// The evaluation in evaluation.json.
Evaluation evaluation_in_file(RunFiles const& files)
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
    held.newer = newer_than(files, held.commit);
    return {held, {}};
}

}  // namespace

std::vector<FollowedModel> followed_of(RunFiles const& files)
{
    if (files.commits.empty()) return {};
    std::vector<std::pair<SiteId, std::vector<runlog::HeldOutLine>>> lines;
    for (std::size_t s = 0; s < files.sites.size(); ++s) {
        auto& mine = lines.emplace_back(files.run.sites.at(s).site, files.sites[s].evaluations);
        std::erase_if(mine.second, [&](runlog::HeldOutLine const& line) {
            return commit_of(files, line) == nullptr;
        });
    }
    return followed_models(lines, {files.commits.back().number});
}

std::vector<FollowedLoss> followed_losses(RunFiles const& files, Axis const& axis)
{
    std::vector<FollowedLoss> losses;
    for (auto& model : followed_of(files)) {
        auto const* commit = commit_of(files, model.line);
        losses.push_back({std::move(model), axis.at(commit->time)});
    }
    return losses;
}

Evaluation evaluation_of(RunFiles const& files)
{
    auto evaluation = evaluation_in_file(files);
    auto const followed = newest_followed(files);
    if (followed && (!evaluation.held_out || evaluation.held_out->commit < followed->commit))
        evaluation.held_out = followed;
    return evaluation;
}

}  // namespace curtail::account
