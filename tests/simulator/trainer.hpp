// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <utility>
#include <vector>

#include "protocol/site/messages.hpp"
#include "simulator/store.hpp"

namespace curtail::protocol::simulator {

/// The trainer of the simulation. Computes weights, anchor and deltas as docs/rounds.md says, but
/// with Tickets instead of real weights. Orders may arrive while a step is in progress.
///
/// In the names and comments, x is the weights, theta the committed model, and a the anchor.
class SimTrainer {
  public:
    explicit SimTrainer(std::size_t blocks) : blocks_(blocks) {}

    void load(Tickets theta);
    void discard();
    void train(Ranges blocks);
    void pause() { running_ = false; }

    /// Starts a step if possible. Returns true if a step was started.
    [[nodiscard]] bool begin_step(std::int64_t blocks);
    [[nodiscard]] bool stepping() const { return !stepping_.empty(); }
    [[nodiscard]] int instance() const { return instance_; }
    [[nodiscard]] Ranges end_step();
    /// Ends the step without a change of the weights. Returns the step's blocks.
    [[nodiscard]] Ranges skip_step();

    [[nodiscard]] CutReady cut(Cut const& order);
    [[nodiscard]] Tickets const& delta(Seq seq) const { return undecided_.at(seq).d; }
    /// The weights at the last cut. Throws if that cut did not keep them.
    [[nodiscard]] Tickets const& model_of_cut() const;

    void adopt(Adopt const& adopt, Tickets const& theta);

    /// Checks that the weights contain theta, the undecided deltas and the work since the last cut,
    /// each exactly once.
    void check() const;

    [[nodiscard]] Ranges const& since() const { return since_; }
    [[nodiscard]] Ranges const& skipped() const { return skipped_; }
    /// The blocks trained on before the last cut, since the one before, and their steps.
    [[nodiscard]] std::pair<Ranges, std::int64_t> const& last_cut() const { return last_cut_; }
    [[nodiscard]] bool loaded() const { return loaded_; }
    [[nodiscard]] std::vector<Ranges> undecided() const;

  private:
    struct Own {
        Tickets d;
        Ranges ranges;
        Ranges skipped;
    };
    std::size_t blocks_;
    Tickets theta_;
    Tickets x_;
    Tickets a_;
    Ranges since_;
    Ranges blocks_to_train_;
    Ranges stepping_;
    Ranges skipped_;
    std::int64_t steps_{0};
    std::pair<Ranges, std::int64_t> last_cut_;
    std::map<Seq, Own> undecided_;
    bool loaded_{false};
    bool running_{false};
    bool cut_kept_model_{false};
    int instance_{0};
};

}  // namespace curtail::protocol::simulator
