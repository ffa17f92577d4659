// SPDX-License-Identifier: Apache-2.0
// curtail-block-signals: `env --block-signal` for systems whose coreutils are older than 8.31.
// Uses only libc, so that it starts on any node.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>

#include <unistd.h>

namespace {

// The last two as env, nohup and the shells use them.
enum ExitCode { usage_error = 64, system_error = 71, cannot_execute = 126, not_found = 127 };

constexpr char const* help =
    "Runs a command with the named signals blocked. A blocked signal stays pending until the\n"
    "command unblocks it.\n"
    "Usage: curtail-block-signals SIGNAL... -- COMMAND [ARGUMENT...]\n"
    "\n"
    "SIGNAL is one of HUP, INT, QUIT, USR1, USR2, ALRM, TERM, CONT; a prefix SIG is allowed.\n"
    "\n"
    "Exit codes: 64 usage error; 71 the operating system refused; 126 COMMAND cannot be executed;\n"
    "127 COMMAND was not found; otherwise the exit code of COMMAND.\n";

struct NamedSignal {
    std::string_view name;
    int number;
};

constexpr NamedSignal blockable[] = {
    {"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT}, {"USR1", SIGUSR1},
    {"USR2", SIGUSR2}, {"ALRM", SIGALRM}, {"TERM", SIGTERM}, {"CONT", SIGCONT},
};

// The number of a signal such as `USR1` or `SIGUSR1`; 0 if the name is unknown.
int signal_number(std::string_view name)
{
    if (name.substr(0, 3) == "SIG") name.remove_prefix(3);
    for (auto const& signal : blockable)
        if (signal.name == name) return signal.number;
    return 0;
}

int fail(int code, char const* what, char const* name, char const* why)
{
    std::fprintf(stderr, "curtail-block-signals: %s%s%s\n", what, name, why);
    return code;
}

// Reads signal names up to `--`. Returns the position after it, or -1 after an error message.
int read_signals(int argc, char** argv, sigset_t& signals)
{
    constexpr char const* see_help = "; see curtail-block-signals --help";
    sigemptyset(&signals);
    int at = 1;
    for (; at < argc && std::strcmp(argv[at], "--") != 0; ++at) {
        int const number = signal_number(argv[at]);
        if (number == 0) return fail(-1, "unknown signal ", argv[at], see_help);
        sigaddset(&signals, number);
    }
    if (at == 1) return fail(-1, "no signal is named", "", see_help);
    if (at + 1 >= argc) return fail(-1, "no command after --", "", see_help);
    return at + 1;
}

}  // namespace

int main(int argc, char** argv)
{
    if (argc == 2 && (std::strcmp(argv[1], "--help") == 0 || std::strcmp(argv[1], "-h") == 0))
        return std::fputs(help, stdout) < 0 ? system_error : 0;
    sigset_t signals;
    int const at = read_signals(argc, argv, signals);
    if (at < 0) return usage_error;
    if (sigprocmask(SIG_BLOCK, &signals, nullptr) != 0)
        return fail(system_error, "cannot block signals: ", std::strerror(errno), "");
    execvp(argv[at], argv + at);
    int const error = errno;
    std::fprintf(stderr, "curtail-block-signals: cannot run %s: %s\n", argv[at],
                 std::strerror(error));
    return error == ENOENT ? not_found : cannot_execute;
}
