// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/core/json.hpp"
#include "base/core/time.hpp"

namespace curtail::trainer {

/// Measures the phases of a trainer's start, from the start of its process to its first step. Used
/// by one thread.
class StartTimer {
  public:
    /// The first phase, `process`, began with the process, and ends here.
    StartTimer();
    /// Begins with the phase `process`, which took `process`.
    explicit StartTimer(FractionalSeconds process);
    /// Ends a phase, which began when the one before it ended. Does nothing after done().
    void end(std::string phase);
    /// As end(), but does nothing if the last phase that ended has this name.
    void end_once(std::string const& phase);
    /// Ends the last phase. Returns true the first time.
    [[nodiscard]] bool done(std::string phase);

    /// Returns the time from the start of the process to the end of the last phase.
    [[nodiscard]] FractionalSeconds total() const;
    /// Returns "1.23 s (process 0.31, inputs 0.05, ...)".
    [[nodiscard]] std::string to_text() const;
    /// Returns the seconds of each phase by its name.
    [[nodiscard]] json::Object to_json() const;

  private:
    struct StartPhase {
        std::string name;
        FractionalSeconds duration;
    };
    std::vector<StartPhase> phases_;
    MonoTime last_;
    bool done_{false};
};

}  // namespace curtail::trainer
