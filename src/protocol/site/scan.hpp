// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "protocol/records/decoder.hpp"
#include "protocol/site/machine.hpp"
#include "protocol/site/pending.hpp"

namespace curtail::protocol::site {

/// A scan for pending contributions. For each member, the scan starts after the member's last
/// decided contribution. It reads the member's headers one by one, until a header is missing or
/// cannot be read.
class Scan {
  public:
    explicit Scan(std::shared_ptr<RecordDecoder const> decoder) : decoder_(std::move(decoder)) {}
    /// Starts a new scan of these members.
    void begin(std::vector<MemberId> members);
    /// Returns the key of the header to read next. Pass the answer to answered(). Returns an empty
    /// optional if the scan is complete.
    [[nodiscard]] std::optional<Key> next(Commit const& tip, PendingContributions const& pending,
                                          Params const& params);
    /// Takes the answer about the header that next() returned. Adds an existing header to
    /// `pending`.
    ///
    /// If the bytes are invalid, the scan goes on to the next member. A header counts as unreadable
    /// after reads_limit reads of invalid bytes over at least unreadable_after. No commit ever
    /// decides an unreadable header.
    ///
    /// If the answer is Unknown, makes `machine` ask again after a pause, at most tries_limit
    /// times. After that, the scan goes on to the next member. A stopping member does not ask
    /// again, and goes on at once. A process that is not a member (`is_member` is false) asks
    /// without limit unless is_lasting_error() is true for the answer.
    void answered(Input const& input, RunSpec const& run, bool is_member,
                  PendingContributions& pending, Machine& machine);
    /// Returns true if the last scan could not find out whether the next header of `member` exists,
    /// or read invalid bytes. There are two exceptions. The header counts as unreadable. Or this
    /// process is a member itself, and the reads of that header have failed with lasting errors for
    /// `drop_after` + `skew`.
    [[nodiscard]] bool unresolved(MemberId const& member) const
    {
        return unresolved_.contains(member);
    }
    /// Returns true if this scan read invalid bytes of a header that does not count as unreadable.
    [[nodiscard]] bool must_repeat() const { return repeats_; }
    /// If the last scan that asked for this header got a lasting error or invalid bytes: returns
    /// the reason. Otherwise returns null.
    [[nodiscard]] std::string const* unread(Key const& key) const;
    /// Forgets the lasting errors for headers of contributions that `tip` has decided.
    void forget_decided(Commit const& tip);

  private:
    /// A header whose reads gave a lasting error. Whether the header exists is unknown.
    struct UnreadableHeader {
        MonoTime since;   ///< time at which a scan first gave up reading the header
        std::string why;  ///< the store's reason for the last lasting error
    };
    /// A header whose reads gave invalid bytes.
    struct Invalid {
        int reads{};
        MonoTime since;   ///< time of the first of these reads
        std::string why;  ///< what is wrong with the bytes
    };
    bool retry(Unknown const& unknown, Params const& params, bool is_member, Machine& machine);
    bool take(std::string const& bytes, PendingContributions& pending, MonoTime now);

    std::shared_ptr<RecordDecoder const> decoder_;
    std::vector<MemberId> members_;
    std::size_t at_{0};  ///< index in `members_` of the member whose headers are read
    Key asked_;          ///< the header that next() returned last
    std::map<Key, Invalid> invalid_;
    std::map<Key, UnreadableHeader> unread_;
    std::set<MemberId> unresolved_;
    bool repeats_{};  ///< see must_repeat()
};

}  // namespace curtail::protocol::site
