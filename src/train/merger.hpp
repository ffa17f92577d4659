// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "rounds/messages.hpp"
#include "train/payload_transport.hpp"

namespace curtail::train {

/// Computes one merge from the payloads in a store. Reads one payload after the other and holds
/// none of them, so it needs the memory of its results: a model and, with an outer step, a
/// momentum. The results have the bits that rounds::average_step() or rounds::nesterov_step()
/// gives.
class Merger {
  public:
    /// The transport, the question and the call must outlive the object.
    Merger(PayloadTransport const& transport, rounds::Merge const& question, Call const& call)
        : transport_(transport), question_(question), call_(call)
    {
    }

    struct Results {
        Values model;
        Values momentum;  ///< empty values if the merge makes no momentum
    };
    /// What prevents a merge: an answer without a model, or the store's error.
    using Obstacle = Result<rounds::Input>;

    /// Verifies each payload that it reads over all its bytes. Checks each contribution and the new
    /// model (rounds/merge.hpp). An obstacle is Merged with the contributions to refuse, or Corrupt
    /// if the model or the momentum is damaged. Call once.
    [[nodiscard]] tl::expected<Results, Obstacle> run();
    /// One text for each contribution that run() refuses.
    [[nodiscard]] std::vector<std::string> const& warnings() const { return warnings_; }

  private:
    void begin();
    [[nodiscard]] std::optional<Obstacle> add_deltas();
    [[nodiscard]] std::optional<Obstacle> take_step();
    [[nodiscard]] std::optional<Obstacle> read_momentum();
    void step_at(std::size_t first, std::span<float const> theta);
    [[nodiscard]] std::vector<rounds::Merged::Refused> faults();
    [[nodiscard]] Obstacle refuse_greatest();
    [[nodiscard]] Obstacle answer_to(rounds::PartRef const& part,
                                     store::ReadFailure const& failure) const;

    PayloadTransport const& transport_;
    rounds::Merge const& question_;
    Call const& call_;
    std::vector<float> model_;  ///< the sum of the deltas, then the new model
    std::vector<float> momentum_;
    std::vector<double> sumsq_;  ///< of each delta
    bool finite_{true};          ///< all values of the new model so far
    bool spoiled_{false};        ///< values without a meaning have entered a result
    std::vector<std::string> warnings_;
};

}  // namespace curtail::train
