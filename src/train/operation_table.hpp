// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "core/call.hpp"
#include "rounds/messages.hpp"

namespace curtail::train {

/// The operations on the store that are under way. Each runs in a thread of its own and has a time
/// limit. So the owner never waits for the store.
///
/// If an operation does not end in time, the table abandons its thread and drops its late result.
/// Such a thread may wait for a file server for hours. While `most_abandoned` of them exist, the
/// table starts no other operation. They may outlive the table, so the program must end without
/// exit handlers (apps::end_at_once()).
class OperationTable {
  public:
    /// What the owner does once an operation has ended. Returns the answer to the protocol's
    /// question, or an empty optional if there is none, or none yet.
    using Finish = std::function<std::optional<rounds::Input>()>;
    /// Runs in the operation's thread, which may outlive the table. So it must own all that it
    /// uses. It should end soon after its Call is over.
    using Work = std::function<Finish(Call const&)>;

    static constexpr int most_abandoned = 4;

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
    /// Starts an operation. No other one has the number `op`. `late` is what take_ended() returns
    /// for it if it does not end within `limit`, or if too many threads are abandoned.
    void start(rounds::Op op, Millis limit, Work work, Finish late);
    /// Returns the results of all operations that have ended or whose time is over. A result throws
    /// the exception that the work threw, if any.
    [[nodiscard]] std::vector<Finish> take_ended();
    /// Returns when take_ended() must be called at the latest. Empty: no operation is under way.
    [[nodiscard]] std::optional<MonoTime> next_limit() const;
    /// Returns whether an operation with a number of at least `first` is under way.
    [[nodiscard]] bool runs_any_from(rounds::Op first) const
    {
        return running_.lower_bound(first) != running_.end();
    }
    /// Returns how many abandoned threads still run.
    [[nodiscard]] int abandoned() const;

  private:
    struct Shared;
    struct Running {
        std::stop_source stop;
        MonoTime until;
        Finish late;
        std::thread thread;
    };
    static void run(Shared& shared, rounds::Op op, Work work, Call const& call);
    // The caller of these two holds the mutex of `shared_`.
    /// Abandons operations whose time is over. Adds their results to `results`.
    void abandon_late(std::vector<Finish>& results);
    [[nodiscard]] int abandoned_threads() const;

    std::shared_ptr<Shared> shared_;
    std::map<rounds::Op, Running> running_;
    std::map<rounds::Op, std::thread> abandoned_;
};

}  // namespace curtail::train
