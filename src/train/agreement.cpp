#include "train/agreement.hpp"

namespace curtail::train {

Result<void> agree(comm::Collectives& ranks, Result<void> const& mine)
{
    int const who = ranks.all_agree_max(mine ? -1 : ranks.rank());
    if (who < 0) return {};
    int const code = ranks.all_agree_max(who == ranks.rank() ? static_cast<int>(mine.error().code) : 0);
    auto const words = comm::broadcast_text(ranks, mine ? "" : mine.error().message(), who);
    return fail(static_cast<ExitCode>(code), who == 0 ? "" : "rank " + std::to_string(who), words);
}

}  // namespace curtail::train
