// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "core/json.hpp"
#include "http/client.hpp"
#include "support/paths.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::test {

/// Runs tests/support/watttime_server.py on a loopback port until the object is destroyed. The
/// server knows the user `alice` with the password below.
class WattTimeServer {
  public:
    static constexpr char const* password = "tr0ub4dor-and-3";

    /// Serves https with a certificate for `tls_name`, e.g. `IP:127.0.0.1`, valid for `tls_days`
    /// days. Serves http if `tls_name` is empty.
    explicit WattTimeServer(std::string const& tls_name = {}, int tls_days = 2)
    {
        std::ofstream(folder_ / "password") << password;
        std::vector<std::string> arguments{"python3",
                                           test::source_path("tests/support/watttime_server.py"),
                                           "--password-file", (folder_ / "password").string()};
        if (!tls_name.empty())
            arguments.insert(arguments.end(),
                             {"--tls-folder", folder_.path().string(), "--tls-name", tls_name,
                              "--tls-days", std::to_string(tls_days)});
        start(arguments);
        url_ = (tls_name.empty() ? "http://127.0.0.1:" : "https://127.0.0.1:") + read_port();
    }
    ~WattTimeServer()
    {
        stdin_.reset();  // end of file stops the server; the signal stops it if it hangs
        kill(pid_, SIGTERM);
        waitpid(pid_, nullptr, 0);
    }
    WattTimeServer(WattTimeServer const&) = delete;
    WattTimeServer& operator=(WattTimeServer const&) = delete;

    [[nodiscard]] std::string const& url() const { return url_; }
    [[nodiscard]] std::filesystem::path certificate() const { return folder_ / "certificate.pem"; }
    /// Sets the server's behaviour, e.g. `fault=slow&times=2`, `forget_tokens`,
    /// `now=2026-01-11T17:00:00Z`, or `reset` (the state after start-up).
    void control(std::string const& query) { (void)get("/_control?" + query); }
    /// The paths of all requests so far, with their queries, in order. Only paths that begin with
    /// `prefix` are listed.
    [[nodiscard]] std::vector<std::string> requests(std::string const& prefix = "")
    {
        std::vector<std::string> paths;
        auto const list = json::parse(get("/_requests"), "requests").value();
        for (auto const& request : *list.as_array()) {
            auto const path = *request.as_object()->find("path")->as_text();
            if (path.rfind(prefix, 0) == 0) paths.push_back(path);
        }
        return paths;
    }

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
    [[nodiscard]] std::string read_port() const
    {
        std::string port;
        for (char c{}; read(stdout_.get(), &c, 1) == 1 && c != '\n';) port += c;
        if (port.empty()) throw std::runtime_error("the WattTime server did not start");
        return port;
    }
    std::string get(std::string const& path)
    {
        http::Client client(
            {url_.starts_with("https") ? certificate() : std::filesystem::path(), {}});
        auto const response = client.send({.url = url_ + path, .username = {}});
        if (!response || response->status != 200)
            throw std::runtime_error("the WattTime server does not answer " + path);
        return response->body;
    }

    TemporaryFolder folder_;
    Fd stdin_;
    Fd stdout_;
    pid_t pid_{};
    std::string url_;
};

}  // namespace curtail::test
