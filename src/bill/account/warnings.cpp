// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.hpp"
#include "bill/account/parts.hpp"

namespace curtail::account {
namespace {

double seconds(Millis ms) { return FractionalSeconds(ms).count(); }

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
