// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/core/result.hpp"
#include "programs/frame/console.hpp"
#include "programs/frame/option.hpp"

// All programs share this code. Each program declares its options once, in a table. The
// command-line parser, the help pages, and the code that reads environment variables and the
// --config file all use this table.

namespace curtail::programs {

/// The validated values of options and positionals. All functions throw std::out_of_range if the
/// command does not declare `name`. integer() and number() also throw if there is no value.
class Arguments {
  public:
    [[nodiscard]] bool flag(std::string const& name) const;  ///< false if there is no value
    /// Tells whether there is a value; a default counts as one.
    [[nodiscard]] bool has(std::string const& name) const;
    [[nodiscard]] std::string text(std::string const& name) const;  ///< empty if there is no value
    [[nodiscard]] std::int64_t integer(std::string const& name) const;
    [[nodiscard]] double number(std::string const& name) const;
    /// Returns every value of an option or positional that may be repeated, in order.
    [[nodiscard]] std::vector<std::string> values_of(std::string const& name) const;

    OptionValues values;
};

/// A command of a program: its options and positionals, and the function that runs it.
struct Command {
    std::string name{};  ///< empty if the program has no subcommands
    std::string summary{};
    std::vector<Option> options{};
    std::vector<Positional> positionals;
    std::function<Result<void>(Arguments const&, Console const&)> run;
    bool json{false};  ///< whether the command has the option `--json`
    /// A command line that the command's help page shows. A program without subcommands leaves this
    /// empty and shows examples in its `notes`.
    std::string example{};
};

/// A program and its commands.
struct Program {
    std::string name;
    std::string summary;
    std::vector<Command> commands;
    std::string notes{};  ///< text at the end of the help page
};

/// Returns the option `--json`.
[[nodiscard]] Option json_option();
/// Returns `--verbose` and `--quiet`. The parser itself adds --help, --version and --config.
[[nodiscard]] std::vector<Option> common_options();
/// Returns the options of a command: its own, `--json` if the command has it, and the common ones.
[[nodiscard]] std::vector<Option> all_options(Command const& command);

/// Sets the umask to 077: files of a run are for its user alone. Returns the previous umask. Every
/// program calls this first.
mode_t keep_new_files_private();

/// While it lives, new files get the umask of whoever started the program: files for other people.
class UserUmask {
  public:
    explicit UserUmask(Console const& console);
    ~UserUmask() { keep_new_files_private(); }
    UserUmask(UserUmask const&) = delete;
    UserUmask& operator=(UserUmask const&) = delete;
};

/// Parses the command line, runs one command and returns the exit code. Prints the error if the
/// command fails. Every program has --help, --version, --config FILE, --verbose and --quiet. An
/// exception gives the exit code of error_of(); a failed write to stdout gives `io` (74).
[[nodiscard]] int run(Program const& program, int argc, char const* const* argv);

/// Ends the process with `code`, without exit handlers and destructors of static objects. For a
/// program in which threads may still run: the handlers would free what these use, for example the
/// state of OpenSSL.
[[noreturn]] void end_at_once(int code);

}  // namespace curtail::programs
