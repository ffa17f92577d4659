// SPDX-License-Identifier: Apache-2.0
#include "train/agreement.hpp"

namespace curtail::train {

Result<void> agree(comm::Collectives& ranks, Result<void> const& mine)
{
    int const who = ranks.all_reduce_max(mine ? -1 : ranks.rank());
    if (who < 0) return {};
    int const code =
        ranks.all_reduce_max(who == ranks.rank() ? static_cast<int>(mine.error().code) : 0);
    auto const words = [&](std::string Error::*part) {
        return comm::broadcast_text(ranks, mine ? "" : mine.error().*part, who);
    };
    auto what = words(&Error::what);
    auto why = words(&Error::why);
    auto remedy = words(&Error::remedy);
    if (who != 0) what = "rank " + std::to_string(who) + ": " + what;
    return fail(static_cast<ExitCode>(code), std::move(what), std::move(why), std::move(remedy));
}

}  // namespace curtail::train
