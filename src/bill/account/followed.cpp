// SPDX-License-Identifier: Apache-2.0
#include "bill/account/followed.hpp"

#include <fmt/format.h>

#include <map>

namespace curtail::account {
namespace {

// Returns the model with the lowest loss on the same text, of those before `newest`.
std::optional<FollowedModel> lowest_before(std::vector<FollowedModel> const& models,
                                           FollowedModel const& newest)
{
    std::optional<FollowedModel> lowest;
    for (auto const& model : models) {
        auto const& line = model.line;
        bool const is_comparable = line.loss && line.commit < newest.line.commit &&
                                   line.data == newest.line.data &&
                                   line.tokens == newest.line.tokens;
        if (is_comparable && (!lowest || *line.loss < *lowest->line.loss)) lowest = model;
    }
    return lowest;
}

// A site's line about each commit. A later line goes before an earlier one, because the earlier one
// may be of an earlier run. Of one model, an evaluation stays.
std::map<CommitNumber, runlog::HeldOutLine> last_lines(
    std::vector<runlog::HeldOutLine> const& lines)
{
    std::map<CommitNumber, runlog::HeldOutLine> last;
    for (auto const& line : lines) {
        auto const [it, is_new] = last.emplace(line.commit, line);
        if (is_new) continue;
        bool const is_other_model = line.model != it->second.model;
        if (is_other_model || line.is_evaluated() || !it->second.is_evaluated()) it->second = line;
    }
    return last;
}

}  // namespace

std::vector<FollowedModel> followed_models(
    std::vector<std::pair<SiteId, std::vector<runlog::HeldOutLine>>> const& sites,
    CommitNumber newest)
{
    std::map<CommitNumber, FollowedModel> by_commit;
    for (auto const& [site, lines] : sites)
        for (auto const& [commit, line] : last_lines(lines)) {
            if (commit > newest) continue;
            auto const [it, is_new] = by_commit.emplace(commit, FollowedModel{site, line});
            if (!is_new && line.is_evaluated() && !it->second.line.is_evaluated())
                it->second = {site, line};
        }
    std::vector<FollowedModel> models;
    models.reserve(by_commit.size());
    for (auto& [commit, model] : by_commit) models.push_back(std::move(model));
    return models;
}

std::optional<double> FollowedState::rise() const
{
    if (!newest.line.loss || !lowest) return std::nullopt;
    return *newest.line.loss - *lowest->line.loss;
}

std::optional<FollowedState> followed_state(std::vector<FollowedModel> const& models,
                                            CommitNumber newest, Round round)
{
    std::optional<FollowedState> state;
    std::int64_t missing = 0;
    for (auto const& model : models) {
        missing += model.line.is_evaluated() ? 0 : 1;
        if (!model.line.is_evaluated()) continue;
        auto const& line = model.line;
        state = FollowedState{model,
                              {},
                              std::max<std::int64_t>(0, round.value - line.round.value),
                              newest.value - line.commit.value,
                              0};
    }
    if (!state) return state;
    state->lowest = lowest_before(models, state->newest);
    state->missing_models = missing;
    return state;
}

std::vector<std::string> followed_warnings(FollowedState const& state,
                                           config::HeldOutBounds const& bounds)
{
    std::vector<std::string> warnings;
    auto const commit = state.newest.line.commit.value;
    if (!state.newest.line.loss)
        warnings.push_back(fmt::format("the held-out loss of commit {} is not finite", commit));
    if (auto const rise = state.rise(); rise && *rise > bounds.rise_nats)
        warnings.push_back(fmt::format(
            "the held-out loss of commit {} is {:.3f} nats per token above that of commit {}, the "
            "lowest before it (bound: {:g})",
            commit, *rise, state.lowest->line.commit.value, bounds.rise_nats));
    if (state.behind_models > bounds.behind_models)
        warnings.push_back(
            fmt::format("the held-out losses are {} models behind (bound: {}); see whether "
                        "`curtail-model evaluate --follow` runs at {}, and whether it is fast "
                        "enough",
                        state.behind_models, bounds.behind_models, state.newest.site.value));
    return warnings;
}

}  // namespace curtail::account
