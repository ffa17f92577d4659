// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <string>

#include "rounds/names.hpp"
#include "rounds/record.hpp"

/// Objects that no program of ours writes, under names that one will ask for.
namespace curtail::rounds::test {

inline constexpr int odd_header_kinds = 5;
inline constexpr int odd_lease_kinds = 3;

/// The next header of a member of the tip, which nobody can decode.
inline std::string odd_header(RunSpec const& run, Commit const& tip, Member const& member, int kind)
{
    Header h;
    h.run = run.run;
    h.member = member.id;
    h.seq = member.seq.next();
    h.base_round = tip.round;
    h.ranges = member.held;
    h.tokens = member.held.count() * run.params.block_tokens;
    if (kind == 1) h.steps = (std::int64_t{1} << 53) - 1;
    if (kind == 2)
        h.parts = {{{"d0", delta_name(tip.round, member.id, h.seq, "d0"), 1, sha256("")},
                    std::nan(""),
                    0}};
    if (kind == 3)
        for (std::int64_t i = 0; i < 300; ++i)
            h.ranges += Ranges::between(1'000'000'000'000 + 2 * i, 1'000'000'000'001 + 2 * i);
    auto const bytes = encode(h).bytes;
    return kind == 0 ? "{}" : kind == 4 ? bytes.substr(0, bytes.size() / 2) : bytes;
}

/// A lease of this `k`: two that cannot be read, one of a stranger that never ends.
inline std::string odd_lease(std::int64_t k, int kind)
{
    Lease const endless{member_id({{"stranger"}, 7}, {1}), k, Millis{1'000'000'000'000},
                        from_unix_ms(9'000'000'000'000)};
    return kind == 0 ? "x" : kind == 1 ? "{}" : encode(endless).bytes;
}

}  // namespace curtail::rounds::test
