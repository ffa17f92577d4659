// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <utility>

#include "protocol/site/messages.hpp"

namespace curtail::protocol::site {

/// What a Site knows about the trainer's model and about the work since the last cut.
class Training {
  public:
    [[nodiscard]] bool loaded() const { return loaded_; }  ///< the trainer has a model
    [[nodiscard]] Round base() const { return base_; }  ///< round of the trainer's model; 0: none
    /// Returns the blocks that the trainer trained on since the last cut.
    [[nodiscard]] Ranges const& since() const { return since_; }
    /// Returns the number of steps on these blocks.
    [[nodiscard]] std::int64_t steps_since() const { return steps_since_; }

    /// Records that the Site has asked the trainer to load or adopt the model of this round.
    void request(Round round) { requested_ = round; }
    /// Records that the trainer has loaded the requested model, whose round ends at `round_ends`
    /// for this member.
    void set_loaded(MonoTime now, MonoTime round_ends);
    /// Records that the trainer has adopted the requested model. Returns true if this model belongs
    /// to another round than the trainer's previous model. Otherwise ignores `round_ends`.
    bool adopted(MonoTime round_ends);
    void step(Ranges const& blocks);
    /// Records that a step on these blocks was skipped (protocol::Skipped).
    void skip(Ranges const& blocks);
    /// Returns the blocks that the trainer skipped since the last cut.
    [[nodiscard]] Ranges const& skipped() const { return skipped_; }
    /// Returns true if there is something to cut.
    [[nodiscard]] bool has_work() const { return !since_.empty() || !skipped_.empty(); }
    /// Returns true if the last three steps since the last cut were all skipped.
    [[nodiscard]] bool keeps_skipping() const { return skips_in_a_row_ >= 3; }
    void cut(MonoTime now);
    /// Records that others may have merged during a long step. Returns true once until the next
    /// resume(): the member should look for a newer model before a cut.
    bool looks_again() { return !std::exchange(has_looked_, true); }

    /// Records that the trainer makes no steps until the next resume().
    void pause() { paused_ = true; }
    void resume() { paused_ = has_looked_ = false; }
    [[nodiscard]] bool paused() const { return paused_; }

    /// Records that a merge commit has decided no work of this member, and that none waits for a
    /// decision.
    void miss_merge() { missed_merge_ = true; }
    /// Returns true if the trainer had work that was not cut when it adopted the model of such a
    /// merge, and has not cut since. Then a cut is due: as a round ends anew after each merge, a
    /// slow member would never cut.
    [[nodiscard]] bool owes_cut() const { return owes_cut_; }

    /// Returns true if, at some time in this round, the trainer had made Params::local_steps steps
    /// since a cut. Then the round is over even before round_ends(). Returns false if `local_steps`
    /// is 0.
    [[nodiscard]] bool steps_done(Params const& params) const;
    [[nodiscard]] MonoTime round_ends() const { return round_ends_; }
    /// Returns true if the trainer has made or skipped a step in this round.
    [[nodiscard]] bool tried() const { return tried_; }
    /// Returns when the trainer last made a cut or loaded a model.
    [[nodiscard]] MonoTime last_cut() const { return last_cut_; }
    /// Returns the time at which a lone member must commit its weights again.
    [[nodiscard]] MonoTime checkpoint_due(Params const& params) const;

  private:
    bool loaded_{};
    bool paused_{true};
    Round base_;
    Round requested_;
    MonoTime round_ends_{};
    bool tried_{};
    MonoTime last_cut_{};         ///< see last_cut()
    std::int64_t most_steps_{0};  ///< greatest steps_since_ in this round
    bool missed_merge_{};         ///< miss_merge() was called since the last model
    bool owes_cut_{};             ///< see owes_cut()
    bool has_looked_{};           ///< looks_again() was called since the last resume()
    Ranges since_;
    std::int64_t steps_since_{0};
    Ranges skipped_;
    int skips_in_a_row_{0};
};

/// What a process keeps when it joins again as a new member: its rate, signs that its training has
/// diverged, and how much of its work is lost.
class History {
  public:
    /// Records that so many tokens that the process has trained will not be in the model.
    void lose(Tokens tokens) { lost_ += tokens; }
    [[nodiscard]] Tokens lost() const { return lost_; }

    void step(Ranges const& blocks, FractionalSeconds seconds, Params const& params);
    /// Returns true after the first call of step().
    [[nodiscard]] bool measured() const { return seconds_ > 0; }
    [[nodiscard]] Rate rate(Rate fallback) const;  ///< `fallback` before the first step()

    /// Records a commit's decision on a contribution of this process.
    void decided(ContributionDecision const& own);
    /// Returns true if the last three decisions were refusals with the reason `nan`.
    [[nodiscard]] bool diverged() const { return not_finite_ >= 3; }

    /// Returns the blocks of the last contributions in a row that had skipped blocks only. Returns
    /// no blocks if these contributions are fewer than three.
    [[nodiscard]] Ranges only_skipped() const { return skips_ >= 3 ? only_skipped_ : Ranges{}; }

  private:
    double blocks_{0};     ///< number of blocks trained on; older blocks count less
    double seconds_{0};    ///< duration of the steps on these blocks, weighted likewise
    int not_finite_{0};    ///< number of refusals in a row with the reason `nan`
    int skips_{0};         ///< contributions in a row that had skipped blocks only
    Ranges only_skipped_;  ///< blocks of these contributions
    Tokens lost_;          ///< see lost()
};

}  // namespace curtail::protocol::site
