// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "rounds/names.hpp"
#include "rounds/record.hpp"

/// The rules by which one record follows from another (docs/rounds.md).
namespace curtail::rounds {

/// A contribution that a record's writer has found.
struct Found {
    Header header;
    std::optional<Digest> sha256;  ///< of the header's bytes; absent: inlined by a lone member
    std::optional<Refusal> bad;    ///< fault found in the bytes of header or payload
};
/// Stands for an existing header with invalid bytes. Only its name is known; it will be refused.
[[nodiscard]] Found unreadable(RunSpec const& run, MemberId const& member, Seq seq, Digest sha256);

struct Admission {
    Process process;
    Rate rate{};
};

/// Changes that the writer asks for, in addition to deciding contributions.
struct Intents {
    std::optional<Admission> admit;
    std::map<MemberId, Removal> remove;  ///< ignored for members with a decided contribution
    std::optional<std::pair<MemberId, Rate>> rate;  ///< the writer's own rate
    friend bool operator==(Intents const&, Intents const&) = default;
};

/// The record after `parent`, or nothing if it would change nothing. Pure.
///
/// A merge commit still carries the parent's model and outer state; the caller replaces them by
/// the merge's result. All other fields are final.
[[nodiscard]] std::optional<Commit> next(RunSpec const& run, Commit const& parent,
                                         Digest const& parent_sha256, Writer const& by, Time now,
                                         std::span<Found const> found, Intents const& intents);

/// Commit 1 with the initial model.
[[nodiscard]] Commit genesis(RunSpec const& run, Digest const& run_sha256, Writer const& by,
                             Time now, std::vector<PartRef> model);

/// True if `tokens` equals the tokens of `ranges`. Does not overflow for any ranges of a record.
[[nodiscard]] bool counts_tokens(RunSpec const& run, Ranges const& ranges, std::int64_t tokens);

/// Why a commit on `parent` would refuse this contribution of a member holding `held`; nothing: it
/// would include it. Checks in the order wrong-run, bad-tokens, not-held, stale, nan.
[[nodiscard]] std::optional<Refusal> refusal(RunSpec const& run, Commit const& parent,
                                             Ranges const& held, Header const& header);

/// sqrt(sum of squares / tokens) of a contribution's delta; 0 without tokens or if not finite.
[[nodiscard]] double norm_of(Header const& header);

/// Target for the number of blocks that a member of this rate holds: its training of two rounds or
/// its share of the blocks left, whichever is less. Rounded up to grant_quantum, at least one
/// quantum; exactly one quantum while the rate is unknown.
[[nodiscard]] std::int64_t grant_target(RunSpec const& run, std::int64_t blocks_left, Rate rate,
                                        Rate sum_of_rates);

/// Gives free blocks, lowest first, to each member in turn up to its target.
void grant(RunSpec const& run, Ranges const& done, std::vector<Member>& members);

/// True if the included contributions make an outer step with momentum: nesterov, two or more sites
/// of staleness 0, and at least outer_min of the work that the parent's members could have done in
/// round_time.
[[nodiscard]] bool makes_outer_step(RunSpec const& run, Commit const& parent,
                                    std::span<Decided const> decided);

/// Sets `scale` of each included contribution with tokens, and 0 elsewhere.
void set_scales(RunSpec const& run, std::vector<Decided>& decided);

}  // namespace curtail::rounds
