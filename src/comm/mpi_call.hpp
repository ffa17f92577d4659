// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mpi.h>

#include <optional>
#include <string>

#include "core/units.hpp"

/// MPI helpers of this library. Includes mpi.h, so no other header may include it.
namespace curtail::comm {

/// Throws CommError "cannot <operation>: <MPI's message>" unless `code` is MPI_SUCCESS.
void check(int code, char const* operation);

/// Waits for a nonblocking operation without occupying a core: spins briefly, then sleeps for a
/// sixteenth of the time waited so far, at most a millisecond. It therefore returns at most 7 % or
/// one millisecond late. False if the operation is still incomplete after `timeout`.
[[nodiscard]] bool await(MPI_Request& request, std::optional<Millis> timeout,
                         char const* operation);

/// A duplicate of MPI_COMM_WORLD that reports failures by return code.
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
