// SPDX-License-Identifier: Apache-2.0
#include "trainer/comm/mpi_session.hpp"

#include <array>
#include <cstdlib>
#include <exception>

#include "base/core/exceptions.hpp"
#include "trainer/comm/mpi_call.hpp"
#include "trainer/comm/mpi_collectives.hpp"

namespace curtail::comm {

// `end` carries only the final agreement, so that a failed rank cannot be mistaken for one that is
// still working.
struct MpiSession::State {
    bool ours;  // this session must finalize MPI
    int exceptions{std::uncaught_exceptions()};
    std::unique_ptr<Communicator> end;
    // Exit code and rank. Members, because an abandoned nonblocking operation may still use them.
    std::array<int, 2> own{};
    std::array<int, 2> worst{};  // of all ranks

    // Stores the greatest exit code and the lowest rank that has it in `worst`. False if the other
    // ranks did not arrive within `grace`.
    [[nodiscard]] Result<bool> agree(ExitCode mine, Patience const& patience);
};

namespace {

// Sets `stuck` if a thread of this process does not return.
Result<void> run_caught(MpiSession::Body const& body, Collectives& ranks, bool& stuck)
{
    try {
        return body(ranks);
    } catch (CommStuck const& broken) {
        stuck = true;
        return tl::unexpected(broken.to_error());
    } catch (CommError const& broken) {
        return tl::unexpected(broken.to_error());
    } catch (std::exception const& broken) {
        return tl::unexpected(error_of(broken));
    }
}

[[noreturn]] void abort_all(Error const& error, MpiSession::LogError const& log_error)
{
    log_error(error);
    MPI_Abort(MPI_COMM_WORLD, static_cast<int>(error.code));
    std::_Exit(static_cast<int>(error.code));
}

}  // namespace

Result<bool> MpiSession::State::agree(ExitCode mine, Patience const& patience)
{
    own = {static_cast<int>(mine), end->rank()};
    MPI_Request request = MPI_REQUEST_NULL;
    try {
        check(
            MPI_Iallreduce(own.data(), worst.data(), 1, MPI_2INT, MPI_MAXLOC, end->get(), &request),
            "end together");
        // await_all() tests the request until it is done.
        // NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker)
        return await_all({&request, 1}, patience, "end together");
    } catch (CommError const& broken) {
        return tl::unexpected(broken.to_error());
    }
}

bool started_by_launcher()
{
    for (char const* variable : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"})
        if (std::getenv(variable) != nullptr) return true;
    return false;
}

Result<MpiSession> MpiSession::start()
{
    int running = 0;
    int provided = MPI_THREAD_SINGLE;
    MPI_Initialized(&running);
    int const code = running != 0
                         ? MPI_Query_thread(&provided)
                         : MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
    if (code != MPI_SUCCESS)
        return fail(ExitCode::unavailable, "cannot start MPI", "MPI_Init failed",
                    "start the program with mpirun");
    auto state = std::make_unique<State>(State{.ours = running == 0, .end = nullptr});
    if (provided < MPI_THREAD_SERIALIZED)
        return fail(ExitCode::unavailable, "cannot use MPI",
                    "this MPI library does not support threads (MPI_THREAD_SERIALIZED)",
                    "use an OpenMPI built with thread support");
    state->end = std::make_unique<Communicator>();
    return MpiSession(std::move(state));
}

MpiSession::MpiSession(std::unique_ptr<State> state) : state_(std::move(state)) {}
MpiSession::MpiSession(MpiSession&&) noexcept = default;

MpiSession::~MpiSession()
{
    if (!state_) return;
    if (std::uncaught_exceptions() > state_->exceptions)
        MPI_Abort(MPI_COMM_WORLD, static_cast<int>(ExitCode::software));
    state_->end.reset();
    if (state_->ours) MPI_Finalize();
}

int MpiSession::rank() const { return state_->end->rank(); }
int MpiSession::size() const { return state_->end->size(); }

Result<PlaceOnNode> MpiSession::place_on_node() const
{
    MPI_Comm node = MPI_COMM_NULL;
    PlaceOnNode place;
    try {
        check(
            MPI_Comm_split_type(state_->end->get(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
            "find the ranks of a node");
        check(MPI_Comm_rank(node, &place.rank), "find the ranks of a node");
        check(MPI_Comm_size(node, &place.ranks), "find the ranks of a node");
        check(MPI_Comm_free(&node), "find the ranks of a node");
    } catch (CommError const& broken) {
        return tl::unexpected(broken.to_error());
    }
    return place;
}

Result<void> MpiSession::run(Body const& body, LogError const& log_error, Millis grace)
{
    auto const ranks = mpi_collectives();
    bool stuck = false;
    auto done = run_caught(body, *ranks, stuck);
    if (stuck) abort_all(done.error(), log_error);
    auto const own = done ? ExitCode::ok : done.error().code;
    auto const agreed = state_->agree(own, done ? Patience{} : Patience{grace});
    if (!agreed) abort_all(done ? agreed.error() : done.error(), log_error);
    if (!*agreed) {
        CommTimeout const missing("a rank did not end within " + format_duration(Patience{}.limit));
        abort_all(done ? missing.to_error() : done.error(), log_error);
    }
    auto const [code, failed] = state_->worst;
    if (code == 0 || size() == 1) return done;
    if (rank() == failed) log_error(done.error());
    bool const logged = state_->agree(own, Patience{grace}).value_or(false);
    return fail(static_cast<ExitCode>(code), "rank " + std::to_string(rank()) + " stops",
                "rank " + std::to_string(failed) + " failed" + (logged ? " (see its error)" : ""));
}

}  // namespace curtail::comm
