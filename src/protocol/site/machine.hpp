// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "protocol/site/messages.hpp"
#include "protocol/site/phase.hpp"

namespace curtail::protocol::site {

/// The kinds of questions. Questions of one kind have the same possible answers.
enum class Question { get, copy, list, create, store, merge, restore, load, adopt, cut };

/// The mechanics of the state machine, without the rules of the protocol: the phase, the open
/// question, the time of the current input, and the outputs for this input.
class Machine {
  public:
    explicit Machine(std::uint64_t seed) : random_(seed) {}

    // ---- one input

    /// Starts the processing of an input: sets the clock and clears the outputs.
    void begin(MonoTime now);
    [[nodiscard]] std::vector<Output> take_outputs() { return std::move(outputs_); }
    /// Closes the open question and returns true. Returns false if the question was abandoned.
    /// Throws std::logic_error if `op` or `input` does not fit the question.
    [[nodiscard]] bool accept(Op op, Input const& input);
    /// Closes the open question without an answer. A later answer is ignored.
    void abandon();
    /// Takes a stop request and ends the pause. Of several requests, the earliest times count.
    void stop(StopRequested const& request);
    /// Forgets all times at which a Tick is due, except the end of the stop request.
    void reset_wake() { wake_ = end(); }

    // ---- clock

    [[nodiscard]] MonoTime now() const { return now_; }
    /// Returns the time by which a Tick is due; empty: none is due.
    [[nodiscard]] std::optional<MonoTime> wake() const;
    /// Returns true after a stop request.
    [[nodiscard]] bool stopping() const { return stop_.has_value(); }
    /// Returns true once the end of the stop request has been reached.
    [[nodiscard]] bool out_of_time() const { return stop_ && now_ >= stop_->end; }
    /// Returns whether a transfer of a payload may begin (StopRequested::begin_until).
    [[nodiscard]] bool may_transfer() const { return !stop_ || now_ < stop_->begin_until; }
    /// Returns true during a pause. Then also makes a Tick due at the end of the pause.
    [[nodiscard]] bool paused() { return !reached(not_before_); }
    /// Returns true if `t` is not in the future. Otherwise returns false and makes a Tick due
    /// at `t`.
    bool reached(MonoTime t);
    Millis jitter(Millis most);  ///< a random duration from 0 to `most`

    // ---- phase

    [[nodiscard]] Phase phase() const { return phase_; }
    [[nodiscard]] bool exited() const { return phase_ == Phase::exited; }
    /// Returns the number of calls of retry() since the last go(). set_tries() replaces this
    /// number.
    [[nodiscard]] int tries() const { return tries_; }
    void go(Phase phase);         ///< enters `phase`, sets tries() to 0 and ends the pause
    void switch_to(Phase phase);  ///< enters `phase`, keeps tries() and the pause
    /// Enters `phase`, adds 1 to tries() and starts a pause. The pause grows with tries(), up to a
    /// limit.
    void retry(Phase phase);
    void set_tries(int tries) { tries_ = tries; }
    void pause_until(MonoTime t)
    {
        not_before_ = t;
        moved_ = true;
    }
    [[nodiscard]] MonoTime pause_ends() const { return not_before_; }

    // ---- outputs

    [[nodiscard]] bool asking() const { return open_.has_value(); }
    [[nodiscard]] MonoTime asked() const { return asked_; }  ///< time of the last question
    /// Opens a question and returns its op. The caller must then send an output with this op.
    Op ask(Question question);
    /// Returns the kind of the last question, open or answered.
    [[nodiscard]] Question last_question() const { return last_question_; }
    /// Opens a question and sends a Get for the object `name`.
    void get(std::string name);
    /// Opens a question and sends a Create. The parameters are the fields of Create.
    void create(std::string name, std::string bytes, bool want_time = false);
    void send(Output output) { outputs_.push_back(std::move(output)); }
    /// Sends an Exit and enters Phase::exited.
    void exit(std::optional<Error> error);
    /// Calls `act`. Returns true if it has entered a phase, opened a question or begun a pause.
    template <class Act>
    [[nodiscard]] bool moves(Act const& act)
    {
        moved_ = false;
        act();
        return moved_;
    }

  private:
    [[nodiscard]] std::optional<MonoTime> end() const
    {
        return stop_ ? std::optional(stop_->end) : std::nullopt;
    }

    Phase phase_{Phase::probe_create};
    int tries_{0};
    MonoTime not_before_{};
    bool moved_{};  ///< see moves()
    std::optional<Op> open_;
    Question last_question_{Question::get};
    std::set<Op> abandoned_;  ///< questions whose answers are ignored
    Op last_op_{0};
    MonoTime asked_{};
    MonoTime now_{};
    std::optional<MonoTime> wake_;
    std::optional<StopRequested> stop_;  ///< earliest times of all stop requests; empty: none
    std::uint64_t random_;
    std::vector<Output> outputs_;
};

}  // namespace curtail::protocol::site
