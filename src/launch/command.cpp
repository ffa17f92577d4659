// SPDX-License-Identifier: Apache-2.0
#include "launch/command.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
extern "C" {
#include <sys/pidfd.h>  // glibc 2.36 declares without it
}
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/close_range.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>

#include "core/clock.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "launch/strings.hpp"

namespace curtail::launch {
namespace {

constexpr std::size_t error_limit = 64 * 1024;

struct Pipe {
    Fd reader;
    Fd writer;
};

Result<Pipe> make_pipe()
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return fail(ExitCode::os_error, "cannot make a pipe", errno_text(errno));
    Pipe made{Fd(ends[0]), Fd(ends[1])};
    if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0)
        return fail(ExitCode::os_error, "cannot make a pipe", errno_text(errno));
    return made;
}

/// What runs between fork and exec: only calls that are safe there. posix_spawn cannot tie a
/// child's life to its parent's.
[[noreturn]] void become(char const* program, CStrings const& arguments,
                         CStrings const& environment, int out, int err, pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    // What is ignored here would be ignored there too.
    for (int const signal : {SIGCHLD, SIGPIPE, SIGHUP, SIGINT, SIGTERM, SIGUSR1})
        ::signal(signal, SIG_DFL);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    int const null = open("/dev/null", O_RDONLY);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
        dup2(err, STDERR_FILENO) < 0)
        _exit(127);
    // A lock that somebody left open to the poller must not outlive it in here.
    close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    execve(program, arguments.data(), environment.data());
    _exit(127);
}

/// Reads what is there. False at the end of the stream.
bool drain(int fd, std::string& into, std::size_t keep)
{
    char buffer[1 << 14];
    for (;;) {
        ssize_t const n = read(fd, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno == EAGAIN;
        if (n == 0) return false;
        into.append(buffer,
                    std::min(static_cast<std::size_t>(n), keep - std::min(keep, into.size())));
    }
}

/// A child that has not been waited for: killed with its group when this goes.
class Child {
  public:
    explicit Child(pid_t pid) : pid_(pid), fd_(pidfd_open(pid, 0)) {}
    ~Child()
    {
        if (pid_ <= 0) return;
        kill(-pid_, SIGKILL);
        kill(pid_, SIGKILL);
        (void)wait();
    }
    Child(Child const&) = delete;
    Child& operator=(Child const&) = delete;
    [[nodiscard]] int fd() const { return fd_.get(); }
    /// Its exit code; nothing, with errno, if nobody knows it: the kernel waits for the children of
    /// who ignores SIGCHLD.
    std::optional<int> wait()
    {
        int status = 0;
        pid_t waited = 0;
        while ((waited = waitpid(pid_, &status, 0)) < 0 && errno == EINTR) {}
        pid_ = 0;
        if (waited < 0) return std::nullopt;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

  private:
    pid_t pid_;
    Fd fd_;
};

Result<Finished> collect(Child& child, Pipe& out, Pipe& err, Command const& command)
{
    Finished finished;
    auto const deadline = mono_now() + command.deadline;
    auto const cannot = [&](ExitCode code, std::string why) {
        return fail(code, "cannot run " + command.arguments[0], std::move(why));
    };
    pollfd watched[] = {
        {child.fd(), POLLIN, 0}, {out.reader.get(), POLLIN, 0}, {err.reader.get(), POLLIN, 0}};
    while ((watched[0].revents & POLLIN) == 0) {
        auto const left = deadline - mono_now();
        if (left <= Millis(0))
            return cannot(ExitCode::temporary,
                          "no answer within " + format_duration(command.deadline));
        if (poll(watched, 3, static_cast<int>(left.count())) < 0 && errno != EINTR)
            return cannot(ExitCode::os_error, errno_text(errno));
        // A closed stream is not looked at again. What a grandchild still holds open is not waited
        // for: the program's end counts.
        if (watched[1].revents != 0 &&
            !drain(watched[1].fd, finished.output, command.output_limit + 1))
            watched[1].fd = -1;
        if (watched[2].revents != 0 && !drain(watched[2].fd, finished.errors, error_limit))
            watched[2].fd = -1;
        if (finished.output.size() > command.output_limit)
            return cannot(ExitCode::data, "it printed more than " +
                                              std::to_string(command.output_limit) + " bytes");
    }
    auto const exit_code = child.wait();
    if (!exit_code)
        return cannot(ExitCode::os_error, "how it ended is not known: " + errno_text(errno));
    finished.exit_code = *exit_code;
    return finished;
}

}  // namespace

Result<std::string> find_program(std::string const& program, std::string const& path)
{
    if (program.find('/') != std::string::npos) {
        if (access(program.c_str(), X_OK) == 0) return program;
        return fail(ExitCode::unavailable, "cannot run " + program, errno_text(errno));
    }
    for (auto folder : split(path, ':')) {
        auto candidate = std::string(folder.empty() ? "." : folder) + "/" + program;
        if (access(candidate.c_str(), X_OK) == 0) return candidate;
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

Result<Finished> run_command(Command const& command)
{
    std::string path = "/usr/local/bin:/usr/bin:/bin";
    for (auto const& [name, value] : command.environment)
        if (name == "PATH") path = value;
    auto const program = find_program(command.arguments.at(0), path);
    if (!program) return tl::unexpected(program.error());
    auto out = make_pipe();
    if (!out) return tl::unexpected(out.error());
    auto err = make_pipe();
    if (!err) return tl::unexpected(err.error());
    CStrings const arguments(command.arguments);
    CStrings const environment(command.environment);
    pid_t const parent = getpid();
    pid_t const pid = fork();
    if (pid < 0)
        return fail(ExitCode::os_error, "cannot run " + command.arguments[0], errno_text(errno));
    if (pid == 0)
        become(program->c_str(), arguments, environment, out->writer.get(), err->writer.get(),
               parent);
    Child child(pid);
    out->writer.reset();
    err->writer.reset();
    if (child.fd() < 0)
        return fail(ExitCode::os_error, "cannot watch " + command.arguments[0], errno_text(errno));
    return collect(child, *out, *err, command);
}

}  // namespace curtail::launch
