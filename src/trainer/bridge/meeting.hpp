// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "base/core/call_limits.hpp"
#include "base/core/time.hpp"
#include "protocol/chain/run_objects.hpp"
#include "trainer/bridge/address.hpp"

// How the leaders of two sites meet in the store (docs/formats-store.md).
namespace curtail::bridge {

/// `mpi/<member>.json`: a member that older members may connect with.
struct Announcement {
    std::string host;   ///< name of the machine, to display
    std::string token;  ///< what the other end must show
    Time time;
    friend bool operator==(Announcement const&, Announcement const&) = default;
};

/// `mpi/<older member>/<newer member>.json`: where the older member waits for the newer one.
struct Invitation {
    ListenAddress address;
    std::string host;   ///< name of the machine, to display
    std::string token;  ///< what the other end must show
    Time time;
    friend bool operator==(Invitation const&, Invitation const&) = default;
};

/// The folders below `runs/<run>/` that have these records: of the members of the run, and of those
/// that try their connection (trainer/bridge/check.hpp). The names of records are relative to one
/// of them.
inline constexpr char const* meeting_folder = "mpi";
inline constexpr char const* check_folder = "mpi/check";

/// Returns whether `one` is newer than `other`, so that it connects and `other` waits for it.
[[nodiscard]] bool is_newer(MemberId const& one, MemberId const& other);
[[nodiscard]] std::string announcement_name(MemberId const& member);
[[nodiscard]] std::string invitation_name(MemberId const& older, MemberId const& newer);

[[nodiscard]] std::string encode(Announcement const& announcement);
[[nodiscard]] std::string encode(Invitation const& invitation);
/// Fail with `protocol` if the text is no such record.
[[nodiscard]] Result<Announcement> decode_announcement(std::string_view text);
[[nodiscard]] Result<Invitation> decode_invitation(std::string_view text);

/// Returns 64 hex digits at random. Throws std::system_error if the system has none.
[[nodiscard]] std::string make_token();

}  // namespace curtail::bridge
