// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "apps/program.hpp"
#include "core/units.hpp"

namespace curtail::apps {

/// Signals come from a recorded trace.
struct TraceSource {
    std::string file;
    std::optional<double>
        speed;  ///< trace seconds per real second; empty: as the run's clock, or 1
};
/// Signals come from WattTime.
struct WattTimeSource {
    std::string credentials_file;
    std::string base_url;
    std::string ca_file;  ///< certificates to trust; empty: the system's
};
/// There are no signals: windows are shown as of the last evaluation.
struct NoSource {};
using SignalSource = std::variant<NoSource, TraceSource, WattTimeSource>;

/// The options of curtail-poll after validation. Every combination is meaningful.
struct PollOptions {
    enum class Mode {
        once,
        dry_run,  ///< poll once, without any effect
        watch
    };
    Mode mode{Mode::once};
    SignalSource source;
    std::vector<std::string> sites;  ///< empty: all sites of the run
    bool explain{false};             ///< print a summary at the end
    Millis job_interval{};           ///< time between two lists of jobs; for `watch` only
    /// Drain all jobs when stopped; for `watch` only; always true for a trace.
    bool drain_on_exit{false};

    [[nodiscard]] bool is_dry_run() const { return mode == Mode::dry_run; }
};

/// Validates the arguments. Fails with `usage` if they break a rule; the message describes the
/// first broken one.
[[nodiscard]] Result<PollOptions> parse_options(Arguments const& arguments);

/// Returns the options that curtail-poll declares.
[[nodiscard]] std::vector<Option> poll_option_table();

}  // namespace curtail::apps
