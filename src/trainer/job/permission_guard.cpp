// SPDX-License-Identifier: Apache-2.0
#include "trainer/job/permission_guard.hpp"

#include "base/core/clock.hpp"

namespace curtail::trainer {
namespace {

constexpr Millis read_interval{500};
// For a reading after the end of a permission: the job may have slept while the poller renewed it.
// A file system that hangs must not keep a job alive.
constexpr Millis patience{5'000};

}  // namespace

PermissionGuard::PermissionGuard(permission::Requirement requirement,
                                 std::filesystem::path site_folder,
                                 std::vector<std::filesystem::path> hold_folders, RunId run,
                                 SiteId site, StopSignal const& stop, Log log)
    : site_folder_(std::move(site_folder)),
      hold_folders_(std::move(hold_folders)),
      run_(std::move(run)),
      site_(std::move(site)),
      stop_(stop),
      log_(std::move(log)),
      watch_(requirement)
{
    if (requirement == permission::Requirement::never) log_.warning("training without the poller");
    auto const now = monotonic_now();
    auto const real_now = SystemClock{}.now();
    read(now, real_now);
    bool const may_train = !watch_.end(now, real_now);
    if (requirement == permission::Requirement::if_served && !watch_.last() && may_train)
        log_.info("no poller serves this site: training without a permission");
    thread_ = std::jthread([this](std::stop_token const& stopped) { this->run(stopped); });
}

void PermissionGuard::read(MonoTime now, Time real_now)
{
    auto const reading = permission::read_permission(site_folder_, run_, site_);
    auto hold = permission::find_operator_hold(hold_folders_, permission::subject_of(run_, site_),
                                               real_now);
    std::lock_guard const guard(mutex_);
    if (auto const problem = watch_.see(reading, now, real_now)) log_.warning(problem->message());
    hold_ = std::move(hold);
    has_read_.notify_all();
}

void PermissionGuard::check()
{
    std::unique_lock guard(mutex_);
    if (ended_) return;
    auto const now = monotonic_now();
    auto const real_now = SystemClock{}.now();
    if (watch_.end(now, real_now))
        has_read_.wait_for(guard, patience, [&] { return watch_.has_read_since(now); });
    stop_if_ended(now, real_now);
}

void PermissionGuard::stop_if_ended(MonoTime now, Time real_now)
{
    if (ended_) return;
    ended_ = watch_.end(now, real_now);
    if (hold_) ended_ = {0, permission::to_text(*hold_)};
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
        // The job may sleep at any line. A reading decides only about the time before it.
        auto const now = monotonic_now();
        auto const real_now = SystemClock{}.now();
        read(now, real_now);
        {
            std::lock_guard const guard(mutex_);
            stop_if_ended(now, real_now);
        }
        sleep_unless_stopped(stop, read_interval);
    }
}

}  // namespace curtail::trainer
