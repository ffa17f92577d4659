// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/core/units.hpp"
#include "protocol/records/record.hpp"

namespace curtail::trainer {

/// How far a site's own training has come. In a run, `tokens` and `steps` are only counts that each
/// instance continues: the newest commit determines the site's weights and blocks.
struct Position {
    Tokens tokens{};        ///< number of tokens trained, over all instances of the trainer
    std::int64_t steps{};   ///< number of optimizer steps, over all instances of the trainer
    protocol::Rate rate{};  ///< measured speed, for the next instance
};

}  // namespace curtail::trainer
