// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/core/result.hpp"
#include "base/core/units.hpp"
#include "base/process/kernel.hpp"

namespace curtail::process {

/// A program to run until it ends, and how. It is run without a shell, so it receives its arguments
/// unchanged.
struct CommandSpec {
    /// The first is the program: a path with a slash, or a name to find in the PATH of
    /// `environment`.
    std::vector<std::string> arguments;
    /// All environment variables of the program. It inherits none from this process.
    std::vector<std::pair<std::string, std::string>> environment;
    Millis deadline{10'000};  ///< maximum duration; after it the program's process group is killed
    std::size_t output_limit{std::size_t{8} * 1024 * 1024};  ///< maximum size of stdout in bytes
    std::stop_token cancel{};  ///< soon after a stop request, the process group is killed
};

/// What a command left when it ended.
struct CommandResult {
    int exit_code{};     ///< 128 + n if signal n ended it
    std::string output;  ///< stdout
    std::string errors;  ///< the first 64 KiB of stderr
};

/// Runs a command in its own process group, and waits for its end. The kernel kills the command if
/// the calling thread dies.
///
/// Fails with `unavailable` if the program does not exist. Fails with `temporary` if the deadline
/// passed or the command was cancelled. Fails with `data` if the output is larger than
/// `output_limit`. Fails with `os_error` if the command could not be started or its exit code is
/// lost. A command that ends with an exit code other than 0 is a result, not an error.
[[nodiscard]] Result<CommandResult> run_command(CommandSpec const& command,
                                                Kernel const& kernel = {});

/// Returns whether a path leads to a regular file that this process may execute.
[[nodiscard]] bool is_program(std::string const& file);

/// Finds `program` in `path`, a list of folders in the form of $PATH. A `program` with a slash is
/// returned unchanged. Fails with `unavailable` if there is no such program.
[[nodiscard]] Result<std::string> find_program(std::string const& program, std::string const& path);

/// Returns the environment for commands and jobs. It consists of LC_ALL=C.UTF-8 and this process's
/// PATH, HOME, USER, LOGNAME and TMPDIR. So it contains no secrets.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> plain_environment();

}  // namespace curtail::process
