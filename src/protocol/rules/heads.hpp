// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "protocol/records/record.hpp"

// Which pieces of the sites' journals a commit fixes.
namespace curtail::protocol {

/// Takes in what is known about the journal of `site`. Each head replaces one with a lower number.
/// If `heads` has heads_limit entries, no further stream is added.
void raise_heads(std::map<SiteId, JournalHeads>& heads, SiteId const& site,
                 JournalHeads const& known);

/// Returns the first entry of `before` that `after` does not have, or a later one in its place, as
/// `<site>/<stream>`. Returns an empty text if there is none.
[[nodiscard]] std::string lost_head(std::map<SiteId, JournalHeads> const& before,
                                    std::map<SiteId, JournalHeads> const& after);

}  // namespace curtail::protocol
