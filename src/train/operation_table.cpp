// SPDX-License-Identifier: Apache-2.0
#include "train/operation_table.hpp"

#include <algorithm>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

namespace curtail::train {
namespace {

// An operation that keeps within its limit reports its own error, which says more.
constexpr Millis tolerance{1'000};
// So long the table waits at its end for operations that it has cancelled.
constexpr Millis patience{1'500};

OperationTable::Finish result_of(OperationTable::Work const& work, Call const& call)
{
    try {
        return work(call);
    } catch (...) {
        return [error = std::current_exception()]() -> std::optional<rounds::Input> {
            std::rethrow_exception(error);
        };
    }
}

}  // namespace

// What the threads share with the table. The last of them deletes it.
struct OperationTable::Shared {
    std::mutex mutex;
    std::condition_variable changed;  // a thread has nothing left to do
    std::function<void()> notify;     // empty once the table is gone
    std::set<rounds::Op> running;     // operations whose threads still use something
    std::set<rounds::Op> wanted;      // those of them whose results the table waits for
    std::vector<std::pair<rounds::Op, Finish>> ended;
};

OperationTable::OperationTable(std::function<void()> notify) : shared_(std::make_shared<Shared>())
{
    shared_->notify = std::move(notify);
}

// Joins every thread that ends in time: then the variables that OpenSSL keeps for it are gone too.
// Other threads still run afterwards, for example one that hangs in a file system, aborts an upload
// or hashes a payload. They own what they use, but exit handlers would free the state of OpenSSL
// and libcurl. That is why the program must end without them.
OperationTable::~OperationTable()
{
    cancel();
    std::set<rounds::Op> left;
    decltype(shared_->ended) unwanted;
    {
        std::unique_lock lock(shared_->mutex);
        shared_->changed.wait_for(lock, patience, [this] { return shared_->running.empty(); });
        shared_->notify = nullptr;
        shared_->wanted.clear();
        shared_->ended.swap(unwanted);
        left = shared_->running;
    }
    for (auto& [op, operation] : operations_)
        if (operation.thread.joinable()) abandoned_.emplace(op, std::move(operation.thread));
    for (auto& [op, thread] : abandoned_) {
        if (left.contains(op)) thread.detach();
        else thread.join();
    }
}

void OperationTable::cancel()
{
    for (auto& [op, operation] : operations_) operation.stop.request_stop();
}

void OperationTable::run(Shared& shared, rounds::Op op, Work work, Call const& call)
{
    auto finish = result_of(work, call);
    work = nullptr;  // may own the store
    std::unique_lock lock(shared.mutex);
    if (!shared.wanted.contains(op)) {
        lock.unlock();
        finish = nullptr;
        lock.lock();
    }
    shared.running.erase(op);
    shared.changed.notify_all();
    if (shared.wanted.erase(op) > 0) shared.ended.emplace_back(op, std::move(finish));
    // Another operation may wait for this thread to end.
    if (shared.notify) shared.notify();
}

void OperationTable::start(rounds::Op op, Millis limit, Work work, Finish late)
{
    std::lock_guard const guard(shared_->mutex);
    if (abandoned_threads() >= most_threads) {
        shared_->ended.emplace_back(op, std::move(late));
        if (shared_->notify) shared_->notify();
        return;
    }
    // The owner waits for one question at a time: it has given up those before.
    if (op < first_errand)
        for (auto& [other, operation] : operations_)
            if (other < first_errand) operation.stop.request_stop();
    operations_.emplace(
        op, Operation{{}, monotonic_now() + limit, std::move(late), std::move(work), {}});
    start_waiting();
}

void OperationTable::start_waiting()
{
    auto const is_free = [&running = shared_->running](rounds::Op first, int most) {
        return std::distance(running.lower_bound(first), running.end()) < most;
    };
    for (auto& [op, operation] : operations_) {
        if (operation.thread.joinable()) continue;
        if (!is_free(0, most_threads)) return;
        if (op >= first_errand && !is_free(first_errand, most_errands)) return;
        if (op >= first_chore && !is_free(first_chore, most_chores)) return;
        if (!start_thread(op, operation)) return;
    }
}

bool OperationTable::start_thread(rounds::Op op, Operation& operation)
{
    // The thread cannot end before it is in the table, because it needs the lock.
    try {
        operation.thread =
            std::thread([shared = shared_, op, work = operation.work,
                         call = Call{operation.stop.get_token(), operation.until}]() mutable {
                run(*shared, op, std::move(work), call);
            });
    } catch (std::system_error const&) {
        return false;
    }
    operation.work = nullptr;
    shared_->running.insert(op);
    shared_->wanted.insert(op);
    return true;
}

std::vector<OperationTable::Finish> OperationTable::take_ended()
{
    std::vector<Finish> results;
    std::vector<std::thread> over;
    {
        std::lock_guard const guard(shared_->mutex);
        for (auto& [op, finish] : shared_->ended) {
            results.push_back(std::move(finish));
            if (auto found = operations_.extract(op))
                over.push_back(std::move(found.mapped().thread));
        }
        shared_->ended.clear();
        abandon_late(results);
        for (auto it = abandoned_.begin(); it != abandoned_.end();) {
            auto const current = it++;
            if (shared_->running.contains(current->first)) continue;
            over.push_back(std::move(current->second));
            abandoned_.erase(current);
        }
        start_waiting();
    }
    for (auto& thread : over) thread.join();
    return results;
}

void OperationTable::abandon_late(std::vector<Finish>& results)
{
    auto const now = monotonic_now();
    for (auto it = operations_.begin(); it != operations_.end();) {
        auto& [op, operation] = *it;
        if (now < operation.until + tolerance) {
            ++it;
            continue;
        }
        operation.stop.request_stop();
        results.push_back(std::move(operation.late));
        if (operation.thread.joinable()) {
            shared_->wanted.erase(op);
            abandoned_.emplace(op, std::move(operation.thread));
        }
        it = operations_.erase(it);
    }
}

std::optional<MonoTime> OperationTable::next_limit() const
{
    std::optional<MonoTime> next;
    for (auto const& [op, operation] : operations_)
        next = std::min(operation.until + tolerance, next.value_or(MonoTime::max()));
    return next;
}

int OperationTable::abandoned_threads() const
{
    return static_cast<int>(shared_->running.size() - shared_->wanted.size());
}

int OperationTable::abandoned() const
{
    std::lock_guard const guard(shared_->mutex);
    return abandoned_threads();
}

}  // namespace curtail::train
