// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "comm/patience.hpp"
#include "core/result.hpp"

namespace curtail::comm {

/// A collective operation failed, and the ranks cannot continue. Do not catch this exception:
/// MpiSession::run() handles it.
class CommError : public std::runtime_error {
  public:
    explicit CommError(std::string const& what, ExitCode code = ExitCode::temporary)
        : std::runtime_error(what), code_(code)
    {
    }
    /// Returns an error for the log, with the exit code of the job.
    [[nodiscard]] Error to_error() const;

  private:
    ExitCode code_;
};

/// A rank waited for another one as long as its Patience allows. The other rank may hang, or its
/// process or node may be gone.
class CommTimeout : public CommError {
  public:
    explicit CommTimeout(std::string const& what) : CommError(what, ExitCode::unavailable) {}
};

/// Collective operations of one site's ranks. Every rank must call the same functions in the same
/// order, with the same sizes, from one thread at a time. A collective call returns only after
/// every rank has entered it. Waiting for a late rank uses almost no processor time. A wait that
/// lasts longer than the rank's patience ends with CommTimeout.
///
/// Results are deterministic: the same inputs on the same number of ranks give bit-identical
/// results, and all ranks get the same result. Every function except rank() and size() may throw
/// CommError.
class Collectives {
  public:
    virtual ~Collectives() = default;
    [[nodiscard]] virtual int rank() const = 0;  ///< 0 to size() - 1
    [[nodiscard]] virtual int size() const = 0;
    /// Sets how long this rank waits for the others from now on. Before the first call, it waits as
    /// long as a default Patience allows.
    virtual void set_patience(Patience patience) = 0;
    /// Adds up the values[i] of all ranks, for each i. Every rank gets the sums in `values`.
    virtual void all_reduce_sum(std::span<float> values) = 0;
    virtual void all_reduce_sum(std::span<double> values) = 0;
    /// `all` holds one chunk for each rank, of the size of `own`. Adds up the chunks of this rank
    /// over the `all` of every rank into `own`, in the order of the ranks. `own` and `all` must not
    /// overlap.
    virtual void reduce_scatter_sum(std::span<float const> all, std::span<float> own) = 0;
    /// Copies the `own` of every rank into `all`, in the order of the ranks. `own` may be this
    /// rank's chunk of `all`.
    virtual void all_gather(std::span<float const> own, std::span<float> all) = 0;
    /// Replaces `bytes`, on every rank, by the bytes of rank `root`.
    virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
    /// Waits until every rank has entered this call.
    virtual void barrier() = 0;
    /// Returns the greatest `value` of all ranks.
    [[nodiscard]] virtual int all_reduce_max(int value) = 0;
};

/// Returns collectives for a single process, without MPI.
[[nodiscard]] std::unique_ptr<Collectives> single_process();

/// Returns the `text` of rank `root` on every rank; other ranks' `text` is ignored. Throws
/// CommError on every rank if the text of `root` is longer than `limit` bytes. `root` and `limit`
/// must be the same on every rank.
[[nodiscard]] std::string broadcast_text(Collectives& ranks, std::string_view text, int root,
                                         std::size_t limit = std::size_t{1} << 26);

}  // namespace curtail::comm
