// SPDX-License-Identifier: Apache-2.0
#include "programs/frame/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/core/build_info.hpp"
#include "base/core/ids.hpp"
#include "base/core/text.hpp"

namespace curtail::programs {
namespace {

constexpr char const* common_notes =
    "\nExit codes: 0 success; 64 usage error; 65 data error (damaged input); 66 input missing;\n"
    "69 service unavailable; 70 internal error; 71 operating-system error; 73 cannot create "
    "output;\n"
    "74 I/O error; 75 temporary failure (retry); 76 protocol error; 77 permission denied;\n"
    "78 configuration error; 130 interrupted.\n"
    "Option values come from the command line, else the environment (CURTAIL_<OPTION>), else the\n"
    "--config file, else the default.\n";

std::string problem_if_empty(std::string const& text)
{
    return text.empty() ? "must not be empty" : "";
}

void declare_flag(CLI::App& app, Option const& option)
{
    app.add_flag("--" + option.name, option.help);
}

void declare_option(CLI::App& app, Option const& option)
{
    auto const problem = [option](std::string const& text) { return problem_with(option, text); };
    // CLI11 would write the value to a text that is not constant.
    auto const help = option.help + (option.fallback.empty() ? "" : " [" + option.fallback + "]") +
                      (option.required ? " (required)" : "");
    auto const placeholder = option.placeholder.empty() ? "TEXT" : option.placeholder;
    app.add_option("--" + option.name, help)
        ->type_name(option.implied.empty() ? placeholder : "[" + placeholder + "]")
        ->expected(1, option.repeated ? 1000 : 1)
        ->allow_extra_args(false)
        ->check(CLI::Validator(problem, ""));
}

void declare_positional(CLI::App& app, Positional const& positional)
{
    app.add_option(positional.name, positional.help)
        ->type_name("")
        ->required(positional.required)
        ->expected(1, positional.repeated ? -1 : 1)  // -1: any number
        ->allow_extra_args(positional.repeated)
        ->check(CLI::Validator(problem_if_empty, ""));
}

void declare(CLI::App& app, Command const& command)
{
    for (auto const& option : command.options) {
        if (option.type == OptionType::flag) declare_flag(app, option);
        else declare_option(app, option);
    }
    if (command.json) declare_flag(app, json_option());
    for (auto const& positional : command.positionals) declare_positional(app, positional);
}

bool is_number(std::string_view word)
{
    double number{};
    auto const* const end = word.data() + word.size();
    auto const parsed = std::from_chars(word.data(), end, number);
    return !word.empty() && parsed.ptr == end && parsed.ec != std::errc::invalid_argument;
}

// Returns the option with an implied value that `word` names, or null if there is none.
Option const* find_implying(Program const& program, std::string const& word)
{
    for (auto const& command : program.commands)
        for (auto const& option : command.options)
            if (word == "--" + option.name && !option.implied.empty()) return &option;
    return nullptr;
}

// Gives options their implied values. CLI11 would take any next word as a value, for example RUN.
std::vector<std::string> with_implied_values(Program const& program, std::vector<std::string> words)
{
    for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
        auto const* const option = find_implying(program, words[i]);
        if (option == nullptr) continue;
        auto const is_value = option->type == OptionType::text ? is_plain_name : is_number;
        bool const has_value = i + 1 < words.size() && is_value(words[i + 1]);
        if (!has_value) words[i] += "=" + option->implied;
    }
    return words;
}

class Parser {
  public:
    explicit Parser(Program const& program);
    [[nodiscard]] Result<Invocation> parse(int argc, char const* const* argv);

  private:
    [[nodiscard]] Command const* chosen() const;
    [[nodiscard]] Result<Invocation> invocation() const;
    [[nodiscard]] Error usage_error(CLI::Error const& error) const;
    [[nodiscard]] Error unknown_option(std::string const& word) const;
    // `why` may be a question.
    [[nodiscard]] Error usage_error(std::string what, std::string why = "") const
    {
        auto const help = program_.name + " --help";
        if (why.ends_with('?')) return {ExitCode::usage, std::move(what), why + " See " + help, ""};
        return {ExitCode::usage, std::move(what), std::move(why), "see " + help};
    }

    Program const& program_;
    CLI::App app_;
};

Parser::Parser(Program const& program) : program_(program), app_(program.summary, program.name)
{
    app_.footer(program.notes + common_notes);
    app_.fallthrough();
    app_.set_version_flag(
        "--version", [this] { return build_text(program_.name); },
        "Print version, commit, compiler and libraries");
    for (auto const& option : common_options()) declare_flag(app_, option);
    app_.add_option("--config", "Read options from this JSON file (comments allowed)")
        ->type_name("FILE")
        ->check(CLI::Validator(problem_if_empty, ""));
    for (auto const& command : program.commands) {
        auto& app =
            command.name.empty() ? app_ : *app_.add_subcommand(command.name, command.summary);
        if (!command.example.empty())
            app.footer("\nExample: " + command.example + "\n" + common_notes);
        declare(app, command);
    }
}

Command const* Parser::chosen() const
{
    for (auto const& command : program_.commands)
        if (command.name.empty() || app_.got_subcommand(command.name)) return &command;
    return nullptr;
}

Result<Invocation> Parser::invocation() const
{
    auto const* const command = chosen();
    if (command == nullptr) return tl::unexpected(usage_error("missing command"));
    Invocation invocation{.command = command};
    auto const* const own = command->name.empty() ? &app_ : app_.get_subcommand(command->name);
    for (auto const* app : {own, &app_})
        for (auto const* option : app->get_options([](auto const* o) { return o->count() > 0; })) {
            bool const is_flag = option->get_expected_max() == 0;
            invocation.values[option->get_single_name()] =
                is_flag ? std::vector<std::string>{option->as<bool>() ? "true" : "false"}
                        : option->results();
        }
    if (auto const config = invocation.values.extract("config"))
        invocation.config = config.mapped().back();
    return invocation;
}

Error Parser::unknown_option(std::string const& word) const
{
    std::vector<std::string> known{"--help", "--version", "--config", "--verbose", "--quiet"};
    if (auto const* const command = chosen())
        for (auto const& option : all_options(*command))
            if (auto const name = "--" + option.name;
                std::find(known.begin(), known.end(), name) == known.end())
                known.push_back(name);
    auto const name = word.substr(0, word.find('='));
    return usage_error("unknown option " + printable(name), suggest_name(name, known));
}

// CLI11 lists the words that it did not expect; this adds the nearest known name.
Error Parser::usage_error(CLI::Error const& error) const
{
    auto const extra = app_.remaining(true);
    for (auto const& word : extra)
        if (word.size() > 1 && word[0] == '-' &&
            std::isdigit(static_cast<unsigned char>(word[1])) == 0)
            return unknown_option(word);
    if (chosen() == nullptr && !extra.empty()) {
        std::vector<std::string> names;
        for (auto const& command : program_.commands) names.push_back(command.name);
        return usage_error("unknown command " + printable(extra[0]), suggest_name(extra[0], names));
    }
    return usage_error(printable(error.what()));
}

Result<Invocation> Parser::parse(int argc, char const* const* argv)
{
    auto const words = with_implied_values(program_, {argv, argv + argc});
    std::vector<char const*> pointers;
    pointers.reserve(words.size());
    for (auto const& word : words) pointers.push_back(word.c_str());
    try {
        app_.parse(argc, pointers.data());
        return invocation();
    } catch (CLI::CallForHelp const&) {
        return Invocation{.page = app_.help()};
    } catch (CLI::CallForVersion const& version) {
        return Invocation{.page = version.what()};
    } catch (CLI::ParseError const& error) {
        return tl::unexpected(usage_error(error));
    }
}

}  // namespace

Result<Invocation> parse_command_line(Program const& program, int argc, char const* const* argv)
{
    return Parser(program).parse(argc, argv);
}

}  // namespace curtail::programs
