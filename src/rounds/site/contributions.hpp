// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "rounds/messages.hpp"

namespace curtail::rounds::site {

/// An undecided contribution of this member.
struct Own {
    Header header;
    bool stored{};
    std::optional<Encoded> encoded;  ///< set by the first try to create it
    bool published{};
};

/// This member's contributions from their cut to their decision.
class Contributions {
  public:
    /// Starts after the member's last decided contribution.
    void begin(Seq last_decided) { next_seq_ = last_decided.next(); }
    [[nodiscard]] Seq next_seq() const { return next_seq_; }
    [[nodiscard]] bool leaving() const { return leaving_; }  ///< the last cut is ordered
    void leave() { leaving_ = true; }

    void add(Own own);
    [[nodiscard]] std::vector<Own> const& undecided() const { return undecided_; }
    [[nodiscard]] std::int64_t count() const;
    [[nodiscard]] Ranges ranges() const;
    [[nodiscard]] Tokens tokens() const;
    [[nodiscard]] Tokens unpublished_tokens() const;
    [[nodiscard]] Own const* next_unpublished() const;
    [[nodiscard]] Own* next_unpublished();
    [[nodiscard]] bool has_published() const;

    /// Drops contributions that a commit has decided. `me` is the member's row; null: removed.
    void decide(Member const* me);
    /// Decided contributions that the trainer has not yet dropped.
    [[nodiscard]] std::vector<Seq> const& dropped() const { return dropped_; }
    void forget_dropped() { dropped_.clear(); }

  private:
    std::vector<Own> undecided_;  ///< by seq
    std::vector<Seq> dropped_;
    Seq next_seq_{1};
    bool leaving_{};
};

}  // namespace curtail::rounds::site
