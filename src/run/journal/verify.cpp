// SPDX-License-Identifier: Apache-2.0
#include "run/journal/verify.hpp"

#include <fmt/format.h>

#include <set>

#include "run/journal/closing.hpp"

namespace curtail::journal {
namespace {

// Fails if the chain lacks the commit that a closing names.
Result<void> check_commit(protocol::Closing const& closing, std::vector<Digest> const& commits)
{
    if (fits(closing.commit, commits)) return {};
    return fail(ExitCode::protocol, "the chain contradicts a closing",
                fmt::format("closing {} of site {} names commit {}, which is missing or another",
                            closing.number, closing.site.value, closing.commit->number.value),
                "restore the commits from a copy of the store");
}

// The sites that a run has or had: an amendment may have added or removed some.
std::vector<SiteId> sites_of(chain::ChainSummary const& chain)
{
    std::set<SiteId> sites(chain.run.sites.begin(), chain.run.sites.end());
    sites.insert(chain.tip.terms.sites.begin(), chain.tip.terms.sites.end());
    for (auto const& [site, share] : chain.sites) sites.insert(site);
    return {sites.begin(), sites.end()};
}

}  // namespace

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
                            "run `curtail-store repair` where the site's logs are, or restore it "
                            "from a copy of the store; without it, the bill of the run is "
                            "incomplete");
            summary.streams += content->pieces > 0 ? 1 : 0;
            summary.pieces += content->pieces;
            summary.bytes += std::ssize(content->text);
            summary.fixed += static_cast<std::int64_t>(content->fixed);
            if (auto log =
                    log_digest(site, stream, content->text, content->lacks_lines, content->clock))
                summary.logs.push_back(std::move(*log));
        }
        summary.sites += summary.streams > streams_before ? 1 : 0;
    }
    return summary;
}

Result<VerifiedJournal> verify_journals(std::shared_ptr<store::ObjectStore> const& store,
                                        chain::ChainSummary const& chain)
{
    RunNamedPieces named;
    for (auto const& [number, heads] : chain.heads) add_named_pieces(named, number, heads);
    VerifiedJournal verified;
    auto const sites = sites_of(chain);
    for (auto const& site : sites) {
        auto const closing = newest_closing(*store, chain.run.run, site);
        if (!closing) return tl::unexpected(closing.error());
        if (!*closing) continue;
        if (auto good = check_commit(**closing, chain.digests); !good)
            return tl::unexpected(good.error());
        add_named_pieces(named, **closing);
        ++verified.closings;
    }
    Reader const reader(store, chain.run.run, Cache({}), {}, std::move(named));
    auto summary = verify_journals(reader, sites);
    if (!summary) return tl::unexpected(summary.error());
    verified.summary = std::move(*summary);
    verified.run_digest =
        run_digest({chain.run.run, protocol::CommitRef{chain.tip.number, chain.digests.back()},
                    verified.summary.logs});
    return verified;
}

}  // namespace curtail::journal
