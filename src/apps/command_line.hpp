// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "apps/program.hpp"

namespace curtail::apps {

/// What a command line asks for.
struct Invocation {
    Command const* command{nullptr};  ///< of the program; null: only print `page`
    std::string page;                 ///< of --help or --version
    std::string config;               ///< file of --config; empty: none
    Values values;                    ///< given on the command line
};

/// Parses and validates a command line by CLI11. Error `usage`; unknown options and commands name
/// the nearest known one. `program` must outlive the result.
[[nodiscard]] Result<Invocation> parse_command_line(Program const& program, int argc,
                                                    char const* const* argv);

}  // namespace curtail::apps
