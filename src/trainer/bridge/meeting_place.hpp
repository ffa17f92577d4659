// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/ids.hpp"
#include "base/core/network.hpp"
#include "storage/store/object_store.hpp"
#include "trainer/bridge/connection.hpp"
#include "trainer/bridge/meeting.hpp"
#include "trainer/bridge/stream.hpp"

namespace curtail::bridge {

/// A folder of the run in the store, in which two leaders find each other. The older member waits
/// for the newer one, which connects once. Thread-safe.
class MeetingPlace {
  public:
    struct Parts {
        std::shared_ptr<store::ObjectStore> store;
        RunId run;
        Ends ends;
        std::vector<Network> networks;  ///< with whose addresses this site connects
        std::string folder{meeting_folder};
    };
    /// The two ends are connected, but none has shown its token.
    struct UnverifiedConnection {
        std::unique_ptr<ConnectableStream> end;
        std::string host;     ///< name of the other machine
        std::string library;  ///< name of the MPI library
        MeetingTokens tokens;
    };
    explicit MeetingPlace(Parts parts) : parts_(std::move(parts)) {}

    /// Says that older members may connect with `self`. Fails with `protocol` if this has been said
    /// before.
    [[nodiscard]] Result<void> announce(MemberId const& self, std::stop_token const& stop) const;
    /// Returns the text of the record that `other` has written for `self`: its announcement if it
    /// is newer, and else its invitation. Returns an empty optional if there is none yet.
    [[nodiscard]] Result<std::optional<std::string>> record_of(MemberId const& other,
                                                               MemberId const& self,
                                                               std::stop_token const& stop) const;
    /// Connects with the member whose record has the text `text`. Fails if the text is no such
    /// record, and if the members do not meet within the time limits.
    [[nodiscard]] Result<UnverifiedConnection> meet(MemberId const& other, MemberId const& self,
                                                    std::string_view text,
                                                    std::stop_token const& stop) const;

  private:
    [[nodiscard]] Result<UnverifiedConnection> invite(std::string const& name,
                                                      Announcement const& theirs,
                                                      std::stop_token const& stop) const;
    [[nodiscard]] Result<UnverifiedConnection> follow(Invitation const& theirs,
                                                      std::stop_token const& stop) const;
    [[nodiscard]] Result<void> write(std::string const& name, std::string const& text,
                                     std::stop_token const& stop) const;

    Parts parts_;
    std::string token_{make_token()};  ///< of the announcement
};

}  // namespace curtail::bridge
