// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi_call.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "comm/collectives.hpp"
#include "core/clock.hpp"

namespace curtail::comm {

void check(int code, char const* operation)
{
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING]{};
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
    throw CommError(std::string("cannot ") + operation + ": " +
                    (length > 0 ? std::string(text, static_cast<std::size_t>(length))
                                : "MPI error " + std::to_string(code)));
}

bool await(MPI_Request& request, Patience const& patience, char const* operation)
{
    return await_all({&request, 1}, patience, operation);
}

bool await_all(std::span<MPI_Request> requests, Patience const& patience, char const* operation)
{
    using namespace std::chrono;
    constexpr microseconds spin{200};
    constexpr microseconds shortest_nap{20};
    constexpr microseconds longest_nap{1000};
    auto const begin = steady_clock::now();
    WaitTimer timer(patience, monotonic_now());
    for (;;) {
        int done = 0;
        check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done,
                          MPI_STATUSES_IGNORE),
              operation);
        if (done != 0) return true;
        auto const waited = duration_cast<microseconds>(steady_clock::now() - begin);
        if (waited < spin) {
            sched_yield();
            continue;
        }
        if (timer.over(monotonic_now())) return false;
        std::this_thread::sleep_for(std::clamp(waited / 16, shortest_nap, longest_nap));
    }
}

Communicator::Communicator()
{
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "make a communicator");
    check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "make a communicator");
    check(MPI_Comm_rank(comm_, &rank_), "make a communicator");
    check(MPI_Comm_size(comm_, &size_), "make a communicator");
}

Communicator::~Communicator()
{
    int finalized = 0;
    if (MPI_Finalized(&finalized) == MPI_SUCCESS && finalized == 0) MPI_Comm_free(&comm_);
}

}  // namespace curtail::comm
