// SPDX-License-Identifier: Apache-2.0
#include "train/operation_table.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

namespace curtail::train {
namespace {

// An operation that keeps within its limit reports its own error, which says more.
constexpr Millis tolerance{1'000};
// So long the table waits at its end for operations that it has cancelled.
constexpr Millis patience{1'500};

}  // namespace

// What the threads share with the table. The last of them deletes it.
struct OperationTable::Shared {
    std::mutex mutex;
    std::condition_variable changed;  // an operation has ended
    std::function<void()> notify;     // empty once the table is gone
    std::set<rounds::Op> wanted;      // operations whose results the table waits for
    std::vector<std::pair<rounds::Op, Finish>> ended;
    int abandoned{0};
};

OperationTable::OperationTable(std::function<void()> notify) : shared_(std::make_shared<Shared>())
{
    shared_->notify = std::move(notify);
}

// A thread that ends the process while another one uses OpenSSL may crash. So cancelled transfers
// get the time to end. Only threads that hang in a file operation are still running afterwards.
OperationTable::~OperationTable()
{
    for (auto& [op, running] : running_) running.stop.request_stop();
    std::unique_lock lock(shared_->mutex);
    shared_->changed.wait_for(lock, patience, [this] { return shared_->wanted.empty(); });
    shared_->notify = nullptr;
    shared_->abandoned += static_cast<int>(shared_->wanted.size());
    shared_->wanted.clear();
}

void OperationTable::run(std::shared_ptr<Shared> const& shared, rounds::Op op, Work const& work,
                         Call const& call)
{
    Finish finish;
    try {
        finish = work(call);
    } catch (...) {
        finish = [error = std::current_exception()]() -> std::optional<rounds::Input> {
            std::rethrow_exception(error);
        };
    }
    std::lock_guard const guard(shared->mutex);
    if (shared->wanted.erase(op) == 0) {
        --shared->abandoned;
        return;
    }
    shared->ended.emplace_back(op, std::move(finish));
    shared->changed.notify_all();
    if (shared->notify) shared->notify();
}

void OperationTable::start(rounds::Op op, Millis limit, Work work, Finish late)
{
    auto const until = monotonic_now() + limit;
    Running running{{}, until, std::move(late)};
    Call const call{running.stop.get_token(), until};
    std::lock_guard const guard(shared_->mutex);
    if (shared_->abandoned >= most_abandoned) {
        shared_->ended.emplace_back(op, std::move(running.late));
        if (shared_->notify) shared_->notify();
        return;
    }
    shared_->wanted.insert(op);
    running_.emplace(op, std::move(running));
    std::thread([shared = shared_, op, work = std::move(work), call] {
        run(shared, op, work, call);
    }).detach();
}

std::vector<OperationTable::Finish> OperationTable::take_ended()
{
    std::vector<Finish> results;
    std::lock_guard const guard(shared_->mutex);
    for (auto& [op, finish] : shared_->ended) {
        results.push_back(std::move(finish));
        running_.erase(op);
    }
    shared_->ended.clear();
    auto const now = monotonic_now();
    for (auto it = running_.begin(); it != running_.end();) {
        auto& [op, running] = *it;
        if (now < running.until + tolerance) {
            ++it;
            continue;
        }
        running.stop.request_stop();
        shared_->wanted.erase(op);
        ++shared_->abandoned;
        results.push_back(std::move(running.late));
        it = running_.erase(it);
    }
    return results;
}

std::optional<MonoTime> OperationTable::next_limit() const
{
    std::optional<MonoTime> next;
    for (auto const& [op, running] : running_)
        next = std::min(running.until + tolerance, next.value_or(MonoTime::max()));
    return next;
}

int OperationTable::abandoned() const
{
    std::lock_guard const guard(shared_->mutex);
    return shared_->abandoned;
}

}  // namespace curtail::train
