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

/// A scan for pending contributions: by exact name, after each member's last decided one.
class Scan {
  public:
    void begin(std::vector<MemberId> members);
    /// The next header to read, whose answer goes to answered(); nothing: the scan is complete.
    [[nodiscard]] std::optional<Key> next(Commit const& tip, Pending const& pending,
                                          Params const& params);
    /// Adds a header found to `pending`, or asks again. Pauses grow per name only, so that many bad
    /// names do not delay a site for long.
    void answered(Input const& input, RunSpec const& run, bool is_member, Pending& pending,
                  Machine& machine);
    /// True if the last scan got no answer about the member's next header.
    [[nodiscard]] bool unresolved(MemberId const& member) const
    {
        return unresolved_.contains(member);
    }
    /// Why every scan failed to read this header; null: one succeeded.
    [[nodiscard]] std::string const* unread(Key const& key) const;
    void forget_decided(Commit const& tip);

  private:
    /// A header whose existence is unknown: the store refuses every read.
    struct Unread {
        MonoTime since;
        std::string why;  ///< reason of the last refusal
    };
    bool retry(Unknown const& unknown, Params const& params, bool is_member, Machine& machine);
    [[nodiscard]] bool unread_for_long(Params const& params, MonoTime now) const;
    bool take(std::string const& bytes, RunSpec const& run, Pending& pending, Machine& machine);

    std::vector<MemberId> members_;
    std::size_t at_{0};
    Key asked_;
    std::map<std::string, int> bad_;  ///< by name: reads with invalid bytes
    std::map<Key, Unread> unread_;
    std::set<MemberId> unresolved_;
};

}  // namespace curtail::rounds::site
