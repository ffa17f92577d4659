// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>

#include "comm/collectives.hpp"
#include "core/result.hpp"
#include "core/units.hpp"

namespace curtail::comm {

/// True if mpirun or srun started this process, even as the only rank. A plain process needs no
/// MPI: use single().
[[nodiscard]] bool started_by_launcher();

/// MPI from MPI_Init to MPI_Finalize; one per process. If MPI is already running, the session uses
/// it and leaves it running.
///
///     auto session = comm::MpiSession::start();
///     if (!session) return tl::unexpected(session.error());
///     return session->run([&](Collectives& ranks) { return train(ranks, ...); },
///                         [&](Error const& e) { log.error(e.message()); });
class MpiSession {
  public:
    /// Requests MPI_THREAD_MULTIPLE. Fails with `unavailable` if the library offers less than
    /// MPI_THREAD_SERIALIZED.
    [[nodiscard]] static Result<MpiSession> start();
    /// Ends MPI; all ranks must get here. During stack unwinding by an exception it does not wait
    /// for the other ranks but aborts them.
    ~MpiSession();
    MpiSession(MpiSession&&) noexcept;
    MpiSession& operator=(MpiSession&&) = delete;

    [[nodiscard]] int rank() const;
    [[nodiscard]] int size() const;

    using Body = std::function<Result<void>(Collectives&)>;
    using LogError = std::function<void(Error const&)>;
    /// Runs `body` on this rank and returns when all ranks have finished. If any rank fails, run()
    /// fails on every rank, with the greatest exit code. The lowest rank with that code calls
    /// `log_error` before run() returns anywhere, because a launcher kills the other ranks as soon
    /// as one exits with an error. The returned error only refers to that rank. A single rank just
    /// gets its own error.
    ///
    /// A rank that fails while others are still inside `body` (they would wait for it forever)
    /// waits `grace` for them, then calls `log_error` and aborts all ranks with its exit code.
    /// An exception of `body` becomes an error: CommError `temporary`, any other `software`. If
    /// MPI fails during the final agreement, the error is `temporary`, and the rank that sees it
    /// aborts all ranks.
    [[nodiscard]] Result<void> run(Body const& body, LogError const& log_error,
                                   Millis grace = Millis{2000});

  private:
    struct State;
    explicit MpiSession(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace curtail::comm
