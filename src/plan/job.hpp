#pragma once
#include <optional>
#include <string>

#include "core/ids.hpp"
#include "core/time.hpp"

namespace curtail::plan {

using JobId = Name<struct JobKind>;        ///< as the launcher calls it: `1234`
using IntentId = Name<struct IntentKind>;  ///< one decision to submit a job; travels in the job's comment

/// One job of one run and site, as its launcher shows it.
struct Job {
    enum class State {
        pending,
        running,
        ending,  ///< its processes are being ended; still holds its place
        ended
    };
    JobId id;
    WindowId window;  ///< from its comment; empty if that cannot be read
    IntentId intent;  ///< from its comment; empty if that cannot be read
    State state{State::pending};
    std::string word;              ///< the launcher's own: `COMPLETED`, `NODE_FAIL`
    std::optional<int> exit_code;  ///< of an ended one, where known; 128 + n if ended by signal n
    std::optional<Time> started;
    std::optional<Time> ended;
    friend bool operator==(Job const&, Job const&) = default;
};

}  // namespace curtail::plan
