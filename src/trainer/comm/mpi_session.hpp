// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>

#include "base/core/result.hpp"
#include "base/core/units.hpp"
#include "trainer/comm/collectives.hpp"

namespace curtail::comm {

/// Returns true if mpirun or srun started this process, even as the only rank. Other processes need
/// no MPI and use single_process().
[[nodiscard]] bool started_by_launcher();

/// A rank's place among the ranks of its job on the same node.
struct PlaceOnNode {
    int rank{0};   ///< 0 to `ranks` - 1
    int ranks{1};  ///< number of ranks on the node
};

/// The use of MPI by this process, from MPI_Init to MPI_Finalize. Create only one session per
/// process. If MPI is already running, the session uses it and leaves it running.
///
///     auto session = comm::MpiSession::start(limit, log_error);
///     if (!session) return tl::unexpected(session.error());
///     return session->run([&](Collectives& ranks) { return train(ranks, ...); },
///                         [&](Error const& e) { log.error(e.message()); });
class MpiSession {
  public:
    using LogError = std::function<void(Error const&)>;
    /// Starts MPI and requests MPI_THREAD_MULTIPLE. Fails with `unavailable` if MPI cannot start or
    /// supports less than MPI_THREAD_SERIALIZED, and with `temporary` if MPI fails later.
    ///
    /// MPI may hang in its start, for example if TMPDIR is full. If it takes longer than `limit`,
    /// the process calls `log_error` and ends with `unavailable`.
    [[nodiscard]] static Result<MpiSession> start(Millis limit, LogError const& log_error);
    /// Ends MPI, if start() started it. Every rank must destroy its session. If an exception is
    /// unwinding the stack, the destructor aborts all ranks instead of waiting for them.
    ~MpiSession();
    MpiSession(MpiSession&&) noexcept;
    MpiSession& operator=(MpiSession&&) = delete;

    [[nodiscard]] int rank() const;
    [[nodiscard]] int size() const;
    [[nodiscard]] PlaceOnNode place_on_node() const;

    using Body = std::function<Result<void>(Collectives&)>;
    /// Runs `body` on this rank and returns when all ranks have finished theirs. Every rank must
    /// call run(). If `body` throws, the exception becomes an error: `unavailable` for
    /// CommTimeout, `temporary` for another CommError, and `software` for any other exception.
    ///
    /// If `body` fails on any rank, run() fails on every rank with the greatest exit code. The
    /// lowest rank with that code calls `log_error` with its own error. All ranks then wait until
    /// that call has returned, for at most `grace`. Without this wait, mpirun could kill the rank
    /// that logs, because mpirun kills all ranks once one exits with an error. The returned error
    /// names the rank that called `log_error`, but not why `body` failed there. If there is only
    /// one rank, run() instead returns that rank's own error and does not call `log_error`.
    ///
    /// Other ranks may still be inside `body` when a rank fails, and could wait for that rank
    /// forever. The failed rank waits at most `grace` for them. If they have not finished by then,
    /// it calls `log_error` and aborts all ranks with its exit code. A rank whose `body` succeeds
    /// waits for the others as long as a default Patience allows; then it aborts all ranks with
    /// `unavailable`.
    ///
    /// If `body` throws CommStuck, run() at once calls `log_error` and aborts all ranks with
    /// `unavailable`. The process ends without exit handlers.
    ///
    /// MPI itself may fail while the ranks agree on the result. The rank that sees this then passes
    /// an error to `log_error` and aborts all ranks. If `body` failed on this rank, the error is
    /// the one that `body` returned. Otherwise its code is `temporary`.
    [[nodiscard]] Result<void> run(Body const& body, LogError const& log_error,
                                   Millis grace = Millis{2000});

  private:
    struct State;
    explicit MpiSession(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace curtail::comm
