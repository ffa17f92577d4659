// SPDX-License-Identifier: Apache-2.0
#include "trainer/engine/fail_together.hpp"

namespace curtail::trainer {

Result<void> fail_together(comm::Collectives& ranks, Result<void> const& mine)
{
    int const failed = ranks.all_reduce_max(mine ? -1 : ranks.rank());
    if (failed < 0) return {};
    int const code =
        ranks.all_reduce_max(failed == ranks.rank() ? static_cast<int>(mine.error().code) : 0);
    auto const broadcast = [&](std::string Error::*part) {
        return comm::broadcast_text(ranks, mine ? "" : mine.error().*part, failed);
    };
    auto what = broadcast(&Error::what);
    auto why = broadcast(&Error::why);
    auto remedy = broadcast(&Error::remedy);
    if (failed != 0) what = "rank " + std::to_string(failed) + ": " + what;
    return fail(static_cast<ExitCode>(code), std::move(what), std::move(why), std::move(remedy));
}

}  // namespace curtail::trainer
