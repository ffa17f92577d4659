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

/// A scan for pending contributions. For each member, it reads the headers that follow the last
/// decided contribution, by their exact names.
class Scan {
  public:
    /// Starts a new scan of these members.
    void begin(std::vector<MemberId> members);
    /// Returns the header to read next. Pass the answer to answered(). Returns an empty optional if
    /// the scan is complete.
    [[nodiscard]] std::optional<Key> next(Commit const& tip, Pending const& pending,
                                          Params const& params);
    /// Takes the answer about the header that next() returned. Adds an existing header to
    /// `pending`, or makes `machine` ask again after a pause. The tries start at 0 for each header.
    /// `is_member` says whether this process is a member. A process that is not a member asks again
    /// without limit, unless the store's error lasts (is_lasting_error()).
    void answered(Input const& input, RunSpec const& run, bool is_member, Pending& pending,
                  Machine& machine);
    /// Returns true if the last scan could not find out whether the member's next header exists.
    [[nodiscard]] bool unresolved(MemberId const& member) const
    {
        return unresolved_.contains(member);
    }
    /// Returns why the store refused to read this header in the last scan that asked for it.
    /// Returns null if the store did not refuse.
    [[nodiscard]] std::string const* unread(Key const& key) const;
    /// Forgets headers whose contribution `tip` has decided.
    void forget_decided(Commit const& tip);

  private:
    /// A header that the store refuses to read. Whether the header exists is unknown.
    struct Unread {
        MonoTime since;   ///< time of the first refusal in a row
        std::string why;  ///< the store's reason at the last refusal
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
