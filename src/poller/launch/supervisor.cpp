// SPDX-License-Identifier: Apache-2.0
#include "poller/launch/supervisor.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/core/files.hpp"
#include "base/process/c_strings.hpp"
#include "base/process/child.hpp"
#include "base/process/identity.hpp"

// Everything between fork and exec or _exit makes only async-signal-safe calls: the poller has
// threads.
namespace curtail::launch {
namespace {

// Text of bounded length, without allocation.
class Buffer {
  public:
    Buffer& operator<<(std::string_view text)
    {
        auto const n = std::min(text.size(), sizeof bytes_ - size_);
        std::memcpy(bytes_ + size_, text.data(), n);
        size_ += n;
        return *this;
    }
    Buffer& operator<<(std::uint64_t number)
    {
        size_ = static_cast<std::size_t>(
            std::to_chars(bytes_ + size_, bytes_ + sizeof bytes_, number).ptr - bytes_);
        return *this;
    }
    [[nodiscard]] std::string_view text() const { return {bytes_, size_}; }

  private:
    char bytes_[8192];
    std::size_t size_{0};
};

// Creates `path` with this content atomically. Returns false if it exists or cannot be created.
bool create_file(char const* path, char const* temporary, std::string_view content)
{
    int const fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) return false;
    bool const written = write_all(fd, content) == 0 && fsync(fd) == 0;
    close(fd);
    bool const made = written && link(temporary, path) == 0;
    unlink(temporary);
    return made;
}

// Everything that the forked processes need, allocated before the fork.
struct ForkInputs {
    SupervisedScript const& script;
    process::CStrings arguments;
    process::CStrings environment;
    std::string record_temporary;
    std::string exit_temporary;
    int log;
    process::Kernel const& kernel;
};

bool redirect_to_log(int log)
{
    int const null = open("/dev/null", O_RDONLY);
    return null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(log, STDOUT_FILENO) >= 0 &&
           dup2(log, STDERR_FILENO) >= 0;
}

// Becomes the script when the supervisor writes a byte to `go`.
[[noreturn]] void run_script(ForkInputs const& p, int go)
{
    setsid();
    prctl(PR_SET_PDEATHSIG, 0);
    char byte = 0;
    // A job must not run without a record, and the byte confirms the record.
    if (read(go, &byte, 1) != 1) _exit(127);
    if (!redirect_to_log(p.log) || chdir(p.script.folder.c_str()) != 0) _exit(126);
    p.kernel.close_from(3);
    execve(p.script.arguments[0].c_str(), p.arguments.data(), p.environment.data());
    _exit(127);
}

void write_identity(Buffer& into, pid_t pid)
{
    auto const stat = process::read_process_stat(pid);
    into << "{\"pid\":" << static_cast<std::uint64_t>(pid)
         << ",\"started\":" << (stat ? stat->started : 0) << "}";
}

void detach(ForkInputs const& p)
{
    setsid();
    // The reader of the poller's output streams waits until every holder closes them.
    for (int const fd : {STDOUT_FILENO, STDERR_FILENO}) dup2(p.log, fd);
    int const null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) dup2(null, STDIN_FILENO);
    prctl(PR_SET_NAME, "job-supervisor");
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    for (int const signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1, SIGCHLD})
        ::signal(signal, SIG_DFL);
}

// Forks the process that becomes the script; `go` receives the descriptor that starts it.
pid_t fork_script(ForkInputs const& p, int& go)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    pid_t const pid = fork();
    if (pid == 0) {
        close(ends[1]);
        run_script(p, ends[0]);
    }
    go = ends[1];
    return pid;
}

bool create_record(ForkInputs const& p, pid_t script)
{
    Buffer record;
    record << p.script.record_head << "\"script\":";
    write_identity(record, script);
    record << ",\"keeper\":";
    write_identity(record, getpid());
    record << p.script.record_tail;
    return create_file(p.script.record.c_str(), p.record_temporary.c_str(), record.text());
}

// Waits for the script and writes its exit code. Returns false if either fails.
bool record_exit(ForkInputs const& p, pid_t script)
{
    auto const code = process::wait_for_exit(script);
    if (!code) return false;
    Buffer text;
    text << static_cast<std::uint64_t>(*code) << "\n";
    return create_file(p.script.exit_file.c_str(), p.exit_temporary.c_str(), text.text());
}

[[noreturn]] void supervise(ForkInputs const& p, int ready)
{
    detach(p);
    int go = -1;
    pid_t const script = fork_script(p, go);
    if (script < 0) _exit(1);
    bool const recorded = create_record(p, script);
    bool const confirmed = recorded && write(go, "g", 1) == 1 && write(ready, "r", 1) == 1;
    (void)confirmed;  // fails only if the reader has died, which then needs no confirmation
    // Releases the poller's files, above all its lock. Also ends the script if `go` got no byte.
    p.kernel.close_from(3);
    if (recorded) _exit(record_exit(p, script) ? 0 : 1);
    (void)process::wait_for_exit(script);
    _exit(1);
}

// Forks twice, so that init adopts the supervisor and the poller has no zombie.
bool fork_supervisor(ForkInputs const& prepared, int ready)
{
    pid_t const between = fork();
    if (between < 0) return false;
    if (between == 0) {
        pid_t const supervisor = fork();
        if (supervisor == 0) supervise(prepared, ready);
        _exit(supervisor < 0 ? 1 : 0);
    }
    (void)process::wait_for_exit(between);
    return true;
}

}  // namespace

Result<void> start_supervised(SupervisedScript const& script, process::Kernel const& kernel)
{
    auto const cannot = [&](std::string why) {
        return fail(ExitCode::os_error, "cannot start " + script.arguments.at(0), std::move(why));
    };
    if (access(script.arguments.at(0).c_str(), X_OK) != 0) return cannot(errno_text(errno));
    auto const log = open_to_append(script.log);
    if (!log)
        return tl::unexpected(log.error().with_context("cannot start " + script.arguments[0]));
    auto const suffix = "." + std::to_string(getpid());
    ForkInputs const prepared{script,
                              process::CStrings(script.arguments),
                              process::CStrings(script.environment),
                              script.record + suffix,
                              script.exit_file + suffix,
                              log->get(),
                              kernel};
    int ready[2];
    if (pipe2(ready, O_CLOEXEC) != 0) return cannot(errno_text(errno));
    Fd const reader(ready[0]);
    Fd writer(ready[1]);
    if (!fork_supervisor(prepared, ready[1])) return cannot(errno_text(errno));
    writer.reset();
    char byte = 0;
    ssize_t n = -1;
    while ((n = read(reader.get(), &byte, 1)) < 0 && errno == EINTR) {}
    if (n == 1) return {};
    return cannot("its record " + script.record + " could not be created");
}

}  // namespace curtail::launch
