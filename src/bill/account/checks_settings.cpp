// SPDX-License-Identifier: Apache-2.0
#include "bill/account/checks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.hpp"

namespace curtail::account {
namespace {

using energy::Bound;

// The bill has the settings that were in force. The present files may differ from them.
void check_site_file(Doubts& doubts, SiteRecords const& r)
{
    auto const& settings = r.timeline.settings;
    auto const add = [&](Bound bound, char const* title, std::string const& text) {
        doubts.push_back({r.index, bound, title, r.name() + ": " + text});
    };
    if (!settings.problem.empty())
        add(Bound::uncertain, "Unusable settings",
            settings.problem + ". The bill has the settings before.");
    if (!settings.contradiction.empty())
        add(Bound::uncertain, "Settings of poller and trainer differ",
            settings.contradiction +
                ", differ from those that the poller logged. The bill has those of the poller.");
    for (std::size_t i = 1; i < settings.all.size(); ++i)
        add(Bound::exact, "Settings have changed",
            fmt::format("{} changed at {}. The bill has each value while it was in force.",
                        differences(settings.all[i - 1].site, settings.all[i].site),
                        format_time(settings.all[i].from)));
    if (!settings.is_logged) return;
    if (auto const what = differences(settings.last(), r.site); !what.empty())
        add(Bound::exact, "Settings differ",
            fmt::format("{} of the present site file differ from {}, which was in force from {} "
                        "on. The bill has those in force. --recalculate makes a second bill with "
                        "the present ones.",
                        what, settings.file, format_time(settings.logged)));
}

// Always-on and the loss have the pace that was in force.
void check_run_file(Doubts& doubts, SiteRecords const& r, config::Run const& run)
{
    auto const& settings = r.timeline.settings;
    if (!settings.is_logged) return;
    auto const present = present_settings(run, r.site).paces.back();
    auto const what = differences(settings.paces.back(), present);
    if (what.empty()) return;
    doubts.push_back({r.index, Bound::exact, "Settings differ",
                      fmt::format("{}: {} of the present run file differ from {}, which was in "
                                  "force from {} on. Always-on and the loss have those in force.",
                                  r.name(), what, printable(run.file.filename().string()),
                                  format_time(settings.logged))});
}

}  // namespace

void check_settings(Doubts& doubts, SiteRecords const& r, RunFiles const& files)
{
    check_site_file(doubts, r);
    check_run_file(doubts, r, files.run);
}

}  // namespace curtail::account
