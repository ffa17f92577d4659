#include "apps/program.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "core/build_info.hpp"
#include "core/clock.hpp"
#include "core/files.hpp"
#include "core/text.hpp"

namespace curtail::apps {
namespace {

constexpr char const* exit_code_page =
    "\nExit codes: 0 done; 64 wrong command line; 65 damaged input; 66 input missing; 69 a service is not there; 70 defect;\n"
    "71 operating system; 73 output cannot be made; 74 reading or writing failed; 75 try again later; 76 a record was refused;\n"
    "77 permission; 78 wrong configuration; 130 interrupted.\n"
    "Values come from the flag, else the environment (CURTAIL_<OPTION>), else the file of --config, else the default.\n";

struct Parsed {
    CLI::App* app{nullptr};
    Command const* command{nullptr};
    std::map<std::string, std::vector<std::string>> values;
    std::map<std::string, bool> flags;
    bool json{false};
};

std::string environment_name(std::string const& option)
{
    std::string name = "CURTAIL_";
    for (char c : option) name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return name;
}

std::string help_line(Option const& option)
{
    auto text = option.help;
    if (!option.fallback.empty()) text += " [" + option.fallback + "]";
    if (option.required) text += " (required)";
    return text;
}

void declare(CLI::App& app, Command const& command, Parsed& parsed)
{
    parsed.app = &app;
    parsed.command = &command;
    for (auto const& option : command.options) {
        if (option.kind == Kind::flag) {
            app.add_flag("--" + option.name, parsed.flags[option.name], option.help);
            continue;
        }
        auto* added = app.add_option("--" + option.name, parsed.values[option.name], help_line(option));
        added->type_name(option.unit.empty() ? "TEXT" : option.unit)->expected(1, option.repeated ? 1000 : 1)->allow_extra_args(false);
        if (!option.repeated) added->multi_option_policy(CLI::MultiOptionPolicy::Throw);
    }
    for (auto const& positional : command.positionals) {
        auto* added = app.add_option(positional.name, parsed.values[positional.name], positional.help);
        added->type_name("")->required(positional.required)->expected(positional.repeated ? -1 : 1);
    }
    if (command.json) app.add_flag("--json", parsed.json, "Print one JSON document instead of text");
}

Result<void> take_from_file(Command const& command, std::string const& path, Parsed& parsed)
{
    auto const file = json::parse_file(path);
    if (!file) return tl::unexpected(Error{ExitCode::config, file.error().what, file.error().why, file.error().remedy});
    json::ObjectReader reader(*file, path, ExitCode::config);
    for (auto const& option : command.options) {
        auto const* value = reader.any(option.name);
        if (value == nullptr) continue;
        if (option.kind == Kind::flag) {
            if (value->as_bool() == nullptr) reader.reject({ExitCode::config, reader.place(option.name), "must be true or false", {}});
            else if (!parsed.flags[option.name]) parsed.flags[option.name] = *value->as_bool();
            continue;
        }
        if (!parsed.values[option.name].empty()) continue;
        if (auto const* list = value->as_array(); list != nullptr && option.repeated)
            for (auto const& element : *list)
                parsed.values[option.name].push_back(element.as_text() ? *element.as_text() : json::to_string(element));
        else parsed.values[option.name] = {value->as_text() ? *value->as_text() : json::to_string(*value)};
    }
    if (auto error = reader.finish()) return tl::unexpected(*error);
    return {};
}

Result<void> check_kind(Option const& option, std::string const& value)
{
    char* end = nullptr;
    if (option.kind == Kind::integer) (void)std::strtoll(value.c_str(), &end, 10);
    else if (option.kind == Kind::number) (void)std::strtod(value.c_str(), &end);
    else return {};
    if (!value.empty() && *end == '\0') return {};
    return fail(ExitCode::usage, "--" + option.name + " " + printable(value),
                option.kind == Kind::integer ? "an integer is wanted" : "a number is wanted");
}

Result<void> complete(Command const& command, std::string const& config, Parsed& parsed)
{
    for (auto const& option : command.options) {
        char const* from_environment = std::getenv(environment_name(option.name).c_str());
        if (from_environment == nullptr) continue;
        if (option.kind == Kind::flag)
            parsed.flags[option.name] |= std::string_view(from_environment) == "1" || std::string_view(from_environment) == "true";
        else if (parsed.values[option.name].empty()) parsed.values[option.name] = {from_environment};
    }
    if (!config.empty())
        if (auto taken = take_from_file(command, config, parsed); !taken) return taken;
    for (auto const& option : command.options) {
        if (option.kind == Kind::flag) continue;
        auto& values = parsed.values[option.name];
        if (values.empty() && !option.fallback.empty()) values = {option.fallback};
        if (values.empty() && option.required) return fail(ExitCode::usage, "--" + option.name + " is missing", option.help, "see --help");
        for (auto const& value : values)
            if (auto good = check_kind(option, value); !good) return good;
    }
    return {};
}

/// CLI11 says which arguments it did not expect; the nearest known name is ours to add.
std::string usage_message(CLI::Error const& error, std::vector<std::string> const& words, Command const* command, Program const& program)
{
    std::vector<std::string> known{"--help", "--version", "--config", "--verbose", "--quiet"};
    if (command != nullptr)
        for (auto const& option : command->options) known.push_back("--" + option.name);
    std::vector<std::string> names;
    for (auto const& c : program.commands) names.push_back(c.name);
    for (auto const& word : words) {
        if (word.rfind("--", 0) == 0) {
            auto const name = word.substr(0, word.find('='));
            if (std::find(known.begin(), known.end(), name) == known.end() && name != "--json")
                return "unknown option " + printable(name) + ": " + suggest_name(name, known);
        }
    }
    if (command == nullptr && !words.empty() && words[0].rfind("-", 0) != 0)
        return "unknown command " + printable(words[0]) + ": " + suggest_name(words[0], names);
    return printable(error.what());
}

int report(Program const& program, Error const& error)
{
    // Of the ranks of one job only one has words for what ended all of them; the others exit in silence.
    auto const message = error.message();
    auto const line = message.empty() ? "" : program.name + ": " + message + "\n";
    [[maybe_unused]] int const ignored = write_all(STDERR_FILENO, line);
    return static_cast<int>(error.code);
}

}  // namespace

bool Arguments::flag(std::string const& name) const { return values.at(name) == std::vector<std::string>{"1"}; }
bool Arguments::has(std::string const& name) const { return !values.at(name).empty(); }
std::string Arguments::text(std::string const& name) const { return has(name) ? values.at(name).back() : ""; }
std::int64_t Arguments::integer(std::string const& name) const { return std::strtoll(values.at(name).at(0).c_str(), nullptr, 10); }
double Arguments::number(std::string const& name) const { return std::strtod(values.at(name).at(0).c_str(), nullptr); }
std::vector<std::string> Arguments::all(std::string const& name) const { return values.at(name); }

void Console::print(std::string_view text) const
{
    // A closed pipe (`| head`) is the reader's choice, not a failure.
    [[maybe_unused]] int const ignored = write_all(STDOUT_FILENO, text);
}
void Console::print_json(json::Value const& document) const { print(json::to_pretty(document)); }

int run(Program const& program, int argc, char const* const* argv)
{
    CLI::App app(program.summary, program.name);
    app.footer(program.notes + exit_code_page);
    bool version = false;
    bool verbose = false;
    bool quiet = false;
    std::string config;
    app.add_flag("--version", version, "Print version, commit, compiler and libraries");
    app.add_flag("--verbose", verbose, "Log details too");
    app.add_flag("--quiet", quiet, "Log errors only");
    app.add_option("--config", config, "Read options from this JSON file (comments allowed)")->type_name("FILE");
    app.fallthrough();
    std::vector<Parsed> parsed(program.commands.size());
    for (std::size_t i = 0; i < program.commands.size(); ++i) {
        auto const& command = program.commands[i];
        declare(command.name.empty() ? app : *app.add_subcommand(command.name, command.summary), command, parsed[i]);
    }
    std::vector<std::string> const words(argv + 1, argv + argc);
    Parsed* chosen = nullptr;
    auto const choose = [&] {
        for (auto& p : parsed)
            if (p.command->name.empty() || p.app->parsed()) chosen = &p;
    };
    try {
        app.parse(argc, argv);
    } catch (CLI::CallForHelp const&) {
        choose();
        auto* page = chosen != nullptr ? chosen->app : &app;
        Console{}.print(page->help());
        return 0;
    } catch (CLI::ParseError const& error) {
        choose();
        if (!version)
            return report(program, {ExitCode::usage, usage_message(error, words, chosen ? chosen->command : nullptr, program), "",
                                    "see " + program.name + " --help"});
    }
    if (version) {
        Console{}.print(build_text(program.name));
        return 0;
    }
    choose();
    if (chosen == nullptr)
        return report(program,
                      {ExitCode::usage,
                       words.empty() ? "a command is missing" : usage_message(CLI::Error("", "wrong command"), words, nullptr, program), "",
                       "see " + program.name + " --help"});
    try {
        if (auto ready = complete(*chosen->command, config, *chosen); !ready) return report(program, ready.error());
        Arguments arguments{chosen->values};
        for (auto const& [name, on] : chosen->flags) arguments.values[name] = {on ? "1" : "0"};
        Console const console{Log::to_stderr(program.name, verbose ? Level::debug : quiet ? Level::error : Level::info), chosen->json};
        auto const done = chosen->command->run(arguments, console);
        return done ? 0 : report(program, done.error());
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

void Progress::at(double done, double whole)
{
    double const now = static_cast<double>(mono_now().time_since_epoch().count()) / 1000;
    if (!terminal_ || now - started_ < 2 || now - shown_ < 0.2) return;
    shown_ = now;
    double const share = whole > 0 ? done / whole : 0;
    double const left = share > 0 ? (now - started_) * (1 - share) / share : 0;
    auto const line =
        fmt::format("\r\x1b[K{}  {:3.0f} %  {:.3g} of {:.3g} {}  {:.0f} s left", what_, 100 * share, done, whole, unit_, left);
    [[maybe_unused]] int const ignored = write_all(STDERR_FILENO, line);
}

}  // namespace curtail::apps
