// SPDX-License-Identifier: Apache-2.0
#include "launch/keeper.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "core/files.hpp"
#include "launch/process.hpp"
#include "launch/strings.hpp"

// Everything between fork and exec or _exit uses only calls that are safe there: the poller has
// threads.
namespace curtail::launch {
namespace {

/// Text of bounded length without allocation.
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

/// Makes `path` with this content as one act; false if it exists or cannot be made.
bool create_file(char const* path, char const* temporary, std::string_view content)
{
    int const fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0) return false;
    bool const written = write_all(fd, content) == 0 && fsync(fd) == 0;
    close(fd);
    bool const made = written && link(temporary, path) == 0;
    unlink(temporary);
    return made;
}

struct Prepared {
    KeptScript const& script;
    CStrings arguments;
    CStrings environment;
    std::string record_temporary;
    std::string exit_temporary;
};

[[noreturn]] void become_script(Prepared const& p, int go)
{
    setsid();
    prctl(PR_SET_PDEATHSIG, 0);
    char byte = 0;
    // Without the word from the keeper there is no record, and then there must be no job.
    if (read(go, &byte, 1) != 1) _exit(127);
    int const null = open("/dev/null", O_RDONLY);
    int const log = open(p.script.log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (null < 0 || log < 0 || chdir(p.script.folder.c_str()) != 0) _exit(126);
    if (dup2(null, STDIN_FILENO) < 0 || dup2(log, STDOUT_FILENO) < 0 ||
        dup2(log, STDERR_FILENO) < 0)
        _exit(126);
    close_range(3, ~0U, 0);
    execve(p.script.arguments[0].c_str(), p.arguments.data(), p.environment.data());
    _exit(127);
}

void write_identity(Buffer& into, pid_t pid)
{
    auto const stat = read_process_stat(pid);
    into << "{\"pid\":" << static_cast<std::uint64_t>(pid)
         << ",\"started\":" << (stat ? stat->started : 0) << "}";
}

/// The poller's own output must not stay open in here: whoever reads it waits for its end.
void leave_output(char const* log)
{
    int const null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int const words = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (null < 0) return;
    dup2(null, STDIN_FILENO);
    for (int const fd : {STDOUT_FILENO, STDERR_FILENO}) dup2(words < 0 ? null : words, fd);
}

[[noreturn]] void keep(Prepared const& p, int ready)
{
    setsid();
    leave_output(p.script.log.c_str());
    prctl(PR_SET_NAME, "curtail-keeper");
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    for (int const signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1, SIGCHLD})
        ::signal(signal, SIG_DFL);
    int go[2];
    if (pipe2(go, O_CLOEXEC) != 0) _exit(1);
    pid_t const pid = fork();
    if (pid < 0) _exit(1);
    if (pid == 0) {
        close(go[1]);
        become_script(p, go[0]);
    }
    Buffer record;
    record << p.script.record_head << "\"script\":";
    write_identity(record, pid);
    record << ",\"keeper\":";
    write_identity(record, getpid());
    record << p.script.record_tail;
    bool const recorded =
        create_file(p.script.record.c_str(), p.record_temporary.c_str(), record.text());
    bool const told = recorded && write(go[1], "g", 1) == 1 && write(ready, "r", 1) == 1;
    (void)told;  // whoever died meanwhile needs no word
    // The poller's own files, its lock among them, must not live on here.
    close_range(3, ~0U, 0);
    int status = 0;
    pid_t waited = 0;
    while ((waited = waitpid(pid, &status, 0)) < 0 && errno == EINTR) {}
    if (!recorded || waited < 0) _exit(1);
    Buffer code;
    code << static_cast<std::uint64_t>(WIFEXITED(status) ? WEXITSTATUS(status)
                                                         : 128 + WTERMSIG(status))
         << "\n";
    _exit(create_file(p.script.exit_file.c_str(), p.exit_temporary.c_str(), code.text()) ? 0 : 1);
}

}  // namespace

Result<void> start_kept(KeptScript const& script)
{
    auto const cannot = [&](std::string why) {
        return fail(ExitCode::os_error, "cannot start " + script.arguments.at(0), std::move(why));
    };
    if (access(script.arguments.at(0).c_str(), X_OK) != 0) return cannot(errno_text(errno));
    Prepared const prepared{script, CStrings(script.arguments), CStrings(script.environment),
                            script.record + "." + std::to_string(getpid()),
                            script.exit_file + "." + std::to_string(getpid())};
    int ready[2];
    if (pipe2(ready, O_CLOEXEC) != 0) return cannot(errno_text(errno));
    Fd const reader(ready[0]);
    Fd writer(ready[1]);
    // Forked twice, so that the keeper is nobody's child and leaves no corpse with the poller.
    pid_t const between = fork();
    if (between < 0) return cannot(errno_text(errno));
    if (between == 0) {
        pid_t const keeper = fork();
        if (keeper == 0) keep(prepared, ready[1]);
        _exit(keeper < 0 ? 1 : 0);
    }
    writer.reset();
    while (waitpid(between, nullptr, 0) < 0 && errno == EINTR) {}
    char byte = 0;
    ssize_t n = -1;
    while ((n = read(reader.get(), &byte, 1)) < 0 && errno == EINTR) {}
    if (n == 1) return {};
    return cannot("its record " + script.record + " could not be made");
}

}  // namespace curtail::launch
