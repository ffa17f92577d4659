// SPDX-License-Identifier: Apache-2.0
#include "bill/status/held_out.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace curtail::status {
namespace {

std::string behind_text(account::FollowedState const& state)
{
    if (state.behind_models == 0) return "the newest model";
    return fmt::format("{} model{} ({} commit{}) behind", state.behind_models,
                       state.behind_models == 1 ? "" : "s", state.behind_commits,
                       state.behind_commits == 1 ? "" : "s");
}

}  // namespace

std::optional<HeldOutView> read_held_out(config::Run const& run, LogView const& logs,
                                         ChainView const& chain)
{
    std::vector<std::pair<SiteId, std::vector<runlog::HeldOutLine>>> lines;
    for (std::size_t s = 0; s < run.sites.size(); ++s)
        if (auto const& site = logs.sites.at(s))
            lines.emplace_back(run.sites[s].site, site->evaluations);
    auto const& tip = chain.tip;
    auto const state =
        account::followed_state(account::followed_models(lines, tip.number), tip.number, tip.round);
    if (!state) return std::nullopt;
    return HeldOutView{*state, account::followed_warnings(*state, run.held_out)};
}

std::string held_out_text(HeldOutView const& view, Time now)
{
    auto const& state = view.state;
    auto const& line = state.newest.line;
    auto text = fmt::format("held-out  {} at commit {}, {}; at {}, {} ago\n",
                            line.loss ? fmt::format("{:.4f} nats per token", *line.loss)
                                      : std::string("loss not finite"),
                            line.commit.value, behind_text(state), state.newest.site.value,
                            format_duration(std::max(Millis{0}, now - line.time)));
    if (state.lowest)
        text += fmt::format("          lowest before: {:.4f} at commit {}\n",
                            *state.lowest->line.loss, state.lowest->line.commit.value);
    if (state.missing_models > 0)
        text += fmt::format("          {} model{} not evaluated: deleted or damaged\n",
                            state.missing_models, state.missing_models == 1 ? "" : "s");
    for (auto const& warning : view.warnings) text += "warning   " + warning + "\n";
    return text;
}

json::Value held_out_json(HeldOutView const& view)
{
    auto const& state = view.state;
    auto const& line = state.newest.line;
    json::Value lowest;
    if (state.lowest)
        lowest = json::Object{{"commit", state.lowest->line.commit.value},
                              {"loss_nats", state.lowest->line.loss}};
    json::Array warnings;
    for (auto const& warning : view.warnings) warnings.push_back(warning);
    return json::Object{{"site", state.newest.site.value},
                        {"commit", line.commit.value},
                        {"round", line.round.value},
                        {"time", format_time(line.time)},
                        {"loss_nats", line.loss},
                        {"standard_error_nats", line.standard_error},
                        {"unigram_entropy_nats", line.unigram_entropy},
                        {"bits_per_byte", line.bits_per_byte},
                        {"lowest_before", std::move(lowest)},
                        {"behind_models", state.behind_models},
                        {"behind_commits", state.behind_commits},
                        {"missing_models", state.missing_models},
                        {"warnings", std::move(warnings)}};
}

}  // namespace curtail::status
