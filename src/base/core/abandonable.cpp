// SPDX-License-Identifier: Apache-2.0
#include "base/core/abandonable.hpp"

#include <condition_variable>
#include <mutex>
#include <set>
#include <system_error>
#include <vector>

namespace curtail {

// What the threads share with the owner. The last of them deletes it.
struct AbandonableThreads::Shared {
    std::mutex mutex;  // of the owner's variables too
    std::condition_variable changed;
    std::set<int> running;  // numbers of the threads whose work has not ended
};

AbandonableThreads::AbandonableThreads() : shared_(std::make_shared<Shared>()) {}

AbandonableThreads::~AbandonableThreads()
{
    join_ended();
    for (auto& [number, thread] : threads_) thread.detach();
}

bool AbandonableThreads::start(std::function<void()> work)
{
    join_ended();
    // The thread cannot end before its number is there, because it needs the lock.
    std::lock_guard const guard(shared_->mutex);
    int const number = started_++;
    try {
        threads_.emplace(number, [shared = shared_, number, work = std::move(work)]() mutable {
            work();
            work = nullptr;  // may own what the owner waits for
            std::lock_guard const lock(shared->mutex);
            shared->running.erase(number);
            shared->changed.notify_all();
        });
    } catch (std::system_error const&) {
        return false;
    }
    shared_->running.insert(number);
    return true;
}

bool AbandonableThreads::wait(MonoTime until) const
{
    std::unique_lock lock(shared_->mutex);
    return shared_->changed.wait_until(lock, until, [this] { return shared_->running.empty(); });
}

void AbandonableThreads::join_ended()
{
    std::vector<std::thread> ended;
    {
        std::lock_guard const guard(shared_->mutex);
        for (auto it = threads_.begin(); it != threads_.end();) {
            auto const current = it++;
            if (shared_->running.contains(current->first)) continue;
            ended.push_back(std::move(current->second));
            threads_.erase(current);
        }
    }
    for (auto& thread : ended) thread.join();
}

}  // namespace curtail
