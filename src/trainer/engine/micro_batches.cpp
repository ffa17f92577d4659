// SPDX-License-Identifier: Apache-2.0
#include "trainer/engine/micro_batches.hpp"

#include <algorithm>

namespace curtail::trainer {

data::RowRange MicroBatch::share_of(int rank, int ranks) const
{
    auto const share = data::rows_of_rank(rows.size(), rank, ranks);
    return {rows.begin + share.begin, rows.begin + share.end};
}

std::vector<MicroBatch> micro_batches(BatchShape const& shape)
{
    auto const most = shape.ranks * shape.device_rows;
    auto const unit = std::max<std::int64_t>(1, most / shape.rows_per_block) * shape.rows_per_block;
    auto const pieces = (shape.rows_per_block + most - 1) / most;
    auto const end = shape.blocks * shape.rows_per_block;
    std::vector<MicroBatch> all;
    for (std::int64_t begin = 0; begin < end; begin += unit) {
        auto const size = std::min(unit, end - begin);
        for (std::int64_t piece = 0; piece < pieces; ++piece)
            all.push_back(
                {{begin + size * piece / pieces, begin + size * (piece + 1) / pieces}, piece == 0});
    }
    return all;
}

}  // namespace curtail::trainer
