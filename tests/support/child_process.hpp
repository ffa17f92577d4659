// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/eventually.hpp"
#include "support/own_options.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::test {

/// A program that a test starts, waits for and may kill. The destructor kills it if it is running.
class ChildProcess {
  public:
    /// stdout and stderr are appended to `log`.
    ChildProcess(std::vector<std::string> arguments, std::filesystem::path const& log)
    {
        std::vector<char*> pointers;
        pointers.reserve(arguments.size() + 1);
        for (auto& argument : arguments) pointers.push_back(argument.data());
        pointers.push_back(nullptr);
        pid_ = fork();
        if (pid_ != 0) return;
        int const fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
        execvp(pointers[0], pointers.data());
        _exit(127);
    }
    ~ChildProcess()
    {
        if (exit_code_) return;
        ::kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    ChildProcess(ChildProcess const&) = delete;
    ChildProcess& operator=(ChildProcess const&) = delete;

    [[nodiscard]] pid_t pid() const { return pid_; }
    void kill(int signal)
    {
        if (!ended()) ::kill(pid_, signal);
    }
    /// Exit code, or 128 + n after signal n; empty while the program is running.
    [[nodiscard]] std::optional<int> ended()
    {
        int status = 0;
        if (!exit_code_ && waitpid(pid_, &status, WNOHANG) == pid_)
            exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        return exit_code_;
    }
    /// Waits for the exit code; empty if the program is still running after `limit`.
    [[nodiscard]] std::optional<int> wait(std::chrono::milliseconds limit)
    {
        (void)eventually([&] { return ended().has_value(); }, limit);
        return exit_code_;
    }

  private:
    pid_t pid_;
    std::optional<int> exit_code_;
};

struct Outcome {
    int code;            ///< 128 + n after signal n
    std::string output;  ///< stdout and stderr, interleaved
};

/// Runs a program without a shell. Throws with its output if it is still running after `limit`.
inline Outcome run_program(std::vector<std::string> arguments,
                           std::chrono::milliseconds limit = std::chrono::seconds{30})
{
    TemporaryFolder const folder;
    auto const log = folder / "output";
    ChildProcess child(std::move(arguments), log);
    auto const code = child.wait(limit);
    std::ifstream file(log);
    std::string output{std::istreambuf_iterator<char>(file), {}};
    if (!code) throw std::runtime_error("the program did not end in time. Its output:\n" + output);
    return {*code, std::move(output)};
}

}  // namespace curtail::test
