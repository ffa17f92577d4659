// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "protocol/records/record.hpp"

namespace curtail::protocol::site {

/// What a starting process sees of the members. After an outage of the store, all of them seem
/// silent. So it removes them only after looks that were far apart and saw the same.
class LivenessScan {
  public:
    /// Starts a look at these sites. `foreign_tip` is the digest of the newest commit; empty: this
    /// process created that commit.
    void begin(std::vector<SiteId> sites, std::optional<Digest> foreign_tip, MonoTime now);
    /// Returns the site whose status to read next. Empty: all are read.
    [[nodiscard]] std::optional<SiteId> next() const;
    /// Takes the bytes of this status; null: there is none. Invalid bytes show no life, but two
    /// looks with different invalid bytes have not seen the same.
    void take(std::string const* bytes);
    /// Notes that this status cannot be read now.
    void take_unread();
    /// Returns whether the last look could not read the status of this site.
    [[nodiscard]] bool unread(SiteId const& site) const { return unread_.contains(site); }
    [[nodiscard]] bool any_unread() const { return !unread_.empty(); }
    /// Ends the look, after all statuses.
    void end(MonoTime now);
    /// Returns when the member has last shown life: the later of Member::seen and the time in its
    /// site's status. A status from after `latest` is ignored: its writer's clock is wrong.
    [[nodiscard]] Time last_sign(Member const& member, Time latest) const;
    /// Returns the newest commit that a status names; 0: none.
    [[nodiscard]] CommitNumber newest_tip() const;
    /// Returns for how long all looks have seen the same of the newest commit and of these sites:
    /// the time from the end of the first such look to the beginning of the last one.
    [[nodiscard]] Millis unchanged(std::vector<SiteId> const& sites) const;
    /// Returns the same for the status of one site. Returns zero if it cannot be read.
    [[nodiscard]] Millis unchanged(SiteId const& site) const;
    /// Returns true once per process: when the first wait for members begins.
    [[nodiscard]] bool must_tell() { return !std::exchange(told_, true); }

  private:
    struct Sighting {
        std::optional<std::string> bytes;  ///< empty: there is no status
        std::optional<SiteStatus> status;  ///< empty if the bytes are invalid
        /// End of the first look that saw the same; empty until it ends.
        std::optional<MonoTime> since;
    };

    std::vector<SiteId> sites_;
    std::size_t at_{0};
    Digest tip_;
    std::optional<Digest> last_tip_;  ///< as the look before saw it
    MonoTime tip_since_{};            ///< end of the first look that saw the same
    std::map<SiteId, Sighting> statuses_;
    std::set<SiteId> unread_;
    MonoTime began_{};
    bool told_{false};
};

}  // namespace curtail::protocol::site
