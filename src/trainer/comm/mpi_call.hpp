// SPDX-License-Identifier: Apache-2.0
#pragma once

// MPI helpers, private to this library. No other header may include mpi.h.

#include <mpi.h>

#include <span>
#include <string>

#include "trainer/comm/patience.hpp"

namespace curtail::comm {

/// Returns MPI's message for an error code.
[[nodiscard]] std::string text_of(int code);

/// Throws CommError with the text "cannot <operation>: <MPI's message>" unless `code` is
/// MPI_SUCCESS.
void check(int code, char const* operation);

/// Waits until nonblocking operations are complete. Returns false if one is still incomplete when
/// the wait has lasted too long. Throws CommError if an operation fails.
[[nodiscard]] bool await_all(std::span<MPI_Request> requests, Patience const& patience,
                             char const* operation);

/// A duplicate of MPI_COMM_WORLD whose operations report failures by return codes. MPI must be
/// running while the object is in use.
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
