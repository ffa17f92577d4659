// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rounds/messages.hpp"
#include "rounds/site/phase.hpp"

namespace curtail::rounds::site {

/// Questions by the answers that they allow.
enum class Question { get, create, store, merge, load, adopt, cut };

/// The state machine without its rules: the phase, the open question, the clock and the outputs of
/// the current input.
class Machine {
  public:
    explicit Machine(std::uint64_t seed) : random_(seed) {}

    // ---- one input

    void begin(MonoTime now);
    [[nodiscard]] std::vector<Output> take_outputs() { return std::move(outputs_); }
    /// Closes the open question. Throws std::logic_error if `input` does not answer it.
    void accept(Op op, Input const& input);
    void stop(StopRequested const& request);
    /// Forgets earlier times of the next Tick.
    void rewind_wake() { wake_ = deadline_; }

    // ---- clock

    [[nodiscard]] MonoTime now() const { return now_; }
    [[nodiscard]] std::optional<MonoTime> wake() const;  ///< latest time of the next Tick
    [[nodiscard]] bool stopping() const { return deadline_.has_value(); }
    [[nodiscard]] bool out_of_time() const { return deadline_ && now_ >= *deadline_; }
    [[nodiscard]] bool paused() { return !reached(not_before_); }
    /// False if `t` is in the future; then a Tick is due at `t`.
    bool reached(MonoTime t);
    Millis jitter(Millis most);  ///< random, 0 to `most`

    // ---- phase

    [[nodiscard]] Phase phase() const { return phase_; }
    [[nodiscard]] bool exited() const { return phase_ == Phase::exited; }
    [[nodiscard]] int tries() const { return tries_; }
    void go(Phase phase);         ///< resets tries and pause
    void switch_to(Phase phase);  ///< keeps tries and pause
    void retry(Phase phase);      ///< after a pause that grows with each try
    void set_tries(int tries) { tries_ = tries; }
    void pause_until(MonoTime t) { not_before_ = t; }
    [[nodiscard]] MonoTime pause_ends() const { return not_before_; }

    // ---- outputs

    [[nodiscard]] bool asking() const { return open_.has_value(); }
    Op ask(Question question);  ///< the caller sends the output with this op
    void get(std::string name);
    void create(std::string name, std::string bytes, bool want_time = false);
    void send(Output output) { outputs_.push_back(std::move(output)); }
    void note(std::string type, json::Object details);
    void exit(ExitCode code, std::optional<Error> error);

  private:
    struct OpenQuestion {
        Op op{};
        Question question{Question::get};
    };
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
