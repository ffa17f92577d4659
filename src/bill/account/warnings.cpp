// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.hpp"
#include "bill/account/parts.hpp"
#include "bill/account/text.hpp"

namespace curtail::account {
namespace {

double seconds(Millis ms) { return FractionalSeconds(ms).count(); }

// The bill counts work at a rate of 0 like other work. The report says how much there is.
std::optional<std::string> zero_rate_warning(std::string const& site,
                                             std::vector<runlog::StepMetrics> const& steps)
{
    std::int64_t count = 0;
    Tokens tokens;
    for (auto const& step : steps) {
        if (step.lr_scale != 0) continue;
        ++count;
        tokens += step.tokens;
    }
    if (count == 0) return std::nullopt;
    return fmt::format(
        "{} trained {} tokens in {} steps at a learning rate of 0, which changed no "
        "weight; the bill includes them",
        site, grouped(tokens.value), grouped(count));
}

}  // namespace

std::vector<std::string> warnings_of(RunFiles const& files, Timeline const& timeline)
{
    std::vector<std::string> warnings;
    for (std::size_t s = 0; s < files.sites.size(); ++s) {
        auto const& name = files.run.sites[s].site.value;
        if (auto const& back = files.sites[s].set_back; back.by > Millis{0})
            warnings.push_back(fmt::format(
                "the clock of {} was set back by {:.1f} s while it trained, as events.jsonl from "
                "{} to {} shows; the report takes the times from its monotonic clock",
                name, seconds(back.by), format_time(back.when.from), format_time(back.when.to)));
        if (auto warning = zero_rate_warning(name, files.sites[s].metrics))
            warnings.push_back(std::move(*warning));
        for (auto const& job : timeline.sites[s].jobs)
            for (auto const& doubt : job.doubts) warnings.push_back(name + ": " + doubt);
    }
    if (files.commits.empty()) return warnings;
    auto const& tip = files.commits.back();
    if (auto const state = followed_state(followed_of(files), {tip.number}, {tip.round}))
        for (auto& warning : followed_warnings(*state, files.run.held_out))
            warnings.push_back(std::move(warning));
    return warnings;
}

}  // namespace curtail::account
