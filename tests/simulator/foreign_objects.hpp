// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "protocol/records/names.hpp"
#include "protocol/records/record.hpp"

/// Objects that no program of Curtail writes, under names that a site will read.
namespace curtail::protocol::simulator {

inline constexpr int foreign_header_types = 5;
inline constexpr int foreign_lease_types = 3;

/// An invalid header under the name of the next header of `member`, at the commit `tip`. Type 0 is
/// `{}`, type 1 has 2^53 - 1 steps, and type 2 has NaN as a sum of squares. Type 3 has 300
/// additional ranges, and type 4 is cut in half.
std::string foreign_header(RunSpec const& run, Commit const& tip, Member const& member, int type);

/// An object under the name of commit `number`, which does not follow the commit `tip`: `{}`, or a
/// commit of another run.
std::string foreign_commit(Commit tip, CommitNumber number, bool valid);

/// A foreign lease with number `k`: types 0 and 1 are invalid, type 2 never expires.
std::string foreign_lease(std::int64_t k, int type);

}  // namespace curtail::protocol::simulator
