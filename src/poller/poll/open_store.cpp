// SPDX-License-Identifier: Apache-2.0
#include "poller/poll/open_store.hpp"

#include "run/config/trusted.hpp"

namespace curtail::poll {
namespace {

// How long a poller of another host may leave its lock alone.
Millis lock_lifetime(config::Run const& run)
{
    Millis longest{0};
    for (auto const& site : run.sites) longest = std::max(longest, site.poll_period);
    return 2 * longest;
}

Result<PollerLock> lock_folder(config::Run const& run)
{
    if (auto made = config::make_poller_folder(run); !made) return tl::unexpected(made.error());
    auto lock = PollerLock::take(run.poller_folder(), lock_lifetime(run));
    if (lock || lock.error().code != ExitCode::temporary) return lock;
    return tl::unexpected(
        lock.error().with_context("another poller is active on run " + run.run.value));
}

}  // namespace

Result<std::unique_ptr<StateStore>> open_store(config::Run const& run, Access access, Time now)
{
    auto const folder = run.poller_folder();
    std::optional<PollerLock> lock;
    if (access == Access::write) {
        auto taken = lock_folder(run);
        if (!taken) return tl::unexpected(taken.error());
        lock.emplace(std::move(*taken));
    }
    auto contents = read_folder(folder);
    if (!contents) return tl::unexpected(contents.error());
    std::vector<SiteId> sites;
    for (auto const& site : run.sites) sites.push_back(site.site);
    auto recovered = recover(std::move(*contents), sites, now);
    return StateStore::open(folder, std::move(lock), std::move(recovered));
}

}  // namespace curtail::poll
