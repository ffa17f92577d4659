// SPDX-License-Identifier: Apache-2.0
#include "programs/frame/program.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/core/exceptions.hpp"
#include "base/core/files.hpp"
#include "base/core/text.hpp"
#include "programs/frame/command_line.hpp"
#include "programs/frame/value_sources.hpp"

namespace curtail::programs {
namespace {

int report(Program const& program, Error const& error)
{
    // When one rank of a job has reported an error, the others exit silently with an empty message.
    auto const message = printable(error.message());
    auto const line = message.empty() ? "" : program.name + ": " + message + "\n";
    [[maybe_unused]] int const ignored = write_all(STDERR_FILENO, line);
    return static_cast<int>(error.code);
}

Result<void> print_page(Program const& program, std::string const& text)
{
    Console const console{Log::to_stderr(program.name, Level::info)};
    console.print(text);
    return finish_output(console);
}

Result<void> run_command(Program const& program, Invocation const& invocation, mode_t user_umask)
{
    if (invocation.command == nullptr) return print_page(program, invocation.page);
    auto const& command = *invocation.command;
    auto const options = all_options(command);
    Arguments arguments{invocation.values};
    if (auto good = complete(options, invocation.config, arguments.values); !good) return good;
    // Every declared name gets an entry, so that Arguments recognises undeclared ones.
    for (auto const& option : options) arguments.values.try_emplace(option.name);
    for (auto const& positional : command.positionals)
        arguments.values.try_emplace(positional.name);
    auto const level = arguments.flag("verbose") ? Level::debug
                       : arguments.flag("quiet") ? Level::error
                                                 : Level::info;
    Console const console{Log::to_stderr(program.name, level),
                          command.json && arguments.flag("json"), user_umask};
    return command.run(arguments, console).and_then([&] { return finish_output(console); });
}

}  // namespace

bool Arguments::flag(std::string const& name) const
{
    return has(name) && parse_flag(text(name)) == true;
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
std::vector<std::string> Arguments::values_of(std::string const& name) const
{
    return values.at(name);
}

Option json_option() { return flag_option("json", "Print one JSON document instead of text"); }

std::vector<Option> common_options()
{
    return {flag_option("verbose", "Log details as well"), flag_option("quiet", "Log errors only")};
}

std::vector<Option> all_options(Command const& command)
{
    auto options = command.options;
    if (command.json) options.push_back(json_option());
    for (auto& option : common_options()) options.push_back(std::move(option));
    return options;
}

void end_at_once(int code)
{
    (void)std::fflush(nullptr);
    std::_Exit(code);
}

mode_t keep_new_files_private() { return ::umask(077); }
UserUmask::UserUmask(Console const& console) { ::umask(console.user_umask); }

int run(Program const& program, int argc, char const* const* argv)
{
    auto const user_umask = keep_new_files_private();
    // A parent that ignores SIGCHLD would hide from this program how its children end.
    (void)std::signal(SIGCHLD, SIG_DFL);
    // Writing past the limit of `ulimit -f` then fails with a message.
    (void)std::signal(SIGXFSZ, SIG_IGN);
    // A server that closes a connection must not end the program: libcurl does not block this
    // signal in programs with threads (CURLOPT_NOSIGNAL). Commands and jobs that the program starts
    // get the default back (base/process/command.cpp, poller/launch/supervisor.cpp).
    (void)std::signal(SIGPIPE, SIG_IGN);
    try {
        auto const done =
            parse_command_line(program, argc, argv).and_then([&](Invocation const& invocation) {
                return run_command(program, invocation, user_umask);
            });
        return done ? 0 : report(program, done.error());
    } catch (std::exception const& defect) {
        return report(program, error_of(defect));
    }
}

}  // namespace curtail::programs
