// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mpi.h>

#include <optional>
#include <string>

#include "core/units.hpp"

/// What the sources of this room share; it includes mpi.h, so no other header includes it.
namespace curtail::comm {

/// Throws CommError "cannot <act>: <what MPI says>" unless `code` is MPI_SUCCESS.
void check(int code, char const* act);

/// Waits for a nonblocking operation without burning a core: spins briefly, then sleeps for a
/// sixteenth of the time waited so far, at most a millisecond. So it comes back at most 7 % late,
/// or a millisecond. False: `deadline` from now has passed and it is not done.
[[nodiscard]] bool await(MPI_Request& request, std::optional<Millis> deadline, char const* act);

/// A duplicate of MPI_COMM_WORLD whose failures are return codes.
class Communicator {
  public:
    Communicator();
    ~Communicator();
    Communicator(Communicator const&) = delete;
    Communicator& operator=(Communicator const&) = delete;
    [[nodiscard]] MPI_Comm get() const { return comm_; }
    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }

  private:
    MPI_Comm comm_{MPI_COMM_NULL};
    int rank_{0};
    int size_{1};
};

}  // namespace curtail::comm
