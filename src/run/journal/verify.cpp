// SPDX-License-Identifier: Apache-2.0
#include "run/journal/verify.hpp"

namespace curtail::journal {

Result<JournalSummary> verify_journals(Reader const& reader, std::vector<SiteId> const& sites)
{
    JournalSummary summary;
    for (auto const& site : sites) {
        auto const streams_before = summary.streams;
        for (auto const stream : all_streams) {
            auto const content = reader.read(site, stream);
            if (!content) return tl::unexpected(content.error());
            if (!content->problems.empty())
                return fail(ExitCode::protocol, "the chain is sound, but the journal is not",
                            content->problems.front(),
                            "restore it from a copy of the store; without it, the bill of the run "
                            "is incomplete");
            summary.streams += content->pieces > 0 ? 1 : 0;
            summary.pieces += content->pieces;
            summary.bytes += std::ssize(content->text);
        }
        summary.sites += summary.streams > streams_before ? 1 : 0;
    }
    return summary;
}

}  // namespace curtail::journal
