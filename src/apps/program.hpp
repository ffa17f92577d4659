// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/log.hpp"
#include "core/result.hpp"

/// The frame of every program: options declared once, from which parsing, help, environment and
/// configuration file follow.
namespace curtail::apps {

enum class Kind { flag, text, integer, number };

/// One `--option`. Value from the flag, else the environment (CURTAIL_<NAME>), else the file of
/// `--config`, else `fallback`. Flags are true, yes or 1, or false, no or 0, in the environment;
/// --json, --verbose and --quiet may stand there and in the file too.
struct Option {
    std::string name;  ///< without dashes: `close-delay`
    Kind kind{Kind::text};
    std::string unit;  ///< shown in help: `SECONDS`, `FILE`; a `FILE`, `FOLDER`, `PATH` or `RUN`
                       ///< must not be empty
    std::string fallback;  ///< default as text; empty: none
    std::string help;
    bool required{false};
    bool repeated{false};  ///< may be given several times
};

struct Positional {
    std::string name;  ///< `RUN`; never empty when given
    std::string help;
    bool required{true};
    bool repeated{false};
};

/// What a person asked for, after validation. Asking for a name that was not declared is a defect
/// and throws.
class Arguments {
  public:
    [[nodiscard]] bool flag(std::string const& name) const;
    [[nodiscard]] bool has(std::string const& name) const;          ///< given, or with a default
    [[nodiscard]] std::string text(std::string const& name) const;  ///< empty if absent
    [[nodiscard]] std::int64_t integer(std::string const& name) const;
    [[nodiscard]] double number(std::string const& name) const;
    [[nodiscard]] std::vector<std::string> all(std::string const& name) const;

    std::map<std::string, std::vector<std::string>> values;  ///< by option or positional name
};

/// Where a command puts its product and its words.
struct Console {
    Log log;           ///< to stderr
    bool json{false};  ///< `--json` was given: the product is one JSON document
    /// The product, to stdout. What cannot be written is remembered: the program ends with 74 then.
    void print(std::string_view text) const;
    void print_json(json::Value const& document) const;
    std::shared_ptr<int> trouble =
        std::make_shared<int>(0);  ///< errno of the first write that failed
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
    std::string notes;  ///< end of the help page
};

/// Parses, runs one command, prints an error if there is one; answers the exit code. Every program
/// has --help, --version,
/// --config FILE, --verbose and --quiet. An exception of a broken contract becomes code 70, a
/// stdout that takes no more (other than a pipe whose reader is gone) code 74.
[[nodiscard]] int run(Program const& program, int argc, char const* const* argv);

/// A progress line on a terminal for work that takes more than 2 s; silent elsewhere. Writes to
/// stderr.
class Progress {
  public:
    Progress(std::string what, std::string unit);
    ~Progress();
    Progress(Progress const&) = delete;
    Progress& operator=(Progress const&) = delete;
    void at(double done, double whole);
    /// Any other figures than a share of a whole.
    void show(std::string const& figures);

  private:
    [[nodiscard]] bool due();  ///< a terminal, and the time for a new line has come
    std::string what_;
    std::string unit_;
    double started_;
    double shown_{0};
    bool terminal_;
};

}  // namespace curtail::apps
