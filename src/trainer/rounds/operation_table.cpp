// SPDX-License-Identifier: Apache-2.0
#include "trainer/rounds/operation_table.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <set>
#include <utility>

namespace curtail::trainer {
namespace {

// An operation that keeps within its limit reports its own error, which says more.
constexpr Millis tolerance{1'000};
// At its end, the table waits this long for operations that it has cancelled.
constexpr Millis patience{1'500};

}  // namespace

// What the threads share with the table. The last of them deletes it.
struct OperationTable::Shared {
    std::mutex mutex;
    std::function<void()> notify;    // empty once the table is gone
    std::set<protocol::Op> running;  // operations that have a thread
    std::set<protocol::Op> wanted;   // those of them whose results the table waits for
    std::vector<std::pair<protocol::Op, Finish>> ended;
};

OperationTable::OperationTable(std::function<void()> notify) : shared_(std::make_shared<Shared>())
{
    shared_->notify = std::move(notify);
}

OperationTable::~OperationTable()
{
    cancel();
    (void)threads_.wait(monotonic_now() + patience);
    decltype(shared_->ended) unwanted;
    std::lock_guard const guard(shared_->mutex);
    shared_->notify = nullptr;
    shared_->wanted.clear();
    shared_->ended.swap(unwanted);
}

void OperationTable::cancel()
{
    for (auto& [op, operation] : operations_) operation.stop.request_stop();
}

void OperationTable::run(Shared& shared, protocol::Op op, Work work, CallLimits const& call)
{
    Finish finish;
    try {
        finish = work(call);
    } catch (...) {
        finish = [error = std::current_exception()]() -> std::optional<protocol::Input> {
            std::rethrow_exception(error);
        };
    }
    work = nullptr;  // may own the store
    std::unique_lock lock(shared.mutex);
    if (!shared.wanted.contains(op)) {
        lock.unlock();
        finish = nullptr;
        lock.lock();
    }
    shared.running.erase(op);
    if (shared.wanted.erase(op) > 0) shared.ended.emplace_back(op, std::move(finish));
    // Another operation may wait for this thread to end.
    if (shared.notify) shared.notify();
}

void OperationTable::start(protocol::Op op, Millis limit, Work work, Finish late)
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
    operations_.emplace(op,
                        Operation{{}, monotonic_now() + limit, std::move(late), std::move(work)});
    start_waiting();
}

void OperationTable::start_waiting()
{
    auto const is_free = [&running = shared_->running](protocol::Op first, int most) {
        return std::distance(running.lower_bound(first), running.end()) < most;
    };
    for (auto& [op, operation] : operations_) {
        if (operation.started) continue;
        if (!is_free(0, most_threads)) return;
        if (op >= first_errand && !is_free(first_errand, most_errands)) return;
        if (op >= first_chore && !is_free(first_chore, most_chores)) return;
        if (!start_thread(op, operation)) return;
    }
}

bool OperationTable::start_thread(protocol::Op op, Operation& operation)
{
    // The operation cannot end before it is in the table, because its thread needs the lock.
    operation.started =
        threads_.start([shared = shared_, op, work = operation.work,
                        call = CallLimits{operation.stop.get_token(), operation.until}]() mutable {
            run(*shared, op, std::move(work), call);
        });
    if (!operation.started) return false;
    operation.work = nullptr;
    shared_->running.insert(op);
    shared_->wanted.insert(op);
    return true;
}

std::vector<OperationTable::Finish> OperationTable::take_ended()
{
    std::vector<Finish> results;
    std::lock_guard const guard(shared_->mutex);
    for (auto& [op, finish] : shared_->ended) {
        results.push_back(std::move(finish));
        operations_.erase(op);
    }
    shared_->ended.clear();
    abandon_late(results);
    start_waiting();
    return results;
}

void OperationTable::abandon_late(std::vector<Finish>& results)
{
    auto const now = monotonic_now();
    std::erase_if(operations_, [&](auto& entry) {
        auto& [op, operation] = entry;
        if (now < operation.until + tolerance) return false;
        operation.stop.request_stop();
        results.push_back(std::move(operation.late));
        shared_->wanted.erase(op);
        return true;
    });
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

}  // namespace curtail::trainer
