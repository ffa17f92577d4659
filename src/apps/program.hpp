// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "apps/console.hpp"
#include "apps/option.hpp"
#include "core/result.hpp"

/// What all programs share: one table of options gives parsing, help, environment variables and
/// configuration file.
namespace curtail::apps {

/// Validated values of options and positionals. A name that was not declared throws.
class Arguments {
  public:
    [[nodiscard]] bool flag(std::string const& name) const;
    [[nodiscard]] bool has(std::string const& name) const;          ///< has a value or a default
    [[nodiscard]] std::string text(std::string const& name) const;  ///< empty if absent
    [[nodiscard]] std::int64_t integer(std::string const& name) const;
    [[nodiscard]] double number(std::string const& name) const;
    [[nodiscard]] std::vector<std::string> all(std::string const& name) const;

    Values values;
};

struct Command {
    std::string name;  ///< empty: the program has no subcommands
    std::string summary;
    std::vector<Option> options;
    std::vector<Positional> positionals;
    std::function<Result<void>(Arguments const&, Console const&)> run;
    bool json{false};  ///< offers `--json`
};

struct Program {
    std::string name;
    std::string summary;
    std::vector<Command> commands;
    std::string notes;  ///< at the end of the help page
};

[[nodiscard]] Option json_option();                  ///< --json
[[nodiscard]] std::vector<Option> common_options();  ///< --verbose, --quiet
/// A command's own options, --json if it offers that, and the common ones.
[[nodiscard]] std::vector<Option> all_options(Command const& command);

/// Parses the command line, runs one command, prints its error if any, and returns the exit code.
/// Every program has --help, --version, --config FILE, --verbose and --quiet. An exception becomes
/// code 70, a failed write to stdout code 74.
[[nodiscard]] int run(Program const& program, int argc, char const* const* argv);

}  // namespace curtail::apps
