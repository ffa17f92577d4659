// SPDX-License-Identifier: Apache-2.0
// curtail-forward-stop: runs mpirun so that TERM drains its ranks, as USR1 does.
//
// A cancelled Slurm job gets TERM. With proctrack/cgroup only the job script's process gets it,
// with proctrack/linuxproc every process does. mpirun itself never passes TERM on: it kills its
// ranks within 2 s. Therefore mpirun runs with TERM blocked, and this program sends it USR2
// instead, which mpirun passes to the ranks of all nodes. Uses only libc, so that it starts on any
// node.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <initializer_list>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

// The last two as env, nohup and the shells use them.
enum ExitCode {
    usage_error = 64,
    rank_lost = 69,
    system_error = 71,
    cannot_execute = 126,
    not_found = 127
};

constexpr char const* help =
    "Runs a command, e.g. mpirun, so that TERM does not end it at once. Sends the\n"
    "command USR2 for a TERM, and USR1 for a USR1: at once and then after 1, 2, 4,\n"
    "8, ... s until the command has ended.\n"
    "Sends INT, HUP and QUIT on unchanged. The command itself runs with TERM blocked.\n"
    "Usage: curtail-forward-stop COMMAND [ARGUMENT...]\n"
    "\n"
    "Exit codes: 0 if USR1 or USR2 ended the command; 64 usage error; 69 a signal ended a process\n"
    "of COMMAND, such as a rank of mpirun (COMMAND then exits with 128 + the signal's number);\n"
    "71 the operating system refused; 126 COMMAND cannot be executed; 127 COMMAND was not found;\n"
    "128 + N if signal N ended COMMAND itself; otherwise the exit code of COMMAND.\n";

int fail(int code, char const* what, char const* why)
{
    std::fprintf(stderr, "curtail-forward-stop: %s: %s\n", what, why);
    return code;
}

sigset_t set_of(std::initializer_list<int> numbers)
{
    sigset_t set;
    sigemptyset(&set);
    for (int const number : numbers) sigaddset(&set, number);
    return set;
}

// In the child: becomes the command. `mask` is the signal mask that this program was started with.
[[noreturn]] void execute(char** command, sigset_t mask, pid_t parent)
{
    // Nobody could stop the command once this program has been killed.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(system_error);
    sigaddset(&mask, SIGTERM);
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    execvp(command[0], command);
    int const error = errno;
    fail(0, command[0], std::strerror(error));
    _exit(error == ENOENT ? not_found : cannot_execute);
}

// Sends a received signal on to the command. Sets `stop` to the signal that it sends on for a stop
// request.
void send_on(pid_t command, siginfo_t const& info, int& stop)
{
    int const number = info.si_signo;
    if (number == SIGUSR1 || number == SIGTERM) {
        if (number == SIGTERM) stop = SIGUSR2;
        else if (stop == 0) stop = SIGUSR1;
        kill(command, stop);
    } else if (number == SIGINT || number == SIGHUP || number == SIGQUIT) {
        // The terminal signals the command too.
        if (info.si_code != SI_KERNEL) kill(command, number);
    }
}

// Sends signals on until the command has ended. Returns its wait status; for `stop`, see send_on().
int wait_for_end(pid_t command, sigset_t const& signals, int& stop)
{
    // A process that is just starting may lose a signal, so a stop request is repeated.
    timespec wait{1, 0};
    for (int status = 0;;) {
        siginfo_t info;
        int const number =
            stop != 0 ? sigtimedwait(&signals, &info, &wait) : sigwaitinfo(&signals, &info);
        if (waitpid(command, &status, WNOHANG) == command) return status;
        if (number > 0) {
            send_on(command, info, stop);
        } else if (errno == EAGAIN) {
            kill(command, stop);
            wait.tv_sec *= 2;
        }
    }
}

// The exit code for a wait status. mpirun runs without messages of its own (-q); codes below 64 and
// above 125 do not come from a trainer that has reported its error.
int report(char const* command, int status, int stop)
{
    if (stop != 0 && WIFSIGNALED(status) && WTERMSIG(status) == stop) {
        fail(0, command, "stopped before it had started; there was nothing to save");
        return 0;
    }
    if (WIFSIGNALED(status)) {
        int const number = WTERMSIG(status);
        std::fprintf(stderr, "curtail-forward-stop: %s: ended by signal %d (%s)\n", command, number,
                     strsignal(number));
        return 128 + number;
    }
    int const code = WEXITSTATUS(status);
    if (code > 128 && code < 128 + NSIG) {
        std::fprintf(stderr,
                     "curtail-forward-stop: %s: exit code %d: signal %d (%s) ended one of its "
                     "processes\n",
                     command, code, code - 128, strsignal(code - 128));
        return rank_lost;
    }
    if (code != 0 && (code < usage_error || code >= cannot_execute))
        std::fprintf(stderr, "curtail-forward-stop: %s: exit code %d\n", command, code);
    return code;
}

}  // namespace

int main(int argc, char** argv)
{
    if (argc == 2 && (std::strcmp(argv[1], "--help") == 0 || std::strcmp(argv[1], "-h") == 0))
        return std::fputs(help, stdout) < 0 ? system_error : 0;
    if (argc < 2 || argv[1][0] == '-')
        return fail(usage_error, argc < 2 ? "no command" : argv[1],
                    "see curtail-forward-stop --help");
    auto const signals = set_of({SIGUSR1, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGCHLD});
    // An ignored signal would not arrive here.
    for (int const number : {SIGUSR1, SIGTERM, SIGCHLD}) signal(number, SIG_DFL);
    sigset_t mask;
    sigprocmask(SIG_BLOCK, &signals, &mask);
    pid_t const self = getpid();
    pid_t const command = fork();
    if (command < 0) return fail(system_error, "cannot start a process", std::strerror(errno));
    if (command == 0) execute(argv + 1, mask, self);
    int stop = 0;
    int const status = wait_for_end(command, signals, stop);
    return report(argv[1], status, stop);
}
