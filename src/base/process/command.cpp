// SPDX-License-Identifier: Apache-2.0
#include "base/process/command.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/core/clock.hpp"
#include "base/core/files.hpp"
#include "base/core/text.hpp"
#include "base/process/c_strings.hpp"
#include "base/process/child.hpp"

namespace curtail::process {
namespace {

constexpr std::size_t error_limit{65'536};
// How often to look for the end of a child that has no descriptor.
constexpr Millis child_poll_interval{10};
// How often to look for a stop request.
constexpr Millis cancel_interval{100};

struct Pipe {
    Fd reader;
    Fd writer;
};

Result<Pipe> make_pipe()
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return fail(ExitCode::os_error, "cannot create a pipe", errno_text(errno));
    Pipe made{Fd(ends[0]), Fd(ends[1])};
    if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0)
        return fail(ExitCode::os_error, "cannot create a pipe", errno_text(errno));
    return made;
}

// What a child needs between fork and exec. Made before the fork: a child must not allocate.
struct Execution {
    char const* program;
    CStrings arguments;
    CStrings environment;
    int output;
    int errors;
    pid_t parent;
    Kernel const& kernel;
};

// Gives a child the default signal handling; execve would pass ignored signals on.
void reset_signals()
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    for (int const signal : {SIGCHLD, SIGPIPE, SIGHUP, SIGINT, SIGTERM, SIGUSR1})
        ::signal(signal, SIG_DFL);
}

bool redirect_streams(int output, int errors)
{
    int const null = open("/dev/null", O_RDONLY);
    return null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
           dup2(errors, STDERR_FILENO) >= 0;
}

// Runs between fork and exec, so it makes only async-signal-safe calls. posix_spawn cannot make a
// child die with its parent.
[[noreturn]] void execute(Execution const& execution)
{
    reset_signals();
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != execution.parent) _exit(127);
    if (!redirect_streams(execution.output, execution.errors)) _exit(127);
    // A file lock of the poller must not survive it in a child.
    execution.kernel.close_on_exec_from(3);
    execve(execution.program, execution.arguments.data(), execution.environment.data());
    _exit(127);
}

// Reads what is available, keeping at most `limit` bytes. False at the end of the stream.
bool read_available(int fd, std::string& into, std::size_t limit)
{
    char buffer[1 << 14];
    for (;;) {
        ssize_t const n = read(fd, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno == EAGAIN;
        if (n == 0) return false;
        into.append(buffer,
                    std::min(static_cast<std::size_t>(n), limit - std::min(limit, into.size())));
    }
}

// Collects a child's output until the child ends. Does not wait for descendants that keep the
// streams open.
class Collector {
  public:
    Collector(Child& child, Pipe& output, Pipe& errors, CommandSpec const& command)
        : child_(child),
          command_(command),
          watched_{{child.fd(), POLLIN, 0},
                   {output.reader.get(), POLLIN, 0},
                   {errors.reader.get(), POLLIN, 0}}
    {
    }

    Result<CommandResult> collect()
    {
        auto const deadline = monotonic_now() + command_.deadline;
        for (bool ended = false; !ended;) {
            auto const left = deadline - monotonic_now();
            if (command_.cancel.stop_requested())
                return cannot(ExitCode::temporary, "it was cancelled");
            if (left <= Millis(0))
                return cannot(ExitCode::temporary,
                              "no answer within " + format_duration(command_.deadline));
            auto const waited = wait_for_input(left);
            if (!waited) return tl::unexpected(waited.error());
            ended = *waited;
            read_streams();
            if (result_.output.size() > command_.output_limit)
                return cannot(ExitCode::data, "it printed more than " +
                                                  std::to_string(command_.output_limit) + " bytes");
        }
        auto const exit_code = child_.wait();
        if (!exit_code)
            return cannot(ExitCode::os_error, "its exit code is lost: " + errno_text(errno));
        result_.exit_code = *exit_code;
        return std::move(result_);
    }

  private:
    tl::unexpected<Error> cannot(ExitCode code, std::string why) const
    {
        return fail(code, "cannot run " + command_.arguments[0], std::move(why));
    }
    // Waits for output or the child's end, at most `left`. True if the child has ended.
    Result<bool> wait_for_input(Millis left)
    {
        bool const has_fd = child_.fd() >= 0;
        bool const ended = !has_fd && child_.has_ended();
        auto pause = has_fd ? left : std::min(left, ended ? Millis(0) : child_poll_interval);
        if (command_.cancel.stop_possible()) pause = std::min(pause, cancel_interval);
        if (::poll(watched_, 3, static_cast<int>(pause.count())) < 0) {
            if (errno != EINTR) return cannot(ExitCode::os_error, errno_text(errno));
            return false;
        }
        return has_fd ? (watched_[0].revents & POLLIN) != 0 : ended;
    }
    void read_streams()
    {
        read_stream(watched_[1], result_.output, command_.output_limit + 1);
        read_stream(watched_[2], result_.errors, error_limit);
    }
    static void read_stream(pollfd& stream, std::string& into, std::size_t limit)
    {
        if (stream.revents != 0 && !read_available(stream.fd, into, limit)) stream.fd = -1;
    }

    Child& child_;
    CommandSpec const& command_;
    pollfd watched_[3];
    CommandResult result_;
};

// The PATH of the command's environment, or the system's default.
std::string search_path(CommandSpec const& command)
{
    std::string path = "/usr/local/bin:/usr/bin:/bin";
    for (auto const& [name, value] : command.environment)
        if (name == "PATH") path = value;
    return path;
}

}  // namespace

bool is_program(std::string const& file)
{
    struct stat status {};
    return stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
           access(file.c_str(), X_OK) == 0;
}

Result<std::string> find_program(std::string const& program, std::string const& path)
{
    if (program.find('/') != std::string::npos) {
        if (access(program.c_str(), X_OK) == 0) return program;
        return fail(ExitCode::unavailable, "cannot run " + program, errno_text(errno));
    }
    for (auto folder : split(path, ':')) {
        auto candidate = std::string(folder.empty() ? "." : folder) + "/" + program;
        if (is_program(candidate)) return candidate;
    }
    return fail(ExitCode::unavailable, "cannot run " + program, "it is not on the PATH",
                "install it, or load its module");
}

std::vector<std::pair<std::string, std::string>> plain_environment()
{
    std::vector<std::pair<std::string, std::string>> variables;
    for (char const* name : {"PATH", "HOME", "USER", "LOGNAME", "TMPDIR"})
        if (char const* value = std::getenv(name)) variables.emplace_back(name, value);
    variables.emplace_back("LC_ALL", "C.UTF-8");
    return variables;
}

Result<CommandResult> run_command(CommandSpec const& command, Kernel const& kernel)
{
    auto const program = find_program(command.arguments.at(0), search_path(command));
    if (!program) return tl::unexpected(program.error());
    auto output = make_pipe();
    if (!output) return tl::unexpected(output.error());
    auto errors = make_pipe();
    if (!errors) return tl::unexpected(errors.error());
    Execution const execution{program->c_str(),
                              CStrings(command.arguments),
                              CStrings(command.environment),
                              output->writer.get(),
                              errors->writer.get(),
                              getpid(),
                              kernel};
    pid_t const pid = fork();
    if (pid == 0) execute(execution);
    if (pid < 0)
        return fail(ExitCode::os_error, "cannot run " + command.arguments[0], errno_text(errno));
    Child child(pid, kernel);
    output->writer.reset();
    errors->writer.reset();
    if (child.error() != 0)
        return fail(ExitCode::os_error, "cannot watch " + command.arguments[0],
                    errno_text(child.error()));
    return Collector(child, *output, *errors, command).collect();
}

}  // namespace curtail::process
