// SPDX-License-Identifier: Apache-2.0
#include "trainer/model/kernels/check_ids.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>

namespace curtail::model {

void check_ids(at::Tensor const& ids, std::int64_t first, std::int64_t end)
{
    if (!ids.is_cpu()) return;
    std::span const all(ids.const_data_ptr<std::int64_t>(), static_cast<std::size_t>(ids.numel()));
    auto const bad = std::find_if(all.begin(), all.end(),
                                  [&](std::int64_t id) { return id < first || id >= end; });
    if (bad != all.end())
        throw std::out_of_range("token id " + std::to_string(*bad) + " is not in [" +
                                std::to_string(first) + ", " + std::to_string(end) + ")");
}

}  // namespace curtail::model
