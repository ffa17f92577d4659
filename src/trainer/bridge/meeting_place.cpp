// SPDX-License-Identifier: Apache-2.0
#include "trainer/bridge/meeting_place.hpp"

#include "base/core/clock.hpp"
#include "base/process/identity.hpp"

namespace curtail::bridge {
namespace {

constexpr Seconds store_time{30};    // for an operation on the store
constexpr Seconds start_time{20};    // for MPI to open a port
constexpr Seconds accept_time{60};   // for the newer member to connect
constexpr Seconds connect_time{30};  // for MPI to connect

CallLimits call(std::stop_token const& stop, Seconds longest = store_time)
{
    return {stop, monotonic_now() + longest};
}

}  // namespace

Result<void> MeetingPlace::announce(MemberId const& self, std::stop_token const& stop) const
{
    return write(announcement_name(self),
                 encode(Announcement{process::host_name(), token_, SystemClock{}.now()}), stop);
}

Result<std::optional<std::string>> MeetingPlace::record_of(MemberId const& other,
                                                           MemberId const& self,
                                                           std::stop_token const& stop) const
{
    auto const name =
        is_newer(other, self) ? announcement_name(other) : invitation_name(other, self);
    return chain::RunObjects(*parts_.store, parts_.run, nullptr, call(stop))
        .record(parts_.folder + "/" + name);
}

Result<MeetingPlace::UnverifiedConnection> MeetingPlace::meet(MemberId const& other,
                                                              MemberId const& self,
                                                              std::string_view text,
                                                              std::stop_token const& stop) const
{
    if (is_newer(other, self)) {
        auto const theirs = decode_announcement(text);
        if (!theirs) return tl::unexpected(theirs.error());
        return invite(invitation_name(self, other), *theirs, stop);
    }
    auto const theirs = decode_invitation(text);
    if (!theirs) return tl::unexpected(theirs.error());
    return follow(*theirs, stop);
}

Result<MeetingPlace::UnverifiedConnection> MeetingPlace::invite(std::string const& name,
                                                                Announcement const& theirs,
                                                                std::stop_token const& stop) const
{
    auto end = parts_.ends.wait_at_port(call(stop, start_time));
    if (!end) return tl::unexpected(end.error());
    Invitation const invitation{(*end)->address(), process::host_name(), make_token(),
                                SystemClock{}.now()};
    if (auto written = write(name, encode(invitation), stop); !written)
        return tl::unexpected(written.error());
    auto library = (*end)->wait_until_connected(call(stop, accept_time));
    if (!library) return tl::unexpected(library.error());
    return UnverifiedConnection{
        std::move(*end), theirs.host, *library, {invitation.token, theirs.token}};
}

Result<MeetingPlace::UnverifiedConnection> MeetingPlace::follow(Invitation const& theirs,
                                                                std::stop_token const& stop) const
{
    if (auto good = check_address(theirs.address, parts_.networks); !good)
        return tl::unexpected(good.error());
    auto const until_connected = call(stop, connect_time);
    auto end = parts_.ends.connect_to(theirs.address, until_connected);
    if (!end) return tl::unexpected(end.error());
    auto library = (*end)->wait_until_connected(until_connected);
    if (!library) return tl::unexpected(library.error());
    return UnverifiedConnection{std::move(*end), theirs.host, *library, {token_, theirs.token}};
}

Result<void> MeetingPlace::write(std::string const& name, std::string const& text,
                                 std::stop_token const& stop) const
{
    auto const object = chain::object_name(parts_.run, parts_.folder + "/" + name);
    if (!object) return tl::unexpected(object.error());
    bool unsure = false;
    for (int tries = 0; tries < 3; ++tries) {
        auto const created = parts_.store->create(*object, store::bytes_of(text), call(stop));
        if (!created) return tl::unexpected(created.error());
        if (*created == store::CreateOutcome::created) return {};
        // Nobody else has a reason to create it.
        if (*created == store::CreateOutcome::exists && unsure) return {};
        if (*created == store::CreateOutcome::exists)
            return fail(ExitCode::protocol, "cannot create " + name, "it exists already");
        unsure = true;
    }
    return fail(ExitCode::temporary, "cannot create " + name, "the store does not answer");
}

}  // namespace curtail::bridge
