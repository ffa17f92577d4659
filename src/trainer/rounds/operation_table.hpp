// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/core/abandonable.hpp"
#include "base/core/call_limits.hpp"
#include "protocol/site/messages.hpp"

namespace curtail::trainer {

/// The operations on the store that are under way. Each runs in a thread of its own and has a time
/// limit. So the owner never waits for the store.
///
/// At most `most_threads` threads exist. The other operations wait for one, in the order of their
/// numbers: questions first, then errands, then chores. Errands and chores answer no question, and
/// leave one thread to questions. Chores may be late, and leave another thread to errands.
///
/// If an operation does not end in time, the table abandons its thread and drops its late result.
/// Such a thread may wait for a file server for hours, and outlive the table
/// (base/core/abandonable.hpp). While all threads are abandoned, the table accepts no operation.
class OperationTable {
  public:
    /// What the owner does once an operation has ended. Returns the answer to the protocol's
    /// question, or an empty optional if there is none, or none yet.
    using Finish = std::function<std::optional<protocol::Input>()>;
    /// Runs in the operation's thread, which may outlive the table. So it must own all that it
    /// uses. It should end soon after its CallLimits are over.
    using Work = std::function<Finish(CallLimits const&)>;

    static constexpr int most_threads = 4;
    static constexpr int most_errands = most_threads - 1;  ///< with chores
    static constexpr int most_chores = most_errands - 1;
    /// Numbers of the first errand and the first chore. All questions have smaller numbers.
    static constexpr protocol::Op first_errand = protocol::Op{1} << 62;
    static constexpr protocol::Op first_chore = protocol::Op{1} << 63;

    /// `notify` says that take_ended() has something to return. It is called from any thread, but
    /// not after the destructor.
    explicit OperationTable(std::function<void()> notify);
    /// Cancels all operations. Waits up to 1.5 s until all threads have ended, also the abandoned
    /// ones. Leaves the others to themselves.
    ~OperationTable();
    OperationTable(OperationTable const&) = delete;
    OperationTable& operator=(OperationTable const&) = delete;

    /// Asks all operations to end.
    void cancel();
    /// Accepts an operation. No other one has the number `op`. A question cancels the questions
    /// before it, because their owner no longer waits for them. `late` is what take_ended() returns
    /// for it if it does not end within `limit`, or if all threads are abandoned. The time that it
    /// waits for a thread counts.
    void start(protocol::Op op, Millis limit, Work work, Finish late);
    /// Returns the results of all operations that have ended or whose time is over. A result throws
    /// the exception that the work threw, if any. Starts operations that wait for a thread.
    [[nodiscard]] std::vector<Finish> take_ended();
    /// Returns when take_ended() must be called at the latest. Empty: no operation is under way.
    [[nodiscard]] std::optional<MonoTime> next_limit() const;
    /// Returns whether an errand or a chore is under way.
    [[nodiscard]] bool has_errands() const
    {
        return operations_.lower_bound(first_errand) != operations_.end();
    }
    /// Returns how many abandoned threads still run.
    [[nodiscard]] int abandoned() const;

  private:
    struct Shared;
    struct Operation {
        std::stop_source stop;
        MonoTime until;
        Finish late;
        Work work;            ///< empty once a thread has it
        bool started{false};  ///< does not wait for a thread
    };
    static void run(Shared& shared, protocol::Op op, Work work, CallLimits const& call);
    // The caller of these holds the mutex of `shared_`.
    /// Starts the operations for which there is a thread.
    void start_waiting();
    /// Returns false if the system has no thread. The operation then waits for a later call.
    [[nodiscard]] bool start_thread(protocol::Op op, Operation& operation);
    /// Abandons operations whose time is over. Adds their results to `results`.
    void abandon_late(std::vector<Finish>& results);
    [[nodiscard]] int abandoned_threads() const;

    std::shared_ptr<Shared> shared_;
    std::map<protocol::Op, Operation> operations_;
    AbandonableThreads threads_;
};

}  // namespace curtail::trainer
