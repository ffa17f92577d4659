// SPDX-License-Identifier: Apache-2.0
#include "trainer/job/permission_guard.hpp"

#include "base/core/clock.hpp"

namespace curtail::trainer {
namespace {

constexpr Millis read_interval{500};

}  // namespace

PermissionGuard::PermissionGuard(permission::Requirement requirement,
                                 std::filesystem::path site_folder, RunId run, SiteId site,
                                 StopSignal const& stop, Log log)
    : site_folder_(std::move(site_folder)),
      run_(std::move(run)),
      site_(std::move(site)),
      stop_(stop),
      log_(std::move(log)),
      watch_(requirement)
{
    if (requirement == permission::Requirement::never) {
        log_.warning("training without the poller");
        return;
    }
    read();
    bool const may_train = !watch_.end(monotonic_now(), SystemClock{}.now());
    if (requirement == permission::Requirement::if_served && !watch_.last() && may_train)
        log_.info("no poller serves this site: training without a permission");
    thread_ = std::jthread([this](std::stop_token const& stopped) { this->run(stopped); });
}

void PermissionGuard::read()
{
    auto const reading = permission::read_permission(site_folder_, run_, site_);
    std::lock_guard const guard(mutex_);
    if (auto const problem = watch_.see(reading, monotonic_now(), SystemClock{}.now()))
        log_.warning(problem->message());
}

void PermissionGuard::check()
{
    std::lock_guard const guard(mutex_);
    if (ended_) return;
    ended_ = watch_.end(monotonic_now(), SystemClock{}.now());
    if (!ended_) return;
    log_.warning("stopping: " + ended_->why);
    stop_.request(StopCause::permission);
}

std::optional<permission::PermissionEnd> PermissionGuard::ended() const
{
    std::lock_guard const guard(mutex_);
    return ended_;
}

void PermissionGuard::run(std::stop_token const& stop)
{
    while (!stop.stop_requested()) {
        read();
        check();
        sleep_unless_stopped(stop, read_interval);
    }
}

}  // namespace curtail::trainer
