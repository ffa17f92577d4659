// SPDX-License-Identifier: Apache-2.0
// curtail-bridge: one end of a bridge between the leaders of two sites. It passes the messages of
// its leader on to the other end over MPI, and those of the other end to its leader. The leader
// starts it under an mpirun of its own, so that no failure of MPI can end the training.
#include <poll.h>
#include <unistd.h>

#include <thread>

#include "base/core/clock.hpp"
#include "base/core/text.hpp"
#include "programs/frame/program.hpp"
#include "trainer/bridge/frame.hpp"
#include "trainer/bridge/local_socket.hpp"
#include "trainer/bridge/message_socket.hpp"
#include "trainer/comm/intercommunicator.hpp"

using namespace curtail;
using bridge::MessageSocket;
using bridge::MessageType;
using comm::Intercommunicator;

namespace {

constexpr Millis last_messages{300};  // to send what the leader sent before it went
constexpr Seconds patience{60};       // a leader that takes no message for so long is of no use

// Ends this process soon after the leader has gone, whatever MPI is doing then.
void end_with_leader(int fd)
{
    std::thread([fd] {
        pollfd watched{fd, POLLRDHUP, 0};
        while (::poll(&watched, 1, -1) < 0 || watched.revents == 0) {}
        std::this_thread::sleep_for(last_messages);
        ::_exit(0);
    }).detach();
}

Result<Intercommunicator> meet(MessageSocket& leader, std::string const& port_file)
{
    if (!port_file.empty()) {
        auto const text = read_file(port_file, 4096);
        if (!text) return tl::unexpected(text.error());
        return Intercommunicator::connect(std::string(trim(*text)));
    }
    auto const port = Intercommunicator::open_port();
    if (!port) return tl::unexpected(port.error());
    auto told =
        leader.send(MessageType::port, Pieces(std::string_view(*port)), monotonic_now() + patience);
    if (!told) return tl::unexpected(told.error());
    return Intercommunicator::accept(*port);
}

// Waits for a message of the leader. MPI works only in calls, so it does not wait long, and hardly
// while messages follow each other.
void wait_a_little(int fd, bool busy)
{
    pollfd watched{fd, POLLIN, 0};
    if (busy) std::this_thread::yield();
    else (void)::poll(&watched, 1, 1);
}

// Lets MPI send what is under way. Returns the reason why the relay ends.
Result<void> finish(Intercommunicator& other, Error why)
{
    auto const until = monotonic_now() + last_messages;
    for (auto sending = other.progress(); sending && *sending && monotonic_now() < until;)
        sending = other.progress();
    return tl::unexpected(std::move(why));
}

Result<void> relay(MessageSocket& leader, Intercommunicator& other)
{
    auto const now = monotonic_now;
    auto last_message = now();
    for (;;) {
        bool moved = false;
        if (other.can_send()) {
            auto const message = leader.receive(MonoTime{});
            if (!message) return finish(other, message.error());
            if (*message) {
                if (auto sent = other.send((*message)->body); !sent) return sent;
                moved = true;
            }
        }
        auto const arrived = other.receive();
        if (!arrived) return tl::unexpected(arrived.error());
        if (*arrived) {
            auto passed = leader.send(MessageType::frame, Pieces(**arrived), now() + patience);
            if (!passed) return finish(other, passed.error());
            moved = true;
        }
        if (auto sending = other.progress(); !sending) return tl::unexpected(sending.error());
        if (moved) last_message = now();
        else wait_a_little(leader.fd(), now() < last_message + Millis{5});
    }
}

Result<void> run_bridge(programs::Arguments const& arguments, programs::Console const&)
{
    auto socket = bridge::connect_to_socket(arguments.text("SOCKET"));
    if (!socket) return tl::unexpected(socket.error());
    MessageSocket leader(std::move(*socket), bridge::largest_frame);
    end_with_leader(leader.fd());
    auto const work = [&]() -> Result<void> {
        if (auto started = Intercommunicator::start_mpi(); !started) return started;
        auto other = meet(leader, arguments.text("PORT_FILE"));
        if (!other) return tl::unexpected(other.error());
        auto const library =
            Intercommunicator::library() + ", thread level " + Intercommunicator::thread_level();
        auto told = leader.send(MessageType::connected, Pieces(std::string_view(library)),
                                monotonic_now() + patience);
        return told ? relay(leader, *other) : told;
    };
    auto done = work();
    auto const why = done.error().message();
    (void)leader.send(MessageType::failed, Pieces(std::string_view(why)),
                      monotonic_now() + Seconds{1});
    return done;
}

}  // namespace

int main(int argc, char** argv)
{
    // MPI_Finalize would wait for the other end.
    programs::end_at_once(programs::run(
        {.name = "curtail-bridge",
         .summary = "One end of a connection between two sites over MPI. curtail-train starts it, "
                    "under an mpirun of its own (docs/mpi.md).",
         .commands = {{.positionals = {{"SOCKET",
                                        "Socket at which the leader of this site listens"},
                                       {"PORT_FILE",
                                        "File with the name of the MPI port to connect with; "
                                        "without it, the bridge opens a port and waits",
                                        false}},
                       .run = run_bridge}}},
        argc, argv));
}
