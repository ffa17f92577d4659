// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "protocol/records/names.hpp"
#include "protocol/records/record.hpp"

// The rules by which one commit follows from another (docs/rounds.md).
namespace curtail::protocol {

/// A contribution that the writer of the next commit knows.
struct KnownContribution {
    Header header;
    std::optional<Digest>
        sha256;  ///< digest of the stored header's bytes; empty if a lone member
                 ///< commits the work without a header (ContributionDecision::inlined)
    std::optional<Refusal> bad;  ///< fault found in the payload; empty: none
};
/// A request to admit a process as a member.
struct Admission {
    Process process;
    Rate rate{};  ///< the member's first rate
};

/// The amendment that follows Commit::amended, as a process has read it.
struct NextAmendment {
    AmendmentRef ref;
    std::optional<Amendment> amendment;  ///< empty: unusable, so the terms stay as they are
    std::string why{};                   ///< why it is unusable
};

/// Changes that the next commit shall make in addition to deciding contributions.
struct Intents {
    /// Ignored if the process is a member already, or if may_enter() returns false for its site.
    std::optional<Admission> admit;
    std::map<MemberId, Removal> remove;  ///< ignored for a member whose work the commit decides
    std::optional<std::pair<MemberId, Rate>> rate;  ///< new rate of the writer
    /// Ignored by a merge commit, and if it is not the amendment that follows Commit::amended. If
    /// the amendment is void (protocol::amended), the commit names it but keeps the
    /// terms.
    std::optional<NextAmendment> amend;
    /// What the writer knows about the journal of its own site. Makes no commit by itself.
    JournalHeads heads;
};

/// Builds the commit that follows `parent`, by the terms that `parent` states. `by` is the new
/// commit's writer. `now` is the current time by the store's clock. Returns an empty optional if
/// `parent` has completed the run, or if the commit would change nothing.
///
/// If the result is a merge commit, its fields `model` and `outer` are still those of `parent`. The
/// caller must set `model` to the merged model. If Commit::outer_step is set in the result, the
/// caller must also set `outer` to the new momentum. All other fields are final.
[[nodiscard]] std::optional<Commit> next(RunSpec const& run, Commit const& parent,
                                         Digest const& parent_sha256, CommitWriter const& by,
                                         Time now, std::span<KnownContribution const> known,
                                         Intents const& intents);

/// Builds commit 1. `model` are the stored initial weights.
[[nodiscard]] Commit genesis(RunSpec const& run, Digest const& run_sha256, CommitWriter const& by,
                             Time now, PartRef weights);

/// Returns the number of blocks that a member with the rate `rate` should hold. This is the smaller
/// of two numbers: the blocks that the member trains on in twice `round_time`, and
/// `blocks_left` * `rate` / `sum_of_rates`. `blocks_left` is the number of blocks of the run that
/// are not in the committed model. The result is rounded up to a multiple of `grant_quantum` and is
/// at least one `grant_quantum`. If the rate is unknown (0), the result is one `grant_quantum`.
[[nodiscard]] std::int64_t grant_target(RunSpec const& run, std::int64_t blocks_left, Rate rate,
                                        Rate sum_of_rates);

/// Returns in how many ranges a member of `commit` may hold blocks before it gets more:
/// RecordLimits::held_ranges by the number of members, at least 1. `commit` has a member.
[[nodiscard]] std::size_t most_held_ranges(RunSpec const& run, Commit const& commit);

/// Grants free blocks to the members of `commit` until each member holds at least its
/// grant_target() or no block is free for it. Serves one member after the other, in the order of
/// the table. Grants the lowest free blocks first. A block is free if it is neither done nor aside
/// and no member holds it. No member gets more ranges than most_held_ranges(), or a block of
/// better_elsewhere() (protocol/rules/skips.hpp).
void grant(RunSpec const& run, Commit& commit);

/// Returns true if the merge of the contributions in `decided` is an outer step with momentum. This
/// needs all of the following:
/// - the outer optimizer is `nesterov`, and no included contribution has `inlined` set;
/// - at least two sites each have an included contribution that has staleness 0 and at least one
///   block;
/// - the included contributions have enough tokens: at least `outer_min_permille` / 1000 of the
///   tokens that the members of `parent` can train on in one `round_time`.
[[nodiscard]] bool makes_outer_step(RunSpec const& run, Commit const& parent,
                                    std::span<ContributionDecision const> decided);

/// Removes the oldest elements of a list until it has at most `count`.
template <class T>
void keep_last(std::vector<T>& list, std::size_t count)
{
    if (list.size() > count)
        list.erase(list.begin(), list.end() - static_cast<std::ptrdiff_t>(count));
}

/// Sets ContributionDecision::scale of each contribution to the contribution's weight in the merge.
/// The weight is 0 if the contribution is refused or has no tokens. Otherwise, it is that of all
/// tokens of its member, times that of clip_factors(). `parent` is the commit before the merge.
void set_scales(RunSpec const& run, Commit const& parent,
                std::vector<ContributionDecision>& decided);

}  // namespace curtail::protocol
