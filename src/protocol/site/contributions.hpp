// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "protocol/site/messages.hpp"

namespace curtail::protocol::site {

/// One of this member's contributions that no commit has decided yet.
struct OwnContribution {
    Header header;
    bool stored{};  ///< the payload is in the store, or `header` has no payload
    std::optional<EncodedRecord> encoded{};  ///< the stored form of `header`; empty before the
                                             ///< first try to create the header
    bool unanswered{};  ///< the store did not answer an earlier try to create the header
    bool found{};       ///< the store has an object of the header's name
    bool published{};   ///< the header is in the store
    bool doubtful{};    ///< the header in the store may be damaged, so it must be read back
    bool unproven{};    ///< the delta in the store may be damaged, so it must be read back
    bool unusable{};    ///< the delta in the store is damaged, and this process cannot mend it
    bool damaged{};     ///< the header was not intact when this process read it last
    int restores{};     ///< how often this process has stored the header again
    int proofs{};       ///< how often the delta could not be proved
};

/// This member's contributions. Keeps each contribution from its cut until a commit decides it.
class Contributions {
  public:
    /// Sets next_seq() to the number that follows `last_decided`.
    void begin(Seq last_decided) { next_seq_ = last_decided.next(); }
    /// Returns the number of the next contribution to add.
    [[nodiscard]] Seq next_seq() const { return next_seq_; }
    [[nodiscard]] bool leaving() const { return leaving_; }  ///< true after leave()
    /// Records that the contribution next_seq() is this member's last.
    void leave() { leaving_ = true; }

    void add(OwnContribution own);
    [[nodiscard]] std::vector<OwnContribution> const& undecided() const { return undecided_; }
    [[nodiscard]] std::int64_t count() const;  ///< number of undecided contributions
    /// Returns the blocks trained on or skipped in all cuts whose deltas the trainer still keeps.
    [[nodiscard]] Ranges kept_ranges() const;
    [[nodiscard]] Tokens tokens() const;  ///< tokens of all undecided contributions
    /// Returns the first contribution that is not published, or null if all are published.
    [[nodiscard]] OwnContribution* next_unpublished();
    [[nodiscard]] OwnContribution const* next_unpublished() const;
    /// Returns true if an undecided contribution is published.
    [[nodiscard]] bool has_published() const;

    /// Marks all published contributions as doubtful and their deltas as unproven: the process
    /// reads both back, and stores again what is damaged. It does so before it merges, before it
    /// leaves, and after a merge commit that did not decide them.
    void doubt();
    /// Returns the first doubtful contribution, or null.
    [[nodiscard]] OwnContribution* next_doubtful();
    /// Returns the first contribution with an unproven delta, or null.
    [[nodiscard]] OwnContribution* next_unproven();

    /// Removes contributions that a commit has decided: those up to `last`.
    void remove_decided(Seq last);
    /// Returns the numbers of the decided contributions whose deltas the trainer still keeps.
    [[nodiscard]] std::vector<Seq> const& dropped() const { return dropped_; }
    /// Returns true if one of these deltas may differ from zero.
    [[nodiscard]] bool drops_work() const { return drops_work_; }
    void forget_dropped()
    {
        dropped_.clear();
        dropped_ranges_ = {};
        drops_work_ = false;
    }

  private:
    std::vector<OwnContribution> undecided_;  ///< in order of seq
    std::vector<Seq> dropped_;                ///< see dropped()
    Ranges dropped_ranges_;                   ///< blocks trained on or skipped in these
    bool drops_work_{};                       ///< see drops_work()
    Seq next_seq_{1};
    bool leaving_{};
};

}  // namespace curtail::protocol::site
