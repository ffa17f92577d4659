// SPDX-License-Identifier: Apache-2.0
#include "trainer/engine/loss_watch.hpp"

#include <cmath>

namespace curtail::trainer {

LossWatch::LossWatch(std::int64_t vocabulary)
    : uniform_loss_(std::log(static_cast<double>(vocabulary)))
{
}

bool LossWatch::add(std::optional<double> loss)
{
    if (++steps_ <= ignored_steps) return false;
    bool const is_high = !loss || *loss >= uniform_loss_;
    high_ = is_high ? high_ + 1 : 0;
    if (reported_ || high_ < reported_steps) return false;
    reported_ = true;
    return true;
}

}  // namespace curtail::trainer
