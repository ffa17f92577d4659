// SPDX-License-Identifier: Apache-2.0
#include "poller/poll/permission_writer.hpp"

namespace curtail::poll {

permission::Verdict verdict_on(plan::DesiredState const& desired, WindowRecord const& window,
                               Millis close_delay, Moment const& now)
{
    permission::Verdict verdict{desired.job, {}, desired.why};
    if (!window.state.closing_since) return verdict;
    FractionalSeconds const left = *window.state.closing_since + close_delay - now.signal;
    verdict.closes = now.real + std::chrono::round<Millis>(left / now.speed);
    return verdict;
}

PermissionWriter::PermissionWriter(std::filesystem::path site_folder, RunId run, SiteId site,
                                   permission::IssuePolicy policy)
    : site_folder_(std::move(site_folder)),
      run_(std::move(run)),
      site_(std::move(site)),
      policy_(policy),
      present_(permission::read_permission(site_folder_, run_, site_).value_or(std::nullopt))
{
}

Result<void> PermissionWriter::update(permission::Verdict const& verdict, Time real_now)
{
    std::lock_guard const guard(mutex_);
    auto const stored =
        permission::read_permission(site_folder_, run_, site_).value_or(std::nullopt);
    // A person's --pause writes the file too.
    if (stored && (!present_ || stored->serial > present_->serial)) present_ = stored;
    if (present_ && present_->until < real_now) lapsed_ = present_->until;
    auto next = permission::renew(present_, run_, site_, verdict, policy_, real_now);
    if (!next && stored == present_) return {};
    if (!next) next = permission::issue(present_, run_, site_, verdict, policy_, real_now);
    if (auto written = permission::write_permission(site_folder_, *next); !written)
        return tl::unexpected(
            written.error().with_context("cannot renew the permission of site " + site_.value));
    present_ = *next;
    return {};
}

std::optional<Time> PermissionWriter::lapsed() const
{
    std::lock_guard const guard(mutex_);
    return lapsed_;
}

}  // namespace curtail::poll
