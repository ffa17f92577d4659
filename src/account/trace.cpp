// SPDX-License-Identifier: Apache-2.0
#include "account/trace.hpp"

namespace curtail::account {

std::vector<RegionTrace> by_region(signals::Trace const& trace)
{
    std::vector<RegionTrace> out;
    for (std::size_t column = 0; column < trace.regions().size(); ++column) {
        RegionTrace region{trace.regions()[column], {}};
        for (auto const& row : trace.rows())
            region.points.push_back({row.time, row.cells.at(column)});
        out.push_back(std::move(region));
    }
    return out;
}

}  // namespace curtail::account
