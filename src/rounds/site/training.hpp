// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "rounds/messages.hpp"

namespace curtail::rounds::site {

/// What a Site knows about the trainer's model and about the work since the last cut.
class Training {
  public:
    [[nodiscard]] bool loaded() const { return loaded_; }  ///< the trainer has a model
    [[nodiscard]] Round base() const { return base_; }     ///< round of that model; 0: no model
    /// Returns the blocks that the trainer trained on since the last cut.
    [[nodiscard]] Ranges const& since() const { return since_; }

    /// Records that the trainer was ordered to load or adopt the model of this round.
    void request(Round round) { requested_ = round; }
    /// Records that the trainer has loaded the requested model. `round_began` is the time at which
    /// the round began for this member. It determines round_ends().
    void set_loaded(MonoTime round_began, MonoTime now);
    /// Records that the trainer has adopted the requested model. Returns true if this model belongs
    /// to another round than the trainer's previous model.
    bool adopted(MonoTime now);
    void step(Ranges const& blocks);
    void cut(MonoTime now);

    /// Returns true if the trainer has made Params::local_steps steps in this round. Then the round
    /// is over even before round_ends().
    [[nodiscard]] bool steps_done(Params const& params) const;
    [[nodiscard]] MonoTime round_ends(Params const& params) const;
    /// Returns when a lone member must commit its weights again.
    [[nodiscard]] MonoTime checkpoint_due(Params const& params) const;

  private:
    bool loaded_{};
    Round base_;
    Round requested_;
    MonoTime round_began_{};  ///< as given to set_loaded(); for a later round, the time of adopting
                              ///< its model
    MonoTime last_cut_{};
    std::int64_t steps_in_round_{0};
    Ranges since_;
};

/// What a process still knows when it joins again as a new member: its rate, and the
/// number of refusals with the reason `nan` in a row.
class History {
  public:
    void step(Ranges const& blocks, FractionalSeconds seconds, Params const& params);
    /// Returns true after the first step.
    [[nodiscard]] bool measured() const { return seconds_ > 0; }
    [[nodiscard]] Rate rate(Rate fallback) const;  ///< `fallback` if not measured()

    /// Records a commit's decision on a contribution of this process.
    void decided(Decided const& own);
    /// Returns true if the last three decisions were refusals with the reason `nan`.
    [[nodiscard]] bool diverged() const { return not_finite_ >= 3; }

  private:
    double blocks_{0};   ///< recent blocks; older ones count less
    double seconds_{0};  ///< duration of the steps on `blocks_`
    int not_finite_{0};  ///< refusals with the reason `nan` in a row
};

}  // namespace curtail::rounds::site
