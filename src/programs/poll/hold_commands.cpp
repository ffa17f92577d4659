// SPDX-License-Identifier: Apache-2.0
#include "programs/poll/hold_commands.hpp"

#include "base/core/clock.hpp"
#include "base/core/text.hpp"
#include "run/permission/hold.hpp"
#include "run/permission/issue.hpp"

namespace curtail::programs {
namespace {

Result<permission::Hold> decide(config::Run const& run, SiteId const& site,
                                HoldCommand const& command)
{
    auto const folder = run.site_folder(site);
    auto const now = SystemClock{}.now();
    // A damaged file is replaced; the time gives a higher serial than any earlier decision has.
    auto const before = permission::read_hold(folder, run.run, site).value_or(std::nullopt);
    bool const has_serial = before && permission::is_plausible(before->serial, now);
    auto const serial = std::max(has_serial ? before->serial + 1 : 0, to_unix_ms(now));
    permission::Hold const hold{
        run.run, site, serial, command.held, command.reason, now, permission::this_person()};
    auto const written = permission::write_hold(folder, hold);
    if (!written)
        return tl::unexpected(written.error().with_context(
            (command.held ? "cannot pause site " : "cannot resume site ") + site.value));
    return hold;
}

// Stores the decision, reports it, and ends the permission of a site that is now paused.
Result<void> carry_out(config::Run const& run, SiteId const& site, HoldCommand const& command,
                       Console const& console)
{
    auto const hold = decide(run, site, command);
    if (!hold) return tl::unexpected(hold.error());
    console.print(site.value +
                  (hold->held ? ": paused: " + hold->reason : std::string(": resumed")) + "\n");
    if (!hold->held) return {};
    // The poller would end the permission too, but only at its next poll.
    auto const folder = run.site_folder(site);
    auto const present = permission::read_permission(folder, run.run, site).value_or(std::nullopt);
    auto const next = permission::renew(present, run.run, site,
                                        {false, {}, "paused by " + hold->by + ": " + hold->reason},
                                        {}, hold->since);
    auto const ended = next ? permission::write_permission(folder, *next) : Result<void>{};
    if (ended) return {};
    return tl::unexpected(ended.error().with_context(
        "site " + site.value +
        " is paused, but its permission still stands until the poller ends it"));
}

}  // namespace

Result<void> store_decision(config::Run const& run, std::vector<config::Site const*> const& sites,
                            HoldCommand const& command, Console const& console)
{
    Result<void> all;
    for (auto const* site : sites) {
        auto done = carry_out(run, site->site, command, console);
        if (!done && all) all = std::move(done);
    }
    return all;
}

}  // namespace curtail::programs
