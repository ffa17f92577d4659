// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "apps/program.hpp"
#include "core/units.hpp"

namespace curtail::apps {

/// Signals from a recorded trace.
struct TraceSource {
    std::string file;
    std::optional<double> speed;  ///< trace seconds per real second; empty: that of the run's clock
};
/// Signals from WattTime.
struct WattTimeSource {
    std::string credentials_file;
    std::string base_url;
    std::string ca_file;  ///< empty: the system's certificates
};
/// No signals: windows are shown as of the last evaluation.
struct NoSource {};
using SignalSource = std::variant<NoSource, TraceSource, WattTimeSource>;

/// The command line of curtail-poll after validation: every value is a meaningful combination.
struct PollOptions {
    enum class Mode {
        once,
        dry_run,  ///< poll once and change nothing
        watch
    };
    Mode mode{Mode::once};
    SignalSource source;
    std::vector<std::string> sites;  ///< empty: all sites of the run
    bool explain{false};             ///< print a summary at the end
    Millis job_interval{};           ///< `watch` only
    bool drain_on_exit{false};       ///< `watch` only; always true for a trace

    [[nodiscard]] bool is_dry_run() const { return mode == Mode::dry_run; }
};

/// Code `usage` for the first rule that the arguments break.
[[nodiscard]] Result<PollOptions> parse_options(Arguments const& arguments);

/// The options that the command line accepts.
[[nodiscard]] std::vector<Option> poll_option_table();

}  // namespace curtail::apps
