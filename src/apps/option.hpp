// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace curtail::apps {

enum class OptionType { flag, text, integer, number };

/// Smallest and largest allowed value of a number.
struct Range {
    double min{std::numeric_limits<double>::lowest()};
    double max{std::numeric_limits<double>::max()};
};

/// One `--option`. Its value comes from the command line, else from the environment
/// (`CURTAIL_<NAME>`), else from the `--config` file, else from `fallback`.
struct Option {
    std::string name;  ///< without dashes: `close-delay`
    OptionType type{OptionType::text};
    /// Shown in help: `SECONDS`, `FILE`. A `FILE`, `FOLDER`, `PATH` or `RUN` must not be empty.
    std::string unit{};
    std::string fallback{};  ///< default as text; empty: none
    std::string help{};
    bool required{false};
    bool repeated{false};  ///< may be given several times
    Range range{};         ///< of integers and numbers
};

/// An argument without a name. Must not be empty.
struct Positional {
    std::string name;  ///< `RUN`
    std::string help;
    bool required{true};
    bool repeated{false};
};

/// Texts of options and positionals by name. A name that is absent has no value so far.
using Values = std::map<std::string, std::vector<std::string>>;

/// Why `text` cannot be a value of `option`; empty if it can.
[[nodiscard]] std::string problem_with(Option const& option, std::string const& text);
/// true, yes, on, 1; or false, no, off, 0. Empty for other words.
[[nodiscard]] std::optional<bool> parse_flag(std::string const& word);

}  // namespace curtail::apps
