// SPDX-License-Identifier: Apache-2.0
#include "poller/signals/trace_provider.hpp"

namespace curtail::signals {

Answer TraceProvider::samples(RegionId const& region, Time from, Time to)
{
    auto found = trace_.samples(region, from, to);
    if (!found) return {{}, found.error()};
    return {std::move(*found), {}};
}

}  // namespace curtail::signals
