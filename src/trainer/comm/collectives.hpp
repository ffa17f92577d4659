// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/core/result.hpp"
#include "trainer/comm/patience.hpp"

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

/// As CommTimeout; in addition, a thread of this process is inside a library that does not return.
/// std::exit() could therefore wait forever. MpiSession::run() ends the process without it.
class CommStuck : public CommTimeout {
  public:
    using CommTimeout::CommTimeout;
};

/// Where the spans of float of a collective operation are.
enum class Memory {
    host,    ///< the process's own memory
    device,  ///< the memory of the rank's GPU
};

/// Collective operations of one site's ranks. Every rank must call the same functions in the same
/// order, with the same sizes, from one thread at a time. A wait that lasts longer than the rank's
/// patience ends with CommTimeout. Waiting for a late rank uses almost no processor time. Every
/// function except rank(), size() and memory() may throw CommError.
///
/// Spans of float are in the memory that memory() names; all other arguments are in host memory. An
/// operation on host memory returns only after every rank has entered it, with its result.
///
/// An operation on device memory returns as soon as it is enqueued. It begins when the work is done
/// that was enqueued on the compute stream before it, and when all earlier operations on device
/// memory are done. Until finish(), the caller must not free, read or change its spans. If an
/// operation fails, or waits for a late rank too long, the next call of any function throws.
///
/// Results on host memory are deterministic: the same inputs on the same number of ranks give
/// bit-identical results, and all ranks get the same result. See nccl_collectives() for those on
/// device memory.
class Collectives {
  public:
    virtual ~Collectives() = default;
    [[nodiscard]] virtual int rank() const = 0;  ///< 0 to size() - 1
    [[nodiscard]] virtual int size() const = 0;
    [[nodiscard]] virtual Memory memory() const { return Memory::host; }  ///< of spans of float
    /// Sets how long this rank waits for the others from now on. Before the first call, it waits as
    /// long as a default Patience allows.
    virtual void set_patience(Patience patience) = 0;

    // ---- in memory()
    /// Adds up the values[i] of all ranks, for each i. Every rank gets the sums in `values`.
    virtual void all_reduce_sum(std::span<float> values) = 0;
    /// `all` holds one chunk for each rank, of the size of `own`. Adds up the chunks of this rank
    /// over the `all` of every rank into `own`; on host memory, in the order of the ranks. `own`
    /// and `all` must not overlap.
    virtual void reduce_scatter_sum(std::span<float const> all, std::span<float> own) = 0;
    /// Copies the `own` of every rank into `all`, in the order of the ranks. `own` may be this
    /// rank's chunk of `all`.
    virtual void all_gather(std::span<float const> own, std::span<float> all) = 0;
    /// Replaces `values`, on every rank, by the values of rank `root`.
    virtual void broadcast(std::span<float> values, int root) = 0;
    /// Makes the work that is enqueued on the compute stream from now on wait for all operations on
    /// device memory so far. Does not wait itself. On host memory, does nothing.
    virtual void finish() {}
    /// As finish(), but for the first `operations` only, in the count of enqueued().
    virtual void finish(std::uint64_t /*operations*/) {}
    /// Returns the number of operations on device memory so far; 0 on host memory.
    [[nodiscard]] virtual std::uint64_t enqueued() const { return 0; }
    /// Waits until all operations on device memory so far are done. Call it before the host waits
    /// for the GPU in any other way, because only this wait ends if another rank hangs. Call it at
    /// least once per step: CUDA lets the host wait, without a limit of time, while about a
    /// thousand pieces of work are enqueued. On host memory, does nothing.
    virtual void synchronize() {}
    /// Calls `done` until it returns true. Ends with an exception if an operation on device memory
    /// fails meanwhile, or waits too long for another rank. `done` must not wait for the GPU.
    virtual void wait_until(std::function<bool()> const& done);

    // ---- in host memory
    virtual void all_reduce_sum(std::span<double> values) = 0;  ///< as for floats
    /// Replaces `bytes`, on every rank, by the bytes of rank `root`.
    virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
    /// Waits until every rank has entered this call. Does not wait for operations on device memory.
    virtual void barrier() = 0;
    /// Returns the greatest `value` of all ranks.
    [[nodiscard]] virtual int all_reduce_max(int value) = 0;

  protected:
    /// Throws std::logic_error if there is no rank `root`.
    void require_rank(int root) const;
    /// Throws std::logic_error unless `all` holds one chunk for each rank, of the size of `own`.
    void require_chunks(std::size_t all, std::size_t own) const;
};

/// Returns collectives for a single process, without MPI, on host memory.
[[nodiscard]] std::unique_ptr<Collectives> single_process();

/// Returns the `text` of rank `root` on every rank; other ranks' `text` is ignored. Throws
/// CommError on every rank if the text of `root` is longer than `limit` bytes. `root` and `limit`
/// must be the same on every rank.
[[nodiscard]] std::string broadcast_text(Collectives& ranks, std::string_view text, int root,
                                         std::size_t limit = std::size_t{1} << 26);

}  // namespace curtail::comm
