// SPDX-License-Identifier: Apache-2.0
#include "trainer/comm/mpi_call.hpp"

#include "trainer/comm/collectives.hpp"
#include "trainer/comm/polling.hpp"

namespace curtail::comm {

std::string text_of(int code)
{
    char text[MPI_MAX_ERROR_STRING]{};
    int length = 0;
    bool const known = MPI_Error_string(code, text, &length) == MPI_SUCCESS && length > 0;
    return known ? std::string(text, static_cast<std::size_t>(length))
                 : "MPI error " + std::to_string(code);
}

void check(int code, char const* operation)
{
    if (code != MPI_SUCCESS)
        throw CommError(std::string("cannot ") + operation + ": " + text_of(code));
}

bool await_all(std::span<MPI_Request> requests, Patience const& patience, char const* operation)
{
    return poll(
        [&] {
            int done = 0;
            check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done,
                              MPI_STATUSES_IGNORE),
                  operation);
            return done != 0;
        },
        patience);
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
