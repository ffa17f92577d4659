// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace curtail::programs {

enum class OptionType { flag, text, integer, number };

/// The smallest and the largest allowed value of a number.
struct NumberRange {
    double min{std::numeric_limits<double>::lowest()};
    double max{std::numeric_limits<double>::max()};
    bool above_min{false};  ///< if true, `min` itself is not allowed
};

/// A command-line option, such as `--close-delay`. The option's value comes from the first of these
/// sources that has a value: the command line, the environment variable (here
/// `CURTAIL_CLOSE_DELAY`), the `--config` file, `fallback`.
struct Option {
    std::string name;  ///< without the leading dashes: `close-delay`
    OptionType type{OptionType::text};
    /// Name of the value in the help page, such as `SECONDS`. A value called `FILE`, `FOLDER`,
    /// `PATH` or `RUN` must not be empty.
    std::string placeholder{};
    std::string fallback{};  ///< default value as text; empty if there is none
    std::string help{};
    bool required{false};
    bool repeated{false};  ///< may be given several times
    NumberRange range{};   ///< allowed values of an integer or number
    /// Value of an option that is given without a value. Empty: the option needs a value. A value
    /// of a text option must then be a plain name (is_plain_name()).
    std::string implied{};
};

/// Returns an option that has no value.
[[nodiscard]] Option flag_option(std::string name, std::string help);
[[nodiscard]] Option text_option(std::string name, std::string placeholder, std::string help,
                                 std::string fallback = {});
[[nodiscard]] Option integer_option(std::string name, std::string placeholder, std::string help,
                                    NumberRange range = {}, std::string fallback = {});
[[nodiscard]] Option number_option(std::string name, std::string placeholder, std::string help,
                                   NumberRange range = {}, std::string fallback = {});
/// Sets Option::required.
[[nodiscard]] Option required(Option option);
/// Sets Option::repeated.
[[nodiscard]] Option repeated(Option option);
/// Sets Option::implied.
[[nodiscard]] Option implying(Option option, std::string value);

/// An argument without an option name. Its text must not be empty.
struct Positional {
    std::string name;  ///< name in the help page, such as `RUN`
    std::string help;
    bool required{true};
    bool repeated{false};
};

/// Values of options and positionals, as text, by name. If a name has no entry or an empty list,
/// its option or positional has no value.
using OptionValues = std::map<std::string, std::vector<std::string>>;

/// Returns the reason why `text` is not a valid value of `option`. Returns an empty string if
/// `text` is valid.
[[nodiscard]] std::string problem_with(Option const& option, std::string const& text);
/// Returns true for "true", "yes", "on" and "1". Returns false for "false", "no", "off" and "0".
/// Returns an empty optional for any other text.
[[nodiscard]] std::optional<bool> parse_flag(std::string const& word);

}  // namespace curtail::programs
