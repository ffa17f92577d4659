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
    /// `pending`.
    ///
    /// If the bytes are invalid, makes `machine` ask again after a pause. After reads_limit invalid
    /// reads, adds the header as unreadable().
    ///
    /// If the read failed, makes `machine` ask again after a pause, up to tries_limit times. There
    /// is no limit if this process is not a member (`is_member` is false) and the store's error
    /// does not last (is_lasting_error()).
    void answered(Input const& input, RunSpec const& run, bool is_member, Pending& pending,
                  Machine& machine);
    /// Returns true if the last scan could not find out whether the member's next header exists.
    /// Exception: if this process is a member, returns false once lasting errors have hidden the
    /// header for `drop_after` + `skew`.
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
        MonoTime since;   ///< time at which a scan first gave up reading the header
        std::string why;  ///< the store's reason for the last lasting error
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
