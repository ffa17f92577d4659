// SPDX-License-Identifier: Apache-2.0
#include "trainer/bridge/bridge_process.hpp"

#include <cstdlib>
#include <mutex>
#include <thread>

#include "base/core/clock.hpp"
#include "base/core/text.hpp"
#include "base/process/command.hpp"
#include "trainer/bridge/frame.hpp"
#include "trainer/bridge/host_network.hpp"
#include "trainer/bridge/local_socket.hpp"
#include "trainer/bridge/message_socket.hpp"
#include "trainer/bridge/private_folder.hpp"

namespace curtail::bridge {
namespace {

using Environment = std::vector<std::pair<std::string, std::string>>;

constexpr Millis pause{10};

tl::unexpected<Error> cannot(std::string why, std::string remedy = {})
{
    return fail(ExitCode::unavailable, "cannot start an end of a bridge", std::move(why),
                std::move(remedy));
}

// What Open MPI has written about an error, without the lines around it.
std::string in_one_line(std::string_view errors)
{
    constexpr std::size_t longest = 300;
    std::string text;
    for (auto const part : split(errors, '\n')) {
        auto const line = trim(part);
        if (line.empty() || line.find_first_not_of('-') == line.npos) continue;
        text += (text.empty() ? "" : " ") + std::string(line);
    }
    return printable(text.substr(0, longest));
}

// The environment of Open MPI 4. This process's own MPI variables would take the bridge for one of
// its ranks, and those of Slurm would let mpirun start daemons on the other nodes of the job.
Result<Environment> environment_of(ProcessSettings const& settings,
                                   std::filesystem::path const& folder)
{
    auto variables = process::plain_environment();
    std::erase_if(variables, [](auto const& variable) { return variable.first == "TMPDIR"; });
    // They say where a bundle or a module has its libraries.
    for (char const* name : {"LD_LIBRARY_PATH", "OPAL_PREFIX", "OPAL_SYSCONFDIR", "PMIX_PKGLIBDIR",
                             "PMIX_PKGDATADIR", "HWLOC_PLUGINS_PATH"})
        if (char const* value = std::getenv(name)) variables.emplace_back(name, value);
    Environment const own{
        {"TMPDIR", folder},
        {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
        {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
        {"OMPI_MCA_plm", "isolated"},
        {"OMPI_MCA_mpi_yield_when_idle", "1"},
        {"OMPI_MCA_oob_tcp_if_include", settings.interface},
        {"OMPI_MCA_oob_tcp_disable_ipv6_family", "1"},
        // With its own TCP transport, Open MPI 4 hangs or aborts if the other end dies.
        {"OMPI_MCA_pml", "ucx"},
        {"OMPI_MCA_btl", "self"},
        {"OMPI_MCA_osc", "^ucx"},
        {"OMPI_MCA_opal_common_ucx_tls", "any"},
        {"OMPI_MCA_opal_common_ucx_devices", "any"},
        {"UCX_TLS", "tcp,self"},
        {"UCX_NET_DEVICES", settings.interface}};
    variables.insert(variables.end(), own.begin(), own.end());
    if (settings.ports) {
        auto const ports = two_free_ports(*settings.ports);
        if (!ports) return tl::unexpected(ports.error());
        // Open MPI 4.1 listens at all ports that it may choose. It opens one for IPv6, too,
        // although it does not use it.
        variables.emplace_back("OMPI_MCA_oob_tcp_dynamic_ipv4_ports", ports->first);
        variables.emplace_back("OMPI_MCA_oob_tcp_dynamic_ipv6_ports", ports->second);
        variables.emplace_back("UCX_TCP_PORT_RANGE", settings.ports->text());
    }
    return variables;
}

// A command in a thread of its own, which ends with the object.
class Program {
  public:
    Program(std::vector<std::string> arguments, Environment environment)
        : name_(arguments.at(0)),
          thread_([this, arguments = std::move(arguments),
                   environment = std::move(environment)](std::stop_token const& stop) {
              try {
                  run(arguments, environment, stop);
              } catch (std::exception const& error) {
                  set_why(error.what());
              }
          })
    {
    }
    /// Returns why the program has ended; empty while it runs.
    [[nodiscard]] std::optional<Error> why_ended() const
    {
        std::lock_guard const lock(mutex_);
        if (why_.empty()) return std::nullopt;
        return cannot(name_ + ": " + why_, remedy_).value();
    }

  private:
    void run(std::vector<std::string> const& arguments, Environment const& environment,
             std::stop_token const& stop)
    {
        constexpr Millis forever{std::int64_t{1} << 40};
        auto const done =
            process::run_command({arguments, environment, forever, std::size_t{1} << 20, stop});
        if (done)
            set_why("it ended with exit code " + std::to_string(done->exit_code) + ": " +
                    in_one_line(done->errors));
        else
            set_why(done.error().why, done.error().code == ExitCode::unavailable
                                          ? "install Open MPI 4 (openmpi-bin)"
                                          : "");
    }
    void set_why(std::string why, std::string remedy = {})
    {
        std::lock_guard const lock(mutex_);
        why_ = std::move(why);
        remedy_ = std::move(remedy);
    }
    std::string name_;
    mutable std::mutex mutex_;
    std::string why_;
    std::string remedy_;
    std::jthread thread_;
};

class BridgeProcess final : public ConnectableStream {
  public:
    BridgeProcess(ProcessSettings settings, PrivateFolder folder)
        : settings_(std::move(settings)), folder_(std::move(folder))
    {
    }
    ~BridgeProcess() override
    {
        end();
        // mpirun then ends by itself, and nothing of it remains. It does not if nobody has
        // connected: then it is killed.
        auto const until = monotonic_now() + Millis{500};
        while (bridge_ && !bridge_->why_ended() && monotonic_now() < until)
            std::this_thread::sleep_for(pause);
    }

    BridgeProcess(BridgeProcess const&) = delete;
    BridgeProcess& operator=(BridgeProcess const&) = delete;

    [[nodiscard]] Result<void> wait_at_port(CallLimits const& call)
    {
        if (auto started = start_server(call); !started) return started;
        if (auto started = start_bridge(call); !started) return started;
        auto port = expect(MessageType::port, call);
        if (!port) return tl::unexpected(port.error());
        address_.port = std::move(*port);
        return {};
    }

    [[nodiscard]] Result<void> connect_to(ListenAddress const& address, CallLimits const& call)
    {
        // Nothing that comes from the store is an argument of a program.
        for (auto const& [name, text] :
             {std::pair{"server", address.server}, {"port", address.port}})
            if (auto written = write_file(folder_.path() / name, text + "\n", 0600); !written)
                return written;
        return start_bridge(call);
    }

    [[nodiscard]] ListenAddress const& address() const override { return address_; }
    [[nodiscard]] Result<std::string> wait_until_connected(CallLimits const& call) override
    {
        return expect(MessageType::connected, call);
    }

    [[nodiscard]] Result<void> send(Pieces const& frame, MonoTime until) override
    {
        return socket_->send(MessageType::frame, frame, until);
    }

    [[nodiscard]] Result<std::optional<std::span<std::byte const>>> receive(MonoTime until) override
    {
        using Received = std::optional<std::span<std::byte const>>;
        auto const message = socket_->receive(until);
        if (!message) return tl::unexpected(message.error());
        if (!*message) return Received{};
        if ((*message)->type == MessageType::frame) return Received{(*message)->body};
        return fail(ExitCode::unavailable, "the bridge has ended",
                    (*message)->type == MessageType::failed ? printable((*message)->text())
                                                            : "it sent a message of another type");
    }

    void end() override
    {
        if (socket_) socket_->shut_down();
    }

  private:
    [[nodiscard]] Result<void> start_server(CallLimits const& call)
    {
        auto const file = folder_.path() / "server";
        auto environment = environment_of(settings_, folder_.path());
        if (!environment) return tl::unexpected(environment.error());
        server_ = std::make_unique<Program>(
            std::vector<std::string>{"ompi-server", "--no-daemonize", "--report-uri", file},
            std::move(*environment));
        for (;;) {
            auto const text = read_file_if_exists(file, 4096);
            if (!text) return tl::unexpected(text.error());
            // The last line may be half written.
            if (*text && (*text)->ends_with('\n')) {
                address_.server = trim(**text);
                return {};
            }
            if (auto why = server_->why_ended()) return tl::unexpected(*why);
            if (call.is_over())
                return cannot(
                    "ompi-server does not report its address",
                    "check that " + folder_.path().parent_path().string() + " has free space");
            std::this_thread::sleep_for(pause);
        }
    }

    [[nodiscard]] Result<void> start_bridge(CallLimits const& call)
    {
        auto const path = folder_.path() / "socket";
        auto const listening = listen_at(path);
        if (!listening) return tl::unexpected(listening.error());
        auto const server = "file:" + (folder_.path() / "server").string();
        std::vector<std::string> arguments{
            "mpirun",          "--ompi-server",   server, "-n", "1", "--bind-to", "none",
            "--oversubscribe", settings_.program, path};
        if (!server_) arguments.push_back(folder_.path() / "port");
        auto environment = environment_of(settings_, folder_.path());
        if (!environment) return tl::unexpected(environment.error());
        bridge_ = std::make_unique<Program>(std::move(arguments), std::move(*environment));
        for (;;) {
            auto socket = accept_from(*listening, pause);
            if (!socket) return tl::unexpected(socket.error());
            if (*socket) {
                socket_.emplace(std::move(**socket), largest_frame);
                return {};
            }
            if (auto why = bridge_->why_ended()) return tl::unexpected(*why);
            if (call.is_over()) return cannot("mpirun did not start it in time");
        }
    }

    // Returns the text of the next message, which must have the type `type`.
    [[nodiscard]] Result<std::string> expect(MessageType type, CallLimits const& call)
    {
        constexpr Millis step{100};
        for (;;) {
            auto const message = socket_->receive(monotonic_now() + call.time_left(step));
            if (!message) return tl::unexpected(message.error());
            if (!*message && !call.is_over()) continue;
            if (!*message)
                return cannot("MPI took too long",
                              "check mpi.ports and the firewalls of both sites");
            if ((*message)->type == type) return std::string((*message)->text());
            return (*message)->type == MessageType::failed
                       ? cannot(printable((*message)->text()))
                       : cannot("it sent a message of another type than expected");
        }
    }

    ProcessSettings settings_;
    PrivateFolder folder_;
    ListenAddress address_;
    std::unique_ptr<Program> server_;
    std::unique_ptr<Program> bridge_;
    std::optional<MessageSocket> socket_;
};

using Made = Result<std::unique_ptr<ConnectableStream>>;

Made make_end_once(ProcessSettings const& settings,
                   std::function<Result<void>(BridgeProcess&)> const& start)
{
    if (auto usable = check_interface(settings.interface); !usable)
        return tl::unexpected(usable.error());
    auto folder = PrivateFolder::create();
    if (!folder) return tl::unexpected(folder.error());
    auto made = std::make_unique<BridgeProcess>(settings, std::move(*folder));
    if (auto started = start(*made); !started) return tl::unexpected(started.error());
    return made;
}

// Another process may have taken a port after this one had found it free.
Made make_end(ProcessSettings const& settings, CallLimits const& call,
              std::function<Result<void>(BridgeProcess&)> const& start)
{
    auto made = make_end_once(settings, start);
    if (made || !settings.ports || call.is_over()) return made;
    return make_end_once(settings, start);
}

}  // namespace

Result<void> check_library(std::string_view library)
{
    if (library.starts_with("Open MPI v4.")) return {};
    auto const why = library.starts_with("Open MPI")
                         ? " connects jobs of one allocation only"
                         : " is not Open MPI 4, and no other MPI connects two jobs here";
    return fail(ExitCode::unavailable, "no MPI between sites",
                printable(library.substr(0, library.find(','))) + why);
}

Ends process_ends(ProcessSettings const& settings)
{
    Ends ends;
    ends.wait_at_port = [settings](CallLimits const& call) {
        return make_end(settings, call,
                        [&](BridgeProcess& process) { return process.wait_at_port(call); });
    };
    ends.connect_to = [settings](ListenAddress const& address, CallLimits const& call) {
        return make_end(settings, call,
                        [&](BridgeProcess& process) { return process.connect_to(address, call); });
    };
    return ends;
}

}  // namespace curtail::bridge
