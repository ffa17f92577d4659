// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "rounds/messages.hpp"

namespace curtail::rounds::site {

/// The trainer's model and its work since the last cut.
class Training {
  public:
    [[nodiscard]] bool loaded() const { return loaded_; }  ///< the trainer has a model
    [[nodiscard]] Round base() const { return base_; }     ///< of that model; 0: none
    [[nodiscard]] Ranges const& since() const { return since_; }

    /// The trainer has the order to load or adopt this round's model.
    void request(Round round) { requested_ = round; }
    void loaded(MonoTime round_began, MonoTime now);
    /// True if the model is that of another round than before.
    bool adopted(MonoTime now);
    void step(Ranges const& blocks);
    void cut(MonoTime now);

    /// True if the round's local_steps are done; then the round is over before round_ends().
    [[nodiscard]] bool steps_done(Params const& params) const;
    [[nodiscard]] MonoTime round_ends(Params const& params) const;
    [[nodiscard]] MonoTime checkpoint_due(Params const& params) const;

  private:
    bool loaded_{};
    Round base_;
    Round requested_;
    MonoTime round_began_{};  ///< when this site adopted the round's model
    MonoTime last_cut_{};
    std::int64_t steps_in_round_{0};
    Ranges since_;
};

/// Facts about this process that outlive a membership.
class History {
  public:
    void step(Ranges const& blocks, FractionalSeconds seconds, Params const& params);
    [[nodiscard]] bool measured() const { return seconds_ > 0; }
    [[nodiscard]] Rate rate(Rate fallback) const;  ///< `fallback` before the first step

    /// Counts own contributions in a row refused as `nan`.
    void decided(Decided const& own);
    [[nodiscard]] bool diverged() const { return not_finite_ >= 3; }

  private:
    double blocks_{0};
    double seconds_{0};
    int not_finite_{0};
};

}  // namespace curtail::rounds::site
