// SPDX-License-Identifier: Apache-2.0
#include "apps/program.hpp"

#include <csignal>

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "core/build_info.hpp"
#include "core/clock.hpp"
#include "core/files.hpp"
#include "core/text.hpp"

namespace curtail::apps {
namespace {

constexpr char const* exit_code_page =
    "\nExit codes: 0 done; 64 wrong command line; 65 damaged input; 66 input missing; 69 a service "
    "is not there; 70 defect;\n"
    "71 operating system; 73 output cannot be made; 74 reading or writing failed; 75 try again "
    "later; 76 a record was refused;\n"
    "77 permission; 78 wrong configuration; 130 interrupted.\n"
    "Values come from the flag, else the environment (CURTAIL_<OPTION>), else the file of "
    "--config, else the default.\n";

struct Parsed {
    CLI::App* app{nullptr};
    Command const* command{nullptr};
    std::vector<Option> options;  ///< the command's, and those of every command
    std::map<std::string, std::vector<std::string>> values;
    std::map<std::string, std::optional<bool>> flags;  ///< nothing: not said so far
};

/// What every command has beside its own options.
std::vector<Option> common_flags()
{
    return {{"verbose", Kind::flag, "", "", "Log details too"},
            {"quiet", Kind::flag, "", "", "Log errors only"}};
}

std::string environment_name(std::string const& option)
{
    std::string name = "CURTAIL_";
    for (char c : option)
        name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return name;
}

std::string help_line(Option const& option)
{
    auto text = option.help;
    if (!option.fallback.empty()) text += " [" + option.fallback + "]";
    if (option.required) text += " (required)";
    return text;
}

/// An option of which nothing is said yet: "--name" sets it, and so does "--name=false".
void add_flag(CLI::App& app, Option const& option, std::optional<bool>& value)
{
    app.add_flag_function(
        "--" + option.name, [&value](std::int64_t count) { value = count > 0; }, option.help);
}

void declare(CLI::App& app, Command const& command, Parsed& parsed)
{
    parsed.app = &app;
    parsed.command = &command;
    parsed.options = command.options;
    if (command.json)
        parsed.options.push_back(
            {"json", Kind::flag, "", "", "Print one JSON document instead of text"});
    for (auto const& option : parsed.options) {
        if (option.kind == Kind::flag) {
            add_flag(app, option, parsed.flags[option.name]);
            continue;
        }
        auto* added =
            app.add_option("--" + option.name, parsed.values[option.name], help_line(option));
        added->type_name(option.unit.empty() ? "TEXT" : option.unit)
            ->expected(1, option.repeated ? 1000 : 1)
            ->allow_extra_args(false);
        if (!option.repeated) added->multi_option_policy(CLI::MultiOptionPolicy::Throw);
    }
    for (auto const& positional : command.positionals) {
        auto* added =
            app.add_option(positional.name, parsed.values[positional.name], positional.help);
        added->type_name("")->required(positional.required)->expected(positional.repeated ? -1 : 1);
    }
}

char const* kind_wanted(Kind kind)
{
    switch (kind) {
        case Kind::flag:
            return "true or false";
        case Kind::text:
            return "text";
        case Kind::integer:
            return "an integer";
        case Kind::number:
            return "a number";
    }
    return "";
}

/// A value of a configuration file as the word it would be on the command line; nothing if it is of
/// another kind than the option.
std::optional<std::string> as_word(Kind kind, json::Value const& value)
{
    bool const fits =
        kind == Kind::integer ? value.as_integer() != nullptr : value.as_number().has_value();
    if (kind != Kind::text) return fits ? std::optional(json::to_string(value)) : std::nullopt;
    return value.as_text() != nullptr ? std::optional(*value.as_text()) : std::nullopt;
}

Result<void> take_from_file(std::string const& path, Parsed& parsed)
{
    auto const file = json::parse_file(path).map_error([](Error error) {
        if (error.code == ExitCode::data) error.code = ExitCode::config;
        return error;
    });
    if (!file) return tl::unexpected(file.error());
    json::ObjectReader reader(*file, path, ExitCode::config);
    for (auto const& option : parsed.options) {
        auto const* value = reader.any(option.name);
        if (value == nullptr) continue;
        auto const refuse = [&](json::Value const& found) {
            reader.require(
                false, option.name,
                std::string("must be ") + kind_wanted(option.kind) + ", found " + found.type_name());
        };
        if (option.kind == Kind::flag) {
            auto& flag = parsed.flags[option.name];
            if (value->as_bool() == nullptr) refuse(*value);
            else flag = flag.value_or(*value->as_bool());
            continue;
        }
        auto& words = parsed.values[option.name];
        bool const said = !words.empty();
        json::Array const one{*value};
        auto const* list = option.repeated ? value->as_array() : nullptr;
        for (auto const& element : list != nullptr ? *list : one) {
            auto word = as_word(option.kind, element);
            if (!word) refuse(element);
            else if (!said) words.push_back(std::move(*word));
        }
    }
    if (auto error = reader.finish()) return tl::unexpected(*error);
    return {};
}

Result<void> take_from_environment(Parsed& parsed)
{
    for (auto const& option : parsed.options) {
        auto const name = environment_name(option.name);
        char const* const found = std::getenv(name.c_str());
        std::string_view const word = found != nullptr ? found : "";
        if (word.empty()) continue;
        if (option.kind != Kind::flag) {
            if (parsed.values[option.name].empty())
                parsed.values[option.name] = {std::string(word)};
            continue;
        }
        bool const yes = word == "1" || word == "true" || word == "yes";
        if (!yes && word != "0" && word != "false" && word != "no")
            return fail(ExitCode::usage, name + "=" + printable(word), "true or false is wanted",
                        "or yes, no, 1, 0");
        auto& flag = parsed.flags[option.name];
        flag = flag.value_or(yes);
    }
    return {};
}

template <class Number>
bool is_number(std::string const& text)
{
    Number number{};
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) return false;
    if constexpr (std::is_floating_point_v<Number>) return std::isfinite(number);
    return true;
}

Result<void> check_kind(Option const& option, std::string const& value)
{
    if (option.kind == Kind::text) return {};
    if (option.kind == Kind::integer ? is_number<std::int64_t>(value) : is_number<double>(value))
        return {};
    return fail(ExitCode::usage, "--" + option.name + " " + printable(value),
                option.kind == Kind::integer ? "an integer of at most 64 bits is wanted"
                                             : "a finite number is wanted");
}

bool is_path(Option const& option)
{
    return option.unit == "FILE" || option.unit == "FOLDER" || option.unit == "PATH" ||
           option.unit == "RUN";
}

/// An empty path is somebody's variable that was not set, never a wish.
Result<void> refuse_empty(std::string const& name, std::vector<std::string> const& values)
{
    if (std::find(values.begin(), values.end(), "") == values.end()) return {};
    return fail(ExitCode::usage, name + " is empty", "it must say something", "see --help");
}

Result<void> complete(std::string const& config, Parsed& parsed)
{
    if (auto taken = take_from_environment(parsed); !taken) return taken;
    if (!config.empty())
        if (auto taken = take_from_file(config, parsed); !taken) return taken;
    for (auto const& option : parsed.options) {
        if (option.kind == Kind::flag) continue;
        auto& values = parsed.values[option.name];
        if (values.empty() && !option.fallback.empty()) values = {option.fallback};
        if (values.empty() && option.required)
            return fail(ExitCode::usage, "--" + option.name + " is missing", option.help,
                        "see --help");
        for (auto const& value : values)
            if (auto good = check_kind(option, value); !good) return good;
        if (is_path(option))
            if (auto good = refuse_empty("--" + option.name, values); !good) return good;
    }
    for (auto const& positional : parsed.command->positionals)
        if (auto good = refuse_empty(positional.name, parsed.values[positional.name]); !good)
            return good;
    return {};
}

/// CLI11 says which arguments it did not expect; the nearest known name is ours to add.
std::string usage_message(CLI::Error const& error, std::vector<std::string> const& words,
                          Parsed const* chosen, Program const& program)
{
    std::vector<std::string> known{"--help", "--version", "--config", "--verbose", "--quiet"};
    if (chosen != nullptr)
        for (auto const& option : chosen->options) known.push_back("--" + option.name);
    std::vector<std::string> names;
    for (auto const& c : program.commands) names.push_back(c.name);
    for (auto const& word : words) {
        if (word == "--") break;
        bool const is_long = word.rfind("--", 0) == 0;
        bool const is_short = !is_long && word.size() > 1 && word[0] == '-' &&
                              std::isdigit(static_cast<unsigned char>(word[1])) == 0;
        if (!is_long && (!is_short || word == "-h")) continue;
        auto const name = word.substr(0, word.find('='));
        if (std::find(known.begin(), known.end(), name) == known.end())
            return "unknown option " + printable(name) + ": " + suggest_name(name, known);
    }
    if (chosen == nullptr && !words.empty() && words[0].rfind('-', 0) != 0)
        return "unknown command " + printable(words[0]) + ": " + suggest_name(words[0], names);
    return printable(error.what());
}

int report(Program const& program, Error const& error)
{
    // Of the ranks of one job only one has words for what ended all of them; the others exit in
    // silence.
    auto const message = printable(error.message());
    auto const line = message.empty() ? "" : program.name + ": " + message + "\n";
    [[maybe_unused]] int const ignored = write_all(STDERR_FILENO, line);
    return static_cast<int>(error.code);
}

}  // namespace

bool Arguments::flag(std::string const& name) const
{
    return values.at(name) == std::vector<std::string>{"1"};
}
bool Arguments::has(std::string const& name) const { return !values.at(name).empty(); }
std::string Arguments::text(std::string const& name) const
{
    return has(name) ? values.at(name).back() : "";
}
std::int64_t Arguments::integer(std::string const& name) const
{
    return std::strtoll(values.at(name).at(0).c_str(), nullptr, 10);
}
double Arguments::number(std::string const& name) const
{
    return std::strtod(values.at(name).at(0).c_str(), nullptr);
}
std::vector<std::string> Arguments::all(std::string const& name) const { return values.at(name); }

void Console::print(std::string_view text) const
{
    if (*trouble == 0) *trouble = write_all(STDOUT_FILENO, text);
}
void Console::print_json(json::Value const& document) const { print(json::to_pretty(document)); }

namespace {

/// Whether all of the product has reached stdout. A network file system may tell of a full disk
/// only when a descriptor is closed.
Result<void> finish_output(Console const& console)
{
    int error = *console.trouble;
    if (error == 0) {
        int const copy = dup(STDOUT_FILENO);
        if (copy >= 0 && close(copy) != 0) error = errno;
    }
    // A closed pipe (`| head`) is the reader's choice, not a failure.
    if (error == 0 || error == EPIPE) return {};
    return fail(ExitCode::io, "cannot write to standard output", errno_text(error),
                "the rest is done; make room and ask again");
}

int print_page(Program const& program, std::string const& text)
{
    Console const console{Log::to_stderr(program.name, Level::info)};
    console.print(text);
    auto const done = finish_output(console);
    return done ? 0 : report(program, done.error());
}

int run_command(Program const& program, Parsed& chosen, std::string const& config)
{
    if (auto ready = complete(config, chosen); !ready) return report(program, ready.error());
    auto const is_set = [&](char const* name) { return chosen.flags[name].value_or(false); };
    auto const level = is_set("verbose") ? Level::debug
                       : is_set("quiet") ? Level::error
                                         : Level::info;
    Console const console{Log::to_stderr(program.name, level), is_set("json")};
    Arguments arguments{chosen.values};
    for (auto const& [name, on] : chosen.flags)
        arguments.values[name] = {on.value_or(false) ? "1" : "0"};
    auto const done =
        chosen.command->run(arguments, console).and_then([&] { return finish_output(console); });
    return done ? 0 : report(program, done.error());
}

}  // namespace

int run(Program const& program, int argc, char const* const* argv)
{
    // Whoever ignores it, and passes that on, would hide from this program how its children end.
    (void)std::signal(SIGCHLD, SIG_DFL);
    CLI::App app(program.summary, program.name);
    app.footer(program.notes + exit_code_page);
    bool version = false;
    std::string config;
    std::map<std::string, std::optional<bool>> common;
    app.add_flag("--version", version, "Print version, commit, compiler and libraries");
    for (auto const& option : common_flags()) add_flag(app, option, common[option.name]);
    app.add_option("--config", config, "Read options from this JSON file (comments allowed)")
        ->type_name("FILE");
    app.fallthrough();
    std::vector<Parsed> parsed(program.commands.size());
    for (std::size_t i = 0; i < program.commands.size(); ++i) {
        auto const& command = program.commands[i];
        declare(command.name.empty() ? app : *app.add_subcommand(command.name, command.summary),
                command, parsed[i]);
    }
    std::vector<std::string> const words(argv + 1, argv + argc);
    Parsed* chosen = nullptr;
    auto const choose = [&] {
        for (auto& p : parsed)
            if (p.command->name.empty() || p.app->parsed()) chosen = &p;
    };
    auto const refuse = [&](std::string const& what) {
        return report(program, {ExitCode::usage, what, "", "see " + program.name + " --help"});
    };
    try {
        app.parse(argc, argv);
    } catch (CLI::CallForHelp const&) {
        choose();
        return print_page(program, (chosen != nullptr ? chosen->app : &app)->help());
    } catch (CLI::ParseError const& error) {
        choose();
        if (!version) return refuse(usage_message(error, words, chosen, program));
    }
    if (version) return print_page(program, build_text(program.name));
    choose();
    if (chosen == nullptr)
        return refuse(words.empty() ? "a command is missing"
                                    : usage_message(CLI::Error("", "wrong command"), words, nullptr,
                                                    program));
    if (config.empty() && app.count("--config") > 0) return refuse("--config is empty");
    for (auto const& option : common_flags()) {
        chosen->flags[option.name] = common[option.name];
        chosen->options.push_back(option);
    }
    try {
        return run_command(program, *chosen, config);
    } catch (std::exception const& broken) {
        return report(program, {ExitCode::software, "internal error", printable(broken.what()),
                                "please report this with the command that led to it"});
    }
}

Progress::Progress(std::string what, std::string unit)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      started_(static_cast<double>(mono_now().time_since_epoch().count()) / 1000),
      terminal_(isatty(STDERR_FILENO) == 1)
{
}

Progress::~Progress()
{
    if (shown_ > 0) [[maybe_unused]]
        int const ignored = write_all(STDERR_FILENO, "\r\x1b[K");
}

bool Progress::due()
{
    double const now = static_cast<double>(mono_now().time_since_epoch().count()) / 1000;
    if (!terminal_ || now - started_ < 2 || now - shown_ < 0.2) return false;
    shown_ = now;
    return true;
}

void Progress::at(double done, double whole)
{
    if (!due()) return;
    double const share = whole > 0 ? done / whole : 0;
    double const left = share > 0 ? (shown_ - started_) * (1 - share) / share : 0;
    auto const line = fmt::format("\r\x1b[K{}  {:3.0f} %  {:.3g} of {:.3g} {}  {:.0f} s left",
                                  what_, 100 * share, done, whole, unit_, left);
    [[maybe_unused]] int const ignored = write_all(STDERR_FILENO, line);
}

void Progress::show(std::string const& figures)
{
    if (!due()) return;
    [[maybe_unused]] int const ignored =
        write_all(STDERR_FILENO, fmt::format("\r\x1b[K{}  {}", what_, figures));
}

}  // namespace curtail::apps
