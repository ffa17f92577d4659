// SPDX-License-Identifier: Apache-2.0
#include "trainer/bridge/local_socket.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>

namespace curtail::bridge {
namespace {

// `use` is bind or connect.
Result<Fd> socket_at(std::filesystem::path const& path, int (*use)(int, sockaddr const*, socklen_t),
                     char const* what)
{
    auto const failed = [&](std::string why) {
        return fail(ExitCode::unavailable, what + path.string(), std::move(why));
    };
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    auto const& text = path.native();
    if (text.size() >= sizeof name.sun_path) return failed("the path is too long for a socket");
    std::ranges::copy(text, name.sun_path);
    Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket || use(socket.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) != 0)
        return failed(errno_text(errno));
    return socket;
}

}  // namespace

Result<Fd> listen_at(std::filesystem::path const& path)
{
    auto socket = socket_at(path, ::bind, "cannot listen at ");
    if (socket && ::listen(socket->get(), 1) != 0)
        return fail(ExitCode::unavailable, "cannot listen at " + path.string(), errno_text(errno));
    return socket;
}

Result<std::optional<Fd>> accept_from(Fd const& listening, Millis longest)
{
    pollfd watched{listening.get(), POLLIN, 0};
    if (::poll(&watched, 1, static_cast<int>(longest.count())) != 1) return std::optional<Fd>{};
    Fd socket(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket)
        return fail(ExitCode::unavailable, "cannot accept a connection", errno_text(errno));
    return std::optional(std::move(socket));
}

Result<Fd> connect_to_socket(std::filesystem::path const& path)
{
    return socket_at(path, ::connect, "cannot connect to ");
}

}  // namespace curtail::bridge
