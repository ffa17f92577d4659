// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/core/files.hpp"
#include "support/paths.hpp"

namespace curtail::test {

/// Runs a Python script that serves on a loopback port until the object is destroyed. The script
/// prints its port on the first line, and ends when its standard input closes.
class PythonServer {
  public:
    /// `script` is relative to the checkout.
    PythonServer(std::string const& script, std::vector<std::string> const& arguments)
    {
        std::vector<std::string> all{"python3", source_path(script)};
        all.insert(all.end(), arguments.begin(), arguments.end());
        start(all);
        for (char c{}; read(stdout_.get(), &c, 1) == 1 && c != '\n';) port_ += c;
        if (port_.empty()) throw std::runtime_error(script + " did not start");
    }
    ~PythonServer()
    {
        stdin_.reset();  // end of file stops the server; the signal stops it if it hangs
        kill(pid_, SIGTERM);
        waitpid(pid_, nullptr, 0);
    }
    PythonServer(PythonServer const&) = delete;
    PythonServer& operator=(PythonServer const&) = delete;

    [[nodiscard]] std::string const& port() const { return port_; }

  private:
    void start(std::vector<std::string>& arguments)
    {
        std::array<int, 2> in{};
        std::array<int, 2> out{};
        if (pipe2(in.data(), O_CLOEXEC) != 0 || pipe2(out.data(), O_CLOEXEC) != 0)
            throw std::runtime_error("cannot create a pipe");
        Fd const child_in(in[0]);
        Fd const child_out(out[1]);
        stdin_ = Fd(in[1]);
        stdout_ = Fd(out[0]);
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, child_in.get(), 0);
        posix_spawn_file_actions_adddup2(&actions, child_out.get(), 1);
        std::vector<char*> argv;
        argv.reserve(arguments.size() + 1);
        for (auto& argument : arguments) argv.push_back(argument.data());
        argv.push_back(nullptr);
        int const error = posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
        posix_spawn_file_actions_destroy(&actions);
        if (error != 0) throw std::runtime_error("cannot start python3: " + errno_text(error));
    }

    Fd stdin_;
    Fd stdout_;
    pid_t pid_{};
    std::string port_;
};

}  // namespace curtail::test
