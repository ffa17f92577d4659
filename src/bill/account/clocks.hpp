// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "bill/account/files.hpp"

namespace curtail::account {

/// Corrects the times of a site's records where the clock of its machine was set back while a
/// trainer ran. Each record of a trainer also has the time of the monotonic clock, which nobody
/// sets. The first record of each trainer counts as right. Returns by how much the clock was set
/// back at most; 0 if nothing was corrected. A trainer of an earlier version logged no such times.
[[nodiscard]] Millis correct_times(SiteFiles& site);

}  // namespace curtail::account
