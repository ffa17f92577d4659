// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace curtail::comm {

/// A collective operation failed. The ranks cannot continue: let the exception end the program
/// (MpiSession::run ends all ranks).
struct CommError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Collective operations of one site's ranks. Every rank calls the same members in the same order
/// with the same sizes, from one thread at a time. A call returns once all ranks have made it.
/// Waiting for a late rank uses almost no processor time.
///
/// Deterministic: the same numbers on the same number of ranks give the same bits on every rank.
/// All members may throw CommError.
class Collectives {
  public:
    virtual ~Collectives() = default;
    [[nodiscard]] virtual int rank() const = 0;  ///< 0 to size - 1
    [[nodiscard]] virtual int size() const = 0;
    /// values[i] := sum over the ranks of values[i].
    virtual void all_reduce_sum(std::span<float> values) = 0;
    virtual void all_reduce_sum(std::span<double> values) = 0;
    /// bytes := those of rank `root`.
    virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
    virtual void barrier() = 0;
    /// The greatest value of all ranks.
    [[nodiscard]] virtual int all_reduce_max(int value) = 0;
};

/// For a single process, without MPI.
[[nodiscard]] std::unique_ptr<Collectives> single();

/// Returns rank `root`'s `text` on every rank; the other ranks' `text` is ignored. Throws CommError
/// if it is longer than `limit` bytes.
[[nodiscard]] std::string broadcast_text(Collectives& ranks, std::string_view text, int root,
                                         std::size_t limit = std::size_t{1} << 26);

}  // namespace curtail::comm
