// SPDX-License-Identifier: Apache-2.0
#include "protocol/records/reading.hpp"

#include <algorithm>

namespace curtail::protocol {

CommitNumber next_to_read(CommitNumber found, CommitNumber missing)
{
    if (missing.value == 0) return {std::max<std::int64_t>(1, found.value * 2)};
    return {found.value + std::max<std::int64_t>(1, (missing.value - found.value) / 2)};
}

bool is_suspect(Params const& params, Member const& member, Time now)
{
    return now - member.seen > params.drop_after + params.skew;
}

}  // namespace curtail::protocol
