// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"

namespace curtail::launch {

/// A program to run to its end. No shell is involved: arguments arrive as they stand here.
struct Command {
    std::vector<std::string>
        arguments;  ///< the first is the program, looked up in PATH of `environment`
    std::vector<std::pair<std::string, std::string>> environment;  ///< all of it
    Millis deadline{10'000};  ///< from start to end; then it is killed with what it started
    std::size_t output_limit{std::size_t{8} * 1024 *
                             1024};  ///< of stdout; of stderr the first 64 KiB are kept
};

struct Finished {
    int exit_code{};  ///< 128 + n if ended by signal n
    std::string output;
    std::string errors;
};

/// Runs a command in a process group of its own; it dies with the calling thread's process.
/// `unavailable`: the program is not there; `temporary`: the deadline has passed; `data`: more
/// output than allowed; `os_error`: it could not be started. A program that fails is an answer, not
/// an error.
[[nodiscard]] Result<Finished> run_command(Command const& command);

/// Where `program` lies on `path` (as in $PATH); a name with a slash is taken as it is. Code
/// `unavailable`.
[[nodiscard]] Result<std::string> find_program(std::string const& program, std::string const& path);

/// PATH, HOME, USER, LOGNAME, TMPDIR as they are here, and a plain locale: what a command or job
/// needs and no secret is in.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> plain_environment();

}  // namespace curtail::launch
