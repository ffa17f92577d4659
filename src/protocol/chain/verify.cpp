// SPDX-License-Identifier: Apache-2.0
#include "protocol/chain/verify.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "protocol/records/names.hpp"
#include "protocol/records/reading.hpp"
#include "protocol/records/terms.hpp"
#include "protocol/rules/check.hpp"
#include "protocol/rules/decided_work.hpp"
#include "protocol/rules/heads.hpp"
#include "protocol/rules/refusal.hpp"
#include "protocol/upkeep/kept_rounds.hpp"

namespace curtail::chain {

using namespace protocol;

namespace {

tl::unexpected<Error> wrong(std::string const& name, std::string why)
{
    return fail(ExitCode::protocol, "the stored run is invalid: " + name, std::move(why));
}

class Verifier {
  public:
    Verifier(VerifySource const& source, std::vector<LinkedCommit> const& chain,
             ChainSummary& summary)
        : source_(source), summary_(summary)
    {
        for (auto const& link : chain) kept_.add(link.commit);
    }

    // `parent` is null for commit 1, which decides nothing. That of a fork begins with work.
    Result<void> commit(Commit const* parent, Commit const& c)
    {
        if (parent == nullptr) {
            tokens_ = c.totals.tokens;
            ledger_ = c.done;
        } else if (auto good = decisions(*parent, c); !good) {
            return good;
        }
        if (c.kind == Commit::Kind::roster) return {};
        if (auto good = payload(c.model.weights, kept_.keeps_weights(c.round)); !good) return good;
        return c.outer ? payload(c.outer->momentum, kept_.keeps(c.round)) : Result<void>{};
    }

  private:
    Result<void> decisions(Commit const& parent, Commit const& c)
    {
        std::map<MemberId, Ranges> held;
        for (auto const& m : parent.members) held[m.id] = m.held;
        heads_ = parent.heads;
        unknown_heads_.clear();
        for (auto const& d : c.decided) {
            if (auto good = count_work(c, d); !good) return good;
            if (!d.inlined)
                if (auto good = contribution(parent, held[d.member], c, d); !good) return good;
            held[d.member] -= d.ranges;
        }
        if (c.totals.tokens != tokens_)
            return wrong(commit_name(c.number), "totals must be the sum of contributions");
        if (c.done != ledger_)
            return wrong(commit_name(c.number), "done must be the union of contributions");
        return heads(c);
    }

    // Only the site of the writer may have more than the headers say.
    Result<void> heads(Commit const& c)
    {
        auto const lost = lost_head(heads_, c.heads);
        if (!lost.empty())
            return wrong(commit_name(c.number),
                         "does not name the piece of journal/" + lost + " that a header names");
        auto rest = c.heads;
        for (auto const& site : unknown_heads_) rest.erase(site);
        rest.erase(member_parts(c.by.member).process.site);
        auto const added = lost_head(rest, heads_);
        if (added.empty()) return {};
        return wrong(commit_name(c.number),
                     "names a piece of journal/" + added + " that no header names");
    }

    Result<void> count_work(Commit const& c, ContributionDecision const& d)
    {
        if (d.refused) return {};
        if (ledger_.overlaps(d.ranges))
            return wrong(commit_name(c.number),
                         "includes blocks a second time: " + header_name(d.member, d.seq));
        ledger_ += d.ranges;
        tokens_ += d.tokens;
        return {};
    }

    // The model does not contain a refused contribution: its header only needs the right digest.
    Result<void> contribution(Commit const& parent, Ranges const& held, Commit const& c,
                              ContributionDecision const& d)
    {
        auto const name = header_name(d.member, d.seq);
        auto const bytes = source_.record(name);
        if (!bytes && bytes.error().code != ExitCode::protocol)
            return tl::unexpected(bytes.error());
        if (!bytes) return lost(d, bytes.error().message());
        if (!*bytes) return lost(d, "the object is missing");
        auto const header = decode_header(**bytes, name);
        if (!header) return lost(d, header.error().message());
        if (sha256(**bytes) != *d.header)
            return wrong(name, "its digest differs from the one in " + text_of(c));
        ++summary_.headers;
        raise_heads(heads_, member_parts(d.member).process.site, header->heads);
        if (d.refused) return {};
        if (auto const reason = refusal(in_force(summary_.run, parent), parent, held, *header))
            return wrong(name,
                         text_of(c) + " includes it, but must refuse it: " + to_text(*reason));
        return included(c, d, *header);
    }

    Result<void> lost(ContributionDecision const& d, std::string why)
    {
        summary_.lost.push_back({header_name(d.member, d.seq), std::move(why)});
        unknown_heads_.insert(member_parts(d.member).process.site);
        return {};
    }

    Result<void> included(Commit const& c, ContributionDecision const& d, Header const& header)
    {
        auto const differing = differing_work(c, d, header);
        if (!differing.empty())
            return wrong(header_name(d.member, d.seq),
                         "its " + differing + " contradicts " + text_of(c));
        if (!header.delta) return {};
        return payload(header.delta->payload, kept_.keeps(c.round));
    }

    static std::string text_of(Commit const& c)
    {
        return "commit " + std::to_string(c.number.value);
    }

    Result<void> payload(PartRef const& part, bool kept)
    {
        if (auto const seen = seen_.find(part.name); seen != seen_.end()) {
            if (seen->second == part) return {};
            return wrong(part.name, "the chain names this object with two contents");
        }
        if (!kept && source_.may_exist && !source_.may_exist(part.name)) return {};
        auto const facts = source_.payload(part.name);
        if (!facts) return tl::unexpected(facts.error());
        if (!*facts && kept)
            return wrong(part.name, "the chain names this object, but it is missing");
        if (!*facts) return {};
        if ((*facts)->bytes != part.bytes || (*facts)->sha256 != part.sha256)
            return wrong(part.name, "its bytes differ from those that the chain names");
        seen_.emplace(part.name, part);
        ++summary_.payloads;
        return {};
    }

    VerifySource const& source_;
    ChainSummary& summary_;
    upkeep::KeptRounds kept_;
    Tokens tokens_;
    Ranges ledger_;
    std::map<SiteId, JournalHeads> heads_;  // those that the commit must name
    std::set<SiteId> unknown_heads_;        // of lost headers
    std::map<std::string, PartRef> seen_;   // checked payloads
};

void count_merge(ChainSummary& s, Commit const& c)
{
    std::set<SiteId> sites;
    bool lone = false;
    for (auto const& d : c.decided) {
        if (d.refused || d.ranges.empty()) continue;
        sites.insert(member_parts(d.member).process.site);
        lone = lone || d.inlined;
    }
    ++s.merges;
    if (lone) ++s.lone;
    if (sites.size() >= 2) ++s.averaged;
}

void count(ChainSummary& s, Commit const& c)
{
    ++s.commits;
    if (c.kind == Commit::Kind::roster) ++s.rosters;
    for (auto const& m : c.members)
        if (member_parts(m.id).admitted == c.number) ++s.members;
    for (auto const& d : c.decided) {
        auto& share = s.sites[member_parts(d.member).process.site];
        share.refused += d.refused ? 1 : 0;
        s.refused += d.refused ? 1 : 0;
        if (d.refused || d.ranges.empty()) continue;
        share.tokens += d.tokens;
        ++share.contributions;
    }
    if (c.kind == Commit::Kind::merge) count_merge(s, c);
}

}  // namespace

Result<StoredRun> read_run(VerifySource const& source)
{
    auto bytes = source.record(run_name);
    if (!bytes) return tl::unexpected(bytes.error());
    if (!*bytes) return wrong(run_name, "the object is missing");
    auto run = decode_run(**bytes);
    if (!run) return tl::unexpected(run.error());
    auto const digest = sha256(**bytes);
    return StoredRun{std::move(*run), digest, std::move(**bytes)};
}

Result<void> check_commits(StoredRun const& run, std::vector<LinkedCommit> const& chain)
{
    LinkedCommit const* parent = nullptr;
    for (auto const& commit : chain) {
        auto const error = parent == nullptr
                               ? check_genesis(run.run, run.sha256, commit.commit)
                               : check(run.run, parent->commit, parent->sha256, commit.commit);
        if (error) return tl::unexpected(*error);
        parent = &commit;
    }
    return {};
}

Result<ChainSummary> verify_chain(StoredRun const& run, std::vector<LinkedCommit> const& chain,
                                  VerifySource const& source,
                                  std::function<void(std::int64_t done)> const& progress)
{
    if (chain.empty()) return wrong(commit_name({1}), "the object is missing");
    if (auto good = check_commits(run, chain); !good) return tl::unexpected(good.error());
    ChainSummary summary;
    summary.tip = chain.back().commit;
    summary.run = in_force(run.run, summary.tip);
    Verifier verifier(source, chain, summary);
    Commit const* parent = nullptr;
    for (auto const& [commit, sha256] : chain) {
        if (auto good = verifier.commit(parent, commit); !good) return tl::unexpected(good.error());
        count(summary, commit);
        summary.digests.push_back(sha256);
        if (parent == nullptr || parent->heads != commit.heads)
            summary.heads.emplace_back(commit.number, commit.heads);
        parent = &commit;
        if (progress) progress(commit.number.value);
    }
    return summary;
}

}  // namespace curtail::chain
