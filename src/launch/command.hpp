// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"
#include "launch/kernel.hpp"

namespace curtail::launch {

/// A program to run to its end, without a shell: the program receives its arguments unchanged.
struct Command {
    std::vector<std::string> arguments;  ///< the first is the program; see find_program
    std::vector<std::pair<std::string, std::string>> environment;  ///< complete
    Millis deadline{10'000};  ///< from start to end; afterwards its process group is killed
    std::size_t output_limit{std::size_t{8} * 1024 * 1024};  ///< bytes of stdout
};

struct Finished {
    int exit_code{};  ///< 128 + n if signal n ended it
    std::string output;
    std::string errors;  ///< the first 64 KiB of stderr
};

/// Runs a command in its own process group. The kernel kills it if the calling thread dies.
///
/// Errors: `unavailable`: the program does not exist; `temporary`: the deadline passed; `data`:
/// more output than allowed; `os_error`: it could not be started. A program that fails is a result,
/// not an error.
[[nodiscard]] Result<Finished> run_command(Command const& command, Kernel const& kernel = {});

/// Finds `program` in `path`, which has the form of $PATH. A name with a slash is used unchanged.
/// `unavailable` if it is not found.
[[nodiscard]] Result<std::string> find_program(std::string const& program, std::string const& path);

/// The variables that a command or job needs, without secrets: this process's PATH, HOME, USER,
/// LOGNAME and TMPDIR, and a plain locale.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> plain_environment();

}  // namespace curtail::launch
