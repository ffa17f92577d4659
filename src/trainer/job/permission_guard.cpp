// SPDX-License-Identifier: Apache-2.0
#include "trainer/job/permission_guard.hpp"

#include "base/core/clock.hpp"

namespace curtail::trainer {
namespace {

constexpr Millis read_interval{500};
// For a reading after a sleep of the job. A file system that hangs must not keep a job alive.
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
    read();
    bool const may_train = !watch_.end(monotonic_now(), SystemClock{}.now());
    if (requirement == permission::Requirement::if_served && !watch_.last() && may_train)
        log_.info("no poller serves this site: training without a permission");
    thread_ = std::jthread([this](std::stop_token const& stopped) { this->run(stopped); });
}

void PermissionGuard::read()
{
    auto const reading = permission::read_permission(site_folder_, run_, site_);
    auto hold = permission::find_operator_hold(hold_folders_, permission::subject_of(run_, site_),
                                               SystemClock{}.now());
    std::lock_guard const guard(mutex_);
    if (auto const problem = watch_.see(reading, monotonic_now(), SystemClock{}.now()))
        log_.warning(problem->message());
    hold_ = std::move(hold);
    has_read_.notify_all();
}

void PermissionGuard::check()
{
    std::unique_lock guard(mutex_);
    if (ended_) return;
    auto const is_fresh = [&] { return !watch_.is_stale(monotonic_now(), SystemClock{}.now()); };
    if (reads_ && watch_.end(monotonic_now(), SystemClock{}.now()))
        has_read_.wait_for(guard, patience, is_fresh);
    stop_if_ended();
}

void PermissionGuard::stop_if_ended()
{
    if (ended_) return;
    ended_ = watch_.end(monotonic_now(), SystemClock{}.now());
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
        read();
        {
            std::lock_guard const guard(mutex_);
            reads_ = true;
            stop_if_ended();
        }
        sleep_unless_stopped(stop, read_interval);
    }
}

}  // namespace curtail::trainer
