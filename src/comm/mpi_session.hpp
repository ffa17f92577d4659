// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>

#include "comm/collectives.hpp"
#include "core/result.hpp"
#include "core/units.hpp"

namespace curtail::comm {

/// True if mpirun or srun started this process, as one of several or alone. Else it is a plain
/// process, which needs no MPI: single().
[[nodiscard]] bool started_by_launcher();

/// MPI from MPI_Init to MPI_Finalize; one per process. If MPI is running already it is used and
/// left running.
///
///     auto session = comm::MpiSession::start();
///     if (!session) return tl::unexpected(session.error());
///     return session->run([&](Collectives& ranks) { return train(ranks, ...); }, [&](Error const&
///     e) { log.error(e.message()); });
class MpiSession {
  public:
    /// Asks for MPI_THREAD_MULTIPLE; `unavailable` if the library offers less than
    /// MPI_THREAD_SERIALIZED.
    [[nodiscard]] static Result<MpiSession> start();
    /// Ends MPI; all ranks must come here. While an exception passes through, the others are not
    /// waited for but ended too.
    ~MpiSession();
    MpiSession(MpiSession&&) noexcept;
    MpiSession& operator=(MpiSession&&) = delete;

    [[nodiscard]] int rank() const;
    [[nodiscard]] int size() const;

    using Body = std::function<Result<void>(Collectives&)>;
    using LastWords = std::function<void(Error const&)>;
    /// Runs `body` on this rank and answers when all ranks are through. A failure anywhere is one
    /// everywhere, with the greatest exit code; the lowest rank that has it says its `last_words`
    /// before any rank gets the answer (a launcher ends the others as soon as one has left with an
    /// error), so that the answer itself only refers to them. One rank alone just gets its own
    /// error.
    ///
    /// If a rank fails while others go on (they would wait for it for ever), it waits `grace` for
    /// them, says its last words and ends them all with its exit code. Exceptions of `body` become
    /// errors: CommError `temporary`, others `software`. So does a failure of MPI when the ranks
    /// meet at the end: `temporary`, and the rank that sees it ends them all.
    [[nodiscard]] Result<void> run(Body const& body, LastWords const& last_words,
                                   Millis grace = Millis{2000});

  private:
    struct State;
    explicit MpiSession(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// The collectives over all ranks that MPI started, on a communicator of their own. MPI must be
/// running and outlive them.
[[nodiscard]] std::unique_ptr<Collectives> mpi_collectives();

}  // namespace curtail::comm
