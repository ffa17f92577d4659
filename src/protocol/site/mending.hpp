// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>

#include "protocol/records/record.hpp"
#include "protocol/site/phase.hpp"

namespace curtail::protocol::site {

/// Commits that the store has lost and that this process creates again from its copies.
struct Mending {
    Phase back{Phase::run};  ///< the phase that continues
    bool due{};              ///< in the state `run`: look for lost commits
    CommitNumber told;       ///< highest lost commit that a note has named; 0: none
    /// Objects after the tip that are no commits of the run. Somebody may remove one, and a commit
    /// may get its number. So each attempt to commit reads them again.
    std::map<CommitNumber, Digest> foreign;
    Ranges passed;   ///< the numbers of those that this attempt has read
    Ranges missing;  ///< all lost commits, as far as known
    /// The numbers of the highest lost commits without a gap between them.
    CommitNumber first, last;
    CommitNumber number;                         ///< of the commit whose copy to read next
    Digest sha256;                               ///< of that commit, as its successor names it
    std::map<CommitNumber, std::string> copies;  ///< checked, not yet created again
};

}  // namespace curtail::protocol::site
