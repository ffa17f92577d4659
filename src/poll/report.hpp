// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "core/json.hpp"
#include "poll/site.hpp"

namespace curtail::poll {

/// For people: a paragraph per site. In a dry run the actions are what would be done.
[[nodiscard]] std::string explain(std::vector<SiteReport> const& sites, bool dry);
/// The same for programs:
/// `{"sites":[{"site","region","signal_time","intensity_gco2_per_kwh","age_s","provider","phase","window","why",
/// "jobs":[{"job","state","reason","window"}],"actions":[{"action","job","window","why"}],"trouble":[...]}]}`.
[[nodiscard]] json::Value to_json(std::vector<SiteReport> const& sites);

}  // namespace curtail::poll
