// SPDX-License-Identifier: Apache-2.0
// curtail-forward-stop: runs mpirun so that TERM drains its ranks, as USR1 does.
//
// A cancelled Slurm job gets TERM. With proctrack/cgroup only the job script's process gets it,
// with proctrack/linuxproc every process does. mpirun itself never passes TERM on: it kills its
// ranks within 2 s. Therefore mpirun runs with TERM blocked, and this program sends it USR2
// instead, which mpirun passes to the ranks of all nodes. mpirun may hang, for example if TMPDIR
// has no space for it; then this program ends it. Uses only libc, so that it starts on any node.
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
    unavailable = 69,
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
    "If a signal ends the command, its processes are killed.\n"
    "\n"
    "Exit codes: 0 if USR1, USR2 or TERM ended the command, or a process of it, after a stop\n"
    "request; 64 usage error; 69 another signal ended a process of COMMAND, such as a rank of "
    "mpirun\n"
    "(COMMAND then exits with 128 + the signal's number); 69 COMMAND itself failed, as mpirun "
    "does\n"
    "with codes from 1 to 63; 69 COMMAND takes no notice of the end of a process that it has\n"
    "started; 71 the operating system refused; 126 COMMAND cannot be executed; 127 COMMAND was "
    "not\n"
    "found; 128 + N if signal N ended COMMAND itself; otherwise the exit code of COMMAND.\n";

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

// The signal that the command gets for a stop request. `stop`: for the requests so far; 0: none.
int stop_with(int stop, int number)
{
    if (number == SIGTERM) return SIGUSR2;
    return number == SIGUSR1 && stop == 0 ? SIGUSR1 : stop;
}

// Sends a received signal on to the command.
void send_on(pid_t command, siginfo_t const& info, int stop)
{
    int const number = info.si_signo;
    if (number == SIGUSR1 || number == SIGTERM) kill(command, stop);
    bool const other = number == SIGINT || number == SIGHUP || number == SIGQUIT;
    // The terminal signals the command too.
    if (other && info.si_code != SI_KERNEL) kill(command, number);
}

// Calls `use` with each process that `parent` has started and whose end it has not noticed. There
// is none if the kernel does not list them.
template <class Use>
void for_each_child(pid_t parent, Use const& use)
{
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/task/%d/children", parent, parent);
    std::FILE* const list = std::fopen(path, "re");
    if (list == nullptr) return;
    for (int child = 0; std::fscanf(list, "%d", &child) == 1;) use(child);
    std::fclose(list);
}

// The state of a process as /proc names it, such as 'Z' if it has ended; 0 if there is none.
char state_of(pid_t process)
{
    char path[32];
    char text[512];
    std::snprintf(path, sizeof path, "/proc/%d/stat", process);
    std::FILE* const file = std::fopen(path, "re");
    if (file == nullptr) return 0;
    text[std::fread(text, 1, sizeof text - 1, file)] = '\0';
    std::fclose(file);
    char const* const name_end = std::strrchr(text, ')');
    return name_end != nullptr && name_end[1] == ' ' ? name_end[2] : '\0';
}

// Whether the command hangs: it takes no notice of the end of a process that it has started.
class HangWatch {
  public:
    // Call it once per second.
    bool hangs(pid_t command)
    {
        constexpr int limit_s = 20;
        if (state_of(dead_) != 'Z') {
            dead_ = 0;
            seconds_ = 0;
            for_each_child(command, [&](pid_t child) {
                if (state_of(child) == 'Z') dead_ = child;
            });
        }
        // A suspended command cannot take notice.
        bool const suspended = state_of(command) == 'T';
        if (dead_ != 0 && !suspended) ++seconds_;
        return seconds_ > limit_s;
    }

  private:
    pid_t dead_{0};
    int seconds_{0};  // since `dead_` was first seen
};

// How the command has ended.
struct End {
    int status{};  // its wait status
    bool hung{};   // this program has killed it, because it hung
    int stop{};    // the signal that it got for a stop request; 0: there was none
};

// Sends signals on until the command has ended.
End wait_for_end(pid_t command, sigset_t const& signals)
{
    constexpr timespec second{1, 0};
    constexpr timespec no_time{0, 0};
    End end;
    HangWatch watch;
    // A process that is just starting may lose a signal, so a stop request is repeated.
    int pause_s = 1;
    int left_s = pause_s;
    for (siginfo_t info;;) {
        int number = sigtimedwait(&signals, &info, &second);
        bool const is_tick = number < 0 && errno == EAGAIN;
        end.stop = stop_with(end.stop, number);
        if (waitpid(command, &end.status, WNOHANG) == command) {
            // A stop request to all processes may have ended the command before it was seen here.
            while ((number = sigtimedwait(&signals, &info, &no_time)) > 0)
                end.stop = stop_with(end.stop, number);
            return end;
        }
        if (number > 0) send_on(command, info, end.stop);
        if (!is_tick) continue;
        if (end.stop != 0 && --left_s == 0) {
            kill(command, end.stop);
            left_s = pause_s *= 2;
        }
        if (!end.hung && watch.hangs(command)) {
            end.hung = true;
            kill(command, SIGKILL);
        }
    }
}

// Ends what the command has left running: ranks that wait for each other outlive an mpirun that was
// killed. They are children of this program by then.
void kill_the_rest()
{
    for_each_child(getpid(), [](pid_t child) { kill(child, SIGKILL); });
}

bool is_stop(int number) { return number == SIGUSR1 || number == SIGUSR2 || number == SIGTERM; }

// The exit code for an end. mpirun runs without messages of its own (-q); codes below 64 and above
// 125 do not come from a trainer that has reported its error.
int report(char const* command, End const& end)
{
    bool const exited = WIFEXITED(end.status);
    int const code = exited ? WEXITSTATUS(end.status) : 0;
    int const signal = exited ? code - 128 : WTERMSIG(end.status);
    if (end.hung)
        return fail(unavailable, command,
                    "it hung: it took no notice of the end of a process that it had started; make "
                    "sure that the folder TMPDIR has space");
    // A rank that trains survives these signals.
    if (end.stop != 0 && is_stop(signal)) {
        fail(0, command, "stopped before it had started; there was nothing to save");
        return 0;
    }
    if (!exited) {
        std::fprintf(stderr, "curtail-forward-stop: %s: ended by signal %d (%s)\n", command, signal,
                     strsignal(signal));
        return 128 + signal;
    }
    if (signal > 0 && signal < NSIG) {
        std::fprintf(stderr,
                     "curtail-forward-stop: %s: exit code %d: signal %d (%s) ended one of its "
                     "processes\n",
                     command, code, signal, strsignal(signal));
        return unavailable;
    }
    if (code != 0 && code < usage_error) {
        std::fprintf(
            stderr,
            "curtail-forward-stop: %s: exit code %d: it failed itself, for example because "
            "the folder TMPDIR has no space\n",
            command, code);
        return unavailable;
    }
    if (code >= cannot_execute)
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
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    auto const end = wait_for_end(command, signals);
    if (WIFSIGNALED(end.status)) kill_the_rest();
    return report(argv[1], end);
}
