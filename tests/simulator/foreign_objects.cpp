// SPDX-License-Identifier: Apache-2.0
#include "simulator/foreign_objects.hpp"

#include <cmath>

namespace curtail::protocol::simulator {

std::string foreign_header(RunSpec const& run, Commit const& tip, Member const& member, int type)
{
    Header h;
    h.run = run.run;
    h.member = member.id;
    h.seq = member.seq.next();
    h.base_round = tip.round;
    h.ranges = member.held;
    h.tokens = member.held.count() * run.params.block_tokens;
    if (type == 1) h.steps = (std::int64_t{1} << 53) - 1;
    if (type == 2)
        h.delta = {{"d0", delta_name(tip.round, member.id, h.seq), 1, sha256("")}, std::nan("")};
    if (type == 3)
        for (std::int64_t i = 0; i < 300; ++i)
            h.ranges += Ranges::between(1'000'000'000'000 + 2 * i, 1'000'000'000'001 + 2 * i);
    auto const bytes = encode(h).bytes;
    return type == 0 ? "{}" : type == 4 ? bytes.substr(0, bytes.size() / 2) : bytes;
}

std::string foreign_commit(Commit tip, CommitNumber number, bool valid)
{
    tip.run = {"another"};
    tip.number = number;
    tip.parent = sha256("another");
    return valid ? encode(tip).bytes : "{}";
}

std::string foreign_lease(std::int64_t k, int type)
{
    Lease const endless{member_id({{"foreign"}, 7}, {1}), k, Millis{1'000'000'000'000},
                        from_unix_ms(9'000'000'000'000)};
    return type == 0 ? "x" : type == 1 ? "{}" : encode(endless).bytes;
}

}  // namespace curtail::protocol::simulator
