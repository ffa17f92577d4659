// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "rounds/names.hpp"
#include "rounds/record.hpp"

/// How one record follows from another (docs/rounds.md).
namespace curtail::rounds {

/// A contribution that the writer of a record has found.
struct Found {
    Header header;
    std::optional<Digest> sha256;  ///< of the header's bytes; absent: inlined by a lone member
    std::optional<Refusal> bad;    ///< what reading header or payload showed
};
/// A header that is there but cannot be read: known by its name only, to be refused.
[[nodiscard]] Found unreadable(RunSpec const& run, MemberId const& member, Seq seq, Digest sha256);

struct Admission {
    Process process;
    Rate rate{};
};

/// What the writer wants besides deciding contributions.
struct Intents {
    std::optional<Admission> admit;
    std::map<MemberId, Removal> remove;  ///< left alone where a header of that member was found
    std::optional<std::pair<MemberId, Rate>> rate;  ///< of the writer
    friend bool operator==(Intents const&, Intents const&) = default;
};

/// The record after `parent`, or nothing if it would change nothing. Pure.
///
/// A merge commit comes with the parent's model and outer state, for the caller to replace by the
/// merge's result; all else is final.
[[nodiscard]] std::optional<Commit> next(RunSpec const& run, Commit const& parent,
                                         Digest const& parent_sha256, Writer const& by, Time now,
                                         std::span<Found const> found, Intents const& intents);

/// Commit 1 with the initial model.
[[nodiscard]] Commit genesis(RunSpec const& run, Digest const& run_sha256, Writer const& by,
                             Time now, std::vector<PartRef> model);

/// Whether `tokens` are those of the blocks in `ranges`, which may be any that a record can hold.
[[nodiscard]] bool counts_tokens(RunSpec const& run, Ranges const& ranges, std::int64_t tokens);

/// Why a contribution would be refused on top of `parent` by a member that holds `held`; nothing:
/// it is included. Guards of the header in the order wrong-run, bad-tokens, not-held, stale, nan.
[[nodiscard]] std::optional<Refusal> refusal(RunSpec const& run, Commit const& parent,
                                             Ranges const& held, Header const& header);

/// sqrt(sum of squares / tokens) of a contribution's delta; 0 without tokens or if that is not
/// finite.
[[nodiscard]] double norm_of(Header const& header);

/// Blocks a member of that rate is to hold: what it trains in two rounds, or its share of what is
/// not done, whichever is less; rounded up to grant_quantum, at least one; one quantum if its rate
/// is not known.
[[nodiscard]] std::int64_t grant_target(RunSpec const& run, std::int64_t blocks_left, Rate rate,
                                        Rate sum_of_rates);

/// Gives free blocks, lowest first, to each member in turn until it holds its target.
void grant(RunSpec const& run, Ranges const& done, std::vector<Member>& members);

/// True if the included contributions make an outer step with momentum: nesterov, at least two
/// sites of staleness 0, and at least outer_min of what the members of the parent could have done
/// in round_time.
[[nodiscard]] bool makes_outer_step(RunSpec const& run, Commit const& parent,
                                    std::span<Decided const> decided);

/// Sets scale of all included contributions with tokens.
void set_scales(RunSpec const& run, std::vector<Decided>& decided);

}  // namespace curtail::rounds
