// SPDX-License-Identifier: Apache-2.0
#include "trainer/evaluate/follow/plan.hpp"

#include <algorithm>

namespace curtail::follow {
namespace {

// The place of the newest model that has a line.
std::optional<std::size_t> newest_with_line(std::span<protocol::Commit const> models,
                                            std::span<runlog::HeldOutLine const> lines)
{
    for (std::size_t i = models.size(); i-- > 0;)
        if (std::any_of(lines.begin(), lines.end(), [&](runlog::HeldOutLine const& line) {
                return line.commit == models[i].number && line.model == model_of(models[i]);
            }))
            return i;
    return std::nullopt;
}

}  // namespace

bool makes_model(protocol::Commit const& commit)
{
    return commit.kind != protocol::Commit::Kind::roster;
}

Digest model_of(protocol::Commit const& commit) { return commit.model.weights.sha256; }

std::span<protocol::Commit const> pending_models(std::span<protocol::Commit const> models,
                                                 std::span<runlog::HeldOutLine const> lines,
                                                 Round oldest_kept)
{
    if (auto const newest = newest_with_line(models, lines)) return models.subspan(*newest + 1);
    auto const first = std::ranges::lower_bound(models, oldest_kept, {}, &protocol::Commit::round);
    return models.subspan(static_cast<std::size_t>(first - models.begin()));
}

bool stays_lost(LostModel const& model)
{
    if (!model.is_kept) return true;
    return !model.is_newest && model.lost_for >= model.repair_wait;
}

bool may_pass(ExitCode code)
{
    return code == ExitCode::temporary || code == ExitCode::io || code == ExitCode::unavailable;
}

}  // namespace curtail::follow
