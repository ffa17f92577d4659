// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rounds/site/machine.hpp"
#include "rounds/site/pending.hpp"

namespace curtail::rounds::site {

/// A scan for pending contributions. For each member, it starts after the last decided contribution
/// and reads one header after the other by its exact name.
class Scan {
  public:
    /// Starts a new scan of these members.
    void begin(std::vector<MemberId> members);
    /// Returns the key of the header to read next. Pass the answer to answered(). Returns an empty
    /// optional if the scan is complete.
    [[nodiscard]] std::optional<Key> next(Commit const& tip, Pending const& pending,
                                          Params const& params);
    /// Takes the answer about the header that next() returned. Adds an existing header to
    /// `pending`. If the read failed or the bytes are invalid, makes `machine` ask again after a
    /// pause, up to a limit for each header. `is_member` says whether this process is a member. A
    /// process that is not a member asks again without limit, unless the store's error lasts
    /// (is_lasting_error()).
    void answered(Input const& input, RunSpec const& run, bool is_member, Pending& pending,
                  Machine& machine);
    /// Returns true if the last scan could not find out whether the member's next header exists.
    [[nodiscard]] bool unresolved(MemberId const& member) const
    {
        return unresolved_.contains(member);
    }
    /// Returns the store's reason if the last scan that asked for this header got a lasting error.
    /// Returns null otherwise.
    [[nodiscard]] std::string const* unread(Key const& key) const;
    /// Forgets headers of contributions that `tip` has decided.
    void forget_decided(Commit const& tip);

  private:
    /// A header whose reads gave a lasting error. Whether the header exists is unknown.
    struct Unread {
        MonoTime since;   ///< time at which a scan first gave up the header
        std::string why;  ///< the store's reason for the last such error
    };
    bool retry(Unknown const& unknown, Params const& params, bool is_member, Machine& machine);
    [[nodiscard]] bool unread_for_long(Params const& params, MonoTime now) const;
    bool take(std::string const& bytes, RunSpec const& run, Pending& pending, Machine& machine);

    std::vector<MemberId> members_;
    std::size_t at_{0};               ///< index of the current member
    Key asked_;                       ///< the header that next() returned last
    std::map<std::string, int> bad_;  ///< number of reads with invalid bytes, by the header's name
    std::map<Key, Unread> unread_;
    std::set<MemberId> unresolved_;
};

}  // namespace curtail::rounds::site
