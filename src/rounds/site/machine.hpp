// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rounds/messages.hpp"
#include "rounds/site/phase.hpp"

namespace curtail::rounds::site {

/// The kinds of questions. Questions of one kind have the same possible answers.
enum class Question { get, create, store, merge, load, adopt, cut };

/// The mechanics of the state machine, without the rules of the protocol: the phase, the open
/// question, the clock, and the outputs for the current input.
class Machine {
  public:
    explicit Machine(std::uint64_t seed) : random_(seed) {}

    // ---- one input

    /// Starts the processing of an input: sets the clock and clears the outputs.
    void begin(MonoTime now);
    [[nodiscard]] std::vector<Output> take_outputs() { return std::move(outputs_); }
    /// Closes the open question. Throws std::logic_error if `input` does not answer it.
    void accept(Op op, Input const& input);
    /// Takes a stop request. The earliest deadline counts.
    void stop(StopRequested const& request);
    /// Forgets all times at which a Tick is due, except the deadline.
    void reset_wake() { wake_ = deadline_; }

    // ---- clock

    [[nodiscard]] MonoTime now() const { return now_; }
    [[nodiscard]] std::optional<MonoTime> wake() const;  ///< time by which a Tick is due
    /// Returns true after a stop request.
    [[nodiscard]] bool stopping() const { return deadline_.has_value(); }
    [[nodiscard]] bool out_of_time() const { return deadline_ && now_ >= *deadline_; }
    [[nodiscard]] bool paused() { return !reached(not_before_); }
    /// Returns true if `t` is not in the future. Otherwise returns false and makes a Tick due
    /// at `t`.
    bool reached(MonoTime t);
    Millis jitter(Millis most);  ///< a random time from 0 to `most`

    // ---- phase

    [[nodiscard]] Phase phase() const { return phase_; }
    [[nodiscard]] bool exited() const { return phase_ == Phase::exited; }
    [[nodiscard]] int tries() const { return tries_; }
    void go(Phase phase);         ///< sets the number of tries to 0 and ends the pause
    void switch_to(Phase phase);  ///< keeps the number of tries and the pause
    void retry(Phase phase);      ///< counts a try and starts a pause, longer with each try
    void set_tries(int tries) { tries_ = tries; }
    void pause_until(MonoTime t) { not_before_ = t; }
    [[nodiscard]] MonoTime pause_ends() const { return not_before_; }

    // ---- outputs

    [[nodiscard]] bool asking() const { return open_.has_value(); }
    /// Opens a question and returns its op. The caller must then send an output with this op.
    Op ask(Question question);
    /// Opens a question and sends it as a Get.
    void get(std::string name);
    /// Opens a question and sends it as a Create.
    void create(std::string name, std::string bytes, bool want_time = false);
    void send(Output output) { outputs_.push_back(std::move(output)); }
    /// Sends an Exit.
    void exit(ExitCode code, std::optional<Error> error);

  private:
    struct OpenQuestion {
        Op op{};
        Question question{Question::get};
    };
    /// Returns true if `input` is a possible answer to the open question.
    [[nodiscard]] bool fits(Input const& input) const;

    Phase phase_{Phase::probe_create};
    int tries_{0};
    MonoTime not_before_{};
    std::optional<OpenQuestion> open_;
    Op last_op_{0};
    MonoTime now_{};
    std::optional<MonoTime> wake_;
    std::optional<MonoTime> deadline_;  ///< of a stop request
    std::uint64_t random_;
    std::vector<Output> outputs_;
};

}  // namespace curtail::rounds::site
