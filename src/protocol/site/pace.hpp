// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "protocol/records/record.hpp"

namespace curtail::protocol::site {

/// How long something takes that a process repeats.
class Stopwatch {
  public:
    [[nodiscard]] bool runs() const { return begun_.has_value(); }
    void start(MonoTime now) { begun_ = now; }
    /// Does nothing without a start().
    void stop(MonoTime now)
    {
        if (begun_) last_ = now - *begun_;
        begun_.reset();
    }
    [[nodiscard]] Millis last() const { return last_; }  ///< from the last start() to its stop()
    /// Returns the time since start(); 0 if it does not run.
    [[nodiscard]] Millis elapsed(MonoTime now) const { return begun_ ? now - *begun_ : Millis{0}; }

  private:
    std::optional<MonoTime> begun_;
    Millis last_{0};
};

/// Whether the work of a process gets into the model, or always comes too late because its
/// connection to the store is too slow. The process is *late* if
/// - a commit refuses its work as stale, after transfers that took as long as a round, besides the
/// step that ran meanwhile;
/// - the store has deleted a model before the process could read it, and the attempts took as long
///   as a round. A process that was suspended asks for deleted models, too, but its reads fail at
///   once;
/// - others remove its member as silent during a slow transfer.
class Pace {
  public:
    /// Begins to read the model of a round, or tries again. `keep_models`: that of Params.
    void begin_read(Round model, std::int64_t keep_models, MonoTime now);
    /// Records that an attempt to read that model has failed. Its time is not that of the
    /// connection. `missing`: the store does not have the bytes.
    void attempt_failed(bool missing);
    /// Records that no newer model has replaced the one that could not be read. So the store has
    /// lost it.
    void model_is_lost()
    {
        is_lost_ = true;
        tries_ = {};
    }
    /// Records that the store gives no commits either. So it has failed, and its time is not that
    /// of the connection.
    void store_failed() { tries_ = {}; }
    /// Begins to publish a contribution, or tries again.
    void begin_publish(Seq contribution, MonoTime now);
    void end_read(MonoTime now)
    {
        read_.stop(now);
        tries_ = {};
    }
    void end_publish(MonoTime now) { publish_.stop(now); }
    /// Takes the time between two merges, by the store's clock.
    void take_round(Millis time) { round_ = time; }

    /// Takes how long this process has waited for a commit that another one follows.
    void read_commit(Millis time) { reading_ += time; }
    /// Records that this process has read the newest commit.
    void has_newest() { reading_ = {}; }

    /// Takes how long the trainer's last step took. A model is adopted between two steps.
    void take_step(FractionalSeconds time) { step_ = time; }
    [[nodiscard]] FractionalSeconds step() const { return step_; }
    /// Records the decision of a commit on a contribution of this process. `round` is that of the
    /// commit before, from which its staleness counts. Stale contributions on the same model count
    /// once.
    void decided(ContributionDecision const& own, Round round);
    /// Records that others have removed the member as silent, and ends its transfers. The process
    /// is late if one of them has taken more than `drop_after`.
    void dropped(MonoTime now, Millis drop_after);

    /// Returns how often the process was late since a commit included work of it.
    [[nodiscard]] int times_late() const { return late_; }
    /// Returns true if this process can only cost others. Work that came in time before shows that
    /// the store may become faster again.
    [[nodiscard]] bool is_too_slow() const { return late_ >= (was_in_time_ ? 10 : 3); }

    [[nodiscard]] Millis read() const { return read_.last(); }        ///< of the last model
    [[nodiscard]] Millis publish() const { return publish_.last(); }  ///< of the last contribution
    [[nodiscard]] Millis round() const { return round_; }  ///< between the last two merges
    /// Returns for how long this process has read commits without reaching the newest one.
    [[nodiscard]] Millis reading() const { return reading_; }

  private:
    Stopwatch read_;   ///< of the last attempt
    Stopwatch tries_;  ///< of all attempts to read a model since the last success
    Stopwatch publish_;
    Round reads_;        ///< model of begin_read()
    bool is_missing_{};  ///< in the store, as far as known: the bytes of that model
    bool is_lost_{};     ///< model_is_lost() was called for that model
    bool retries_{};     ///< the last attempt to read it has failed
    Seq publishes_;      ///< contribution of begin_publish()
    Millis round_{0};
    FractionalSeconds step_{0};
    Millis reading_{0};
    int late_{0};
    Round stale_base_;  ///< the greatest one of stale contributions
    bool was_in_time_{};
};

}  // namespace curtail::protocol::site
