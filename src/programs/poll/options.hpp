// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/core/units.hpp"
#include "programs/frame/program.hpp"

namespace curtail::programs {

/// Selects the signals of a recorded trace.
struct TraceSource {
    std::string file;
    /// The clock factor: seconds of the trace per real second. If empty, the replay keeps the clock
    /// factor that its first poll stored. In the first poll, an empty `speed` means 1.
    std::optional<double> speed;
};
/// Selects the signals of WattTime.
struct WattTimeSource {
    std::string credentials_file;
    std::string base_url;
    std::string ca_file;  ///< certificates to trust; empty: the system's
};
/// Selects no signals. The program then shows the windows that the previous poll stored.
struct NoSource {};
using SignalSource = std::variant<NoSource, TraceSource, WattTimeSource>;

/// A person's decision: to pause some sites, or to let them train again.
struct HoldCommand {
    bool held{false};                ///< true: pause; false: resume
    std::vector<std::string> sites;  ///< empty: all sites of the run
    std::string reason;              ///< of a pause
    std::string by{};                ///< who decides, such as `anna@login1`
};

/// The options of curtail-poll, as parse_options() has validated them.
struct PollOptions {
    enum class Mode {
        once,     ///< poll once, and carry out the actions
        dry_run,  ///< poll once, but change neither files nor jobs
        watch
    };
    Mode mode{Mode::once};
    SignalSource source;
    std::optional<HoldCommand> hold;  ///< carried out before the poll
    std::vector<std::string> sites;   ///< empty: all sites of the run
    bool explain{false};              ///< print signal, window, jobs and next actions of each site
    Millis job_interval{};  ///< real time between two queries of the jobs; for `watch` only
    /// Whether to drain all jobs when the user stops the program. Only `watch` uses this option.
    /// For a trace, the option is always true.
    bool drain_on_exit{false};
    bool allow_root{false};  ///< whether root may poll and so run jobs

    [[nodiscard]] bool is_dry_run() const { return mode == Mode::dry_run; }
    [[nodiscard]] bool has_source() const { return !std::holds_alternative<NoSource>(source); }
};

/// Validates the arguments. Fails with `usage` if two of them exclude each other, or if a needed
/// one is missing. The message states the first such fault.
[[nodiscard]] Result<PollOptions> parse_options(Arguments const& arguments);

/// Returns the options that curtail-poll declares.
[[nodiscard]] std::vector<Option> poll_option_table();

}  // namespace curtail::programs
