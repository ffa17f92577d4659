// SPDX-License-Identifier: Apache-2.0
#include "simulator/foreign_objects.hpp"

#include <cmath>

#include "simulator/edited_record.hpp"

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
    h.delta = {{"d0", delta_name(tip.round, member.id, h.seq), 1, sha256("")}, 0.5};
    auto const bytes = encode(h).bytes;
    switch (type) {
        case 0:
            return "{}";
        case 1:
            return edited_record(bytes, R"("steps":0)", R"("steps":9007199254740991)");
        case 2:
            return edited_record(bytes, exact(0.5), exact(std::nan("")));
        case 3: {
            Ranges wide;
            for (std::int64_t i = 0; i < 300; ++i)
                wide += Ranges::between(1'000'000'000'000 + 2 * i, 1'000'000'000'001 + 2 * i);
            auto const text = [](Ranges const& ranges) {
                return R"("ranges":)" + json::canonical(ranges.to_json());
            };
            return edited_record(bytes, text(h.ranges), text(wide));
        }
        default:
            return bytes.substr(0, bytes.size() / 2);
    }
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
