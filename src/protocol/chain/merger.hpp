// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "protocol/chain/payload_values.hpp"
#include "protocol/site/messages.hpp"

namespace curtail::chain {

/// Computes one merge. Reads one payload after the other and holds none of them, so it needs the
/// memory of its results: a model and, with an outer step, a momentum. The results have the bits
/// that protocol::average_step() or protocol::nesterov_step() gives.
class Merger {
  public:
    /// Reads and verifies the payload that `part` names, and passes its values on while they
    /// arrive. If this fails, the values that were passed on have no meaning.
    using PassValues = std::function<tl::expected<void, store::ReadFailure>(
        protocol::PartRef const& part, ValueReceiver const& receiver)>;
    struct Results {
        std::vector<float> weights;
        std::vector<float> momentum;  ///< empty if the merge makes no momentum
    };
    /// What prevents a merge: an answer without a model, or the store's error.
    using Obstacle = Result<protocol::Input>;

    /// The results are made in `memory`, which should have room for them. The question must outlive
    /// the object.
    Merger(PassValues pass, protocol::Merge const& question, Results memory)
        : pass_(std::move(pass)), question_(question), results_(std::move(memory))
    {
    }

    /// Checks each contribution and the new model (protocol/rules/merge.hpp). An obstacle is Merged
    /// with the contributions to refuse, or Corrupt if the model or the momentum is damaged.
    ///
    /// Call this function or recompute(), once.
    [[nodiscard]] tl::expected<Results, Obstacle> run();
    /// Computes a merge that a commit records: refuses only contributions that cannot be read.
    [[nodiscard]] tl::expected<Results, Obstacle> recompute();
    /// One text for each contribution that is refused.
    [[nodiscard]] std::vector<std::string> const& warnings() const { return warnings_; }

  private:
    void begin();
    [[nodiscard]] std::optional<Obstacle> add_deltas();
    [[nodiscard]] std::optional<Obstacle> take_step();
    [[nodiscard]] std::optional<Obstacle> read_momentum();
    void step_at(std::size_t first, std::span<float const> theta);
    [[nodiscard]] std::vector<protocol::Merged::UnusableContribution> faults();
    [[nodiscard]] Obstacle refuse_greatest();
    [[nodiscard]] Obstacle answer_to(protocol::PartRef const& part,
                                     store::ReadFailure const& failure) const;

    PassValues pass_;
    protocol::Merge const& question_;
    Results results_;  ///< the weights are first the sum of the deltas
    bool checks_{true};
    std::vector<double> sumsq_;  ///< of each delta
    bool finite_{true};          ///< all values of the new model so far
    bool spoiled_{false};        ///< values without a meaning have entered a result
    std::vector<std::string> warnings_;
};

}  // namespace curtail::chain
