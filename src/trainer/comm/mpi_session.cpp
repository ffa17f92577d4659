// SPDX-License-Identifier: Apache-2.0
#include "trainer/comm/mpi_session.hpp"

#include <array>
#include <cstdlib>
#include <exception>
#include <filesystem>

#include "base/core/exceptions.hpp"
#include "base/core/time_limit.hpp"
#include "trainer/comm/mpi_call.hpp"
#include "trainer/comm/mpi_collectives.hpp"

namespace curtail::comm {

// `end` carries only the final agreement, so that a failed rank cannot be mistaken for one that is
// still working.
struct MpiSession::State {
    bool ours;  // this session must finalize MPI
    int exceptions{std::uncaught_exceptions()};
    std::unique_ptr<Communicator> end{};
    std::unique_ptr<Collectives> ranks{};  // for the body
    PlaceOnNode on_node{};
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

// All ranks are late together, and one report is enough: mpirun then ends the others.
Millis delay_of_report()
{
    char const* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
    return rank == nullptr || std::string_view(rank) == "0" ? Millis{0} : Millis{5'000};
}

Error stuck_in_start(Millis limit)
{
    std::error_code ignored;
    return {ExitCode::unavailable, "cannot start MPI",
            "the ranks have not met within " + format_duration(limit),
            "make sure that " + std::filesystem::temp_directory_path(ignored).string() +
                " (TMPDIR) has space on each node, and that the nodes reach each other"};
}

PlaceOnNode find_place(Communicator const& all)
{
    MPI_Comm node = MPI_COMM_NULL;
    PlaceOnNode place;
    check(MPI_Comm_split_type(all.get(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
          "find the ranks of a node");
    check(MPI_Comm_rank(node, &place.rank), "find the ranks of a node");
    check(MPI_Comm_size(node, &place.ranks), "find the ranks of a node");
    check(MPI_Comm_free(&node), "find the ranks of a node");
    return place;
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

Result<MpiSession> MpiSession::start(Millis limit, LogError const& log_error)
{
    TimeLimit const in_time(limit + delay_of_report(), stuck_in_start(limit), log_error);
    int running = 0;
    int provided = MPI_THREAD_SINGLE;
    MPI_Initialized(&running);
    int const code = running != 0
                         ? MPI_Query_thread(&provided)
                         : MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
    if (code != MPI_SUCCESS)
        return fail(ExitCode::unavailable, "cannot start MPI", "MPI_Init failed",
                    "start the program with mpirun");
    auto state = std::make_unique<State>(State{.ours = running == 0});
    if (provided < MPI_THREAD_SERIALIZED)
        return fail(ExitCode::unavailable, "cannot use MPI",
                    "this MPI library does not support threads (MPI_THREAD_SERIALIZED)",
                    "use an OpenMPI built with thread support");
    try {  // these wait for the other ranks, too
        state->end = std::make_unique<Communicator>();
        state->ranks = mpi_collectives();
        state->on_node = find_place(*state->end);
    } catch (CommError const& broken) {
        return tl::unexpected(broken.to_error());
    }
    return MpiSession(std::move(state));
}

MpiSession::MpiSession(std::unique_ptr<State> state) : state_(std::move(state)) {}
MpiSession::MpiSession(MpiSession&&) noexcept = default;

MpiSession::~MpiSession()
{
    if (!state_) return;
    if (std::uncaught_exceptions() > state_->exceptions)
        MPI_Abort(MPI_COMM_WORLD, static_cast<int>(ExitCode::software));
    state_->ranks.reset();
    state_->end.reset();
    if (state_->ours) MPI_Finalize();
}

int MpiSession::rank() const { return state_->end->rank(); }
int MpiSession::size() const { return state_->end->size(); }

PlaceOnNode MpiSession::place_on_node() const { return state_->on_node; }

Result<void> MpiSession::run(Body const& body, LogError const& log_error, Millis grace)
{
    bool stuck = false;
    auto done = run_caught(body, *state_->ranks, stuck);
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
