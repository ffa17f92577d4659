// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "programs/frame/program.hpp"

namespace curtail::programs {

/// The result of parsing a command line.
struct Invocation {
    /// Command to run, owned by the Program; null: only print `page`.
    Command const* command{nullptr};
    std::string page{};     ///< output of --help or --version
    std::string config{};   ///< argument of --config; empty if not given
    OptionValues values{};  ///< options and positionals that the command line contains
};

/// Parses and validates a command line with CLI11. Fails with `usage` if the command line is
/// invalid. For an unknown option or command, the message suggests the nearest known one. `program`
/// must outlive the result.
[[nodiscard]] Result<Invocation> parse_command_line(Program const& program, int argc,
                                                    char const* const* argv);

}  // namespace curtail::programs
