// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/ids.hpp"
#include "base/core/log.hpp"
#include "trainer/bridge/connection.hpp"
#include "trainer/bridge/meeting_place.hpp"

namespace curtail::bridge {

struct BridgeLimits {
    Millis look{300'000};    ///< how long members look for each other
    Millis pause{1'000};     ///< between two looks
    Millis patience{5'000};  ///< see Connection
};

/// The connections of this site's leader with the leaders of other sites. They meet in the store:
/// an older member waits for a newer one, which connects once. A connection that has ended, or that
/// could not be made, is not made again: the payloads then come from the store.
///
/// Nothing here lasts longer than a time limit, except operations on the store. Threads that wait
/// for one may outlive the object, so the program must end without exit handlers.
class Bridges {
  public:
    Bridges(MeetingPlace::Parts place, Log log, BridgeLimits limits = {});
    ~Bridges();
    Bridges(Bridges const&) = delete;
    Bridges& operator=(Bridges const&) = delete;

    /// Says who the members of the run are. `own` is this process's id. Connects with new members,
    /// and ends the connections with those that have left; with all, if `own` is another one than
    /// before. Returns at once.
    void set_members(MemberId const& own, std::vector<MemberId> const& members);
    /// What this site gives to others.
    [[nodiscard]] Offers& offers();
    /// Returns why the store does not know of this site yet. `permission` does not change by
    /// itself.
    [[nodiscard]] std::optional<Error> why_not_announced() const;
    /// Returns why nothing can be fetched from `member`; empty if it is connected.
    [[nodiscard]] std::optional<std::string> why_not_connected(MemberId const& member) const;
    /// Fetches the bytes that `owner` offers. Returns why it failed; then the bytes that `sink`
    /// received have no meaning.
    [[nodiscard]] tl::expected<void, std::string> fetch(MemberId const& owner, Digest const& digest,
                                                        std::int64_t bytes,
                                                        Connection::Sink const& sink,
                                                        CallLimits const& call);
    struct PartnerState {
        bool connected{false};
        bool given_up{false};  ///< will not be connected any more
        std::string why;       ///< why it is not connected
        std::string host;      ///< name of its machine; empty if unknown
        std::string library;   ///< name of the MPI library; empty if not connected
    };
    /// Returns the state of each other member.
    [[nodiscard]] std::map<MemberId, PartnerState> states() const;

  private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace curtail::bridge
