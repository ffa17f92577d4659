// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <future>
#include <span>
#include <vector>

#include "storage/payload/value_memory.hpp"
#include "trainer/engine/engine.hpp"
#include "trainer/engine/shard_work.hpp"

namespace curtail::trainer {

using payload::Values;

/// The values of a cut.
struct CutValues {
    Values delta;   ///< anchor - weights
    Values anchor;  ///< the anchor after the cut; null unless it was wanted
    /// The sums of all ranks. If a value was not finite, `delta` and `sums.sumsq` are zero, and no
    /// commit includes this work.
    CutSums sums;
};

/// One rank's part in the operations of the round protocol on the weights
/// (protocol/site/messages.hpp). Every rank has its own ranges of the anchor and of the deltas
/// (trainer/engine/shard_exchange.hpp). All ranks must call the same functions in the same order.
/// Whole models are in the leader's memory only. The constructor's arguments must outlive the
/// object.
class RankWork {
  public:
    RankWork(Engine& engine, comm::Collectives& collectives)
        : engine_(engine), collectives_(collectives)
    {
    }

    /// Replaces the weights and the anchor by `theta`, which the leader gives.
    void load(std::span<float const> theta);
    /// Makes the cut `seq`. Returns the values on the leader; elsewhere, only the numbers. Gathers
    /// the anchor only if all ranks pass `with_anchor`. If a value is not finite, the weights
    /// become the anchor.
    ///
    /// First compares the weights of all ranks, which must be equal. Throws comm::CommError on
    /// every rank if they are not.
    [[nodiscard]] CutValues cut(Seq seq, bool with_anchor);
    /// Adopts the model `theta`, which the leader gives (ShardWork::adopt).
    void adopt(std::span<float const> theta, std::vector<Seq> const& dropped, bool worked);
    void forget(std::vector<Seq> const& seqs) { work_.forget(seqs); }
    void discard() { work_.discard(); }

  private:
    void compare_weights();
    [[nodiscard]] std::future<std::vector<float>> begin_to_make_room() const;
    [[nodiscard]] Values gathered(at::Tensor const& shard, std::future<std::vector<float>> room);

    Engine& engine_;
    comm::Collectives& collectives_;
    ShardWork work_;
    payload::ValueMemory memory_{1};  ///< for a gathered delta
};

}  // namespace curtail::trainer
