#include "rounds/verify.hpp"

#include <set>

#include "rounds/check.hpp"
#include "rounds/names.hpp"
#include "rounds/next.hpp"

namespace curtail::rounds {
namespace {

tl::unexpected<Error> wrong(std::string const& name, std::string why)
{
    return fail(ExitCode::protocol, "the run in the store is not sound: " + name, std::move(why));
}

Result<std::string> must_get(VerifySource const& source, std::string const& name)
{
    auto bytes = source.record(name);
    if (!bytes) return tl::unexpected(bytes.error());
    if (!*bytes) return wrong(name, "there is no such object");
    return std::move(**bytes);
}

/// run.json and its digest.
Result<std::pair<RunSpec, Digest>> read_run(VerifySource const& source)
{
    auto const bytes = must_get(source, run_name);
    if (!bytes) return tl::unexpected(bytes.error());
    auto run = decode_run(*bytes);
    if (!run) return tl::unexpected(run.error());
    return std::pair{std::move(*run), sha256(*bytes)};
}

Result<std::vector<Commit>> read_commits(VerifySource const& source, RunSpec const& run, Digest parent)
{
    std::vector<Commit> chain;
    for (CommitNumber number{1};; number = number.next()) {
        auto const name = commit_name(number);
        auto const bytes = source.record(name);
        if (!bytes) return tl::unexpected(bytes.error());
        if (!*bytes) break;
        auto commit = decode_commit(**bytes, name);
        if (!commit) return tl::unexpected(commit.error());
        auto const error = chain.empty() ? check_genesis(run, parent, *commit) : check(run, chain.back(), parent, *commit);
        if (error) return tl::unexpected(*error);
        parent = sha256(**bytes);
        chain.push_back(std::move(*commit));
    }
    if (chain.empty()) return wrong(commit_name({1}), "there is no such object");
    return chain;
}

class Verifier {
  public:
    Verifier(VerifySource const& source, ChainSummary& summary) : source_(source), summary_(summary)
    {
        oldest_kept_ = summary.tip.round.value - summary.run.params.keep_models + 1;
    }

    Result<void> commit(Commit const& c)
    {
        if (auto good = decisions(c); !good) return good;
        if (c.kind == Commit::Kind::roster) return {};
        auto const every = summary_.run.params.milestone_every;
        bool const kept = c.round.value >= oldest_kept_;
        bool const milestone = every > 0 && c.round.value % every == 0;
        if (auto good = payloads(c.model.parts, kept || milestone); !good) return good;
        return c.outer ? payloads(c.outer->parts, kept) : Result<void>{};
    }

  private:
    Result<void> decisions(Commit const& c)
    {
        for (auto const& d : c.decided) {
            auto const name = header_name(d.member, d.seq);
            if (!d.refused && ledger_.overlaps(d.ranges)) return wrong(commit_name(c.number), "includes blocks a second time: " + name);
            if (!d.refused) {
                ledger_ += d.ranges;
                tokens_ += d.tokens;
            }
            if (d.inlined) continue;
            if (auto good = contribution(c, d, name); !good) return good;
        }
        if (c.totals.tokens != tokens_) return wrong(commit_name(c.number), "totals are not the sum of contributions");
        if (c.done != ledger_) return wrong(commit_name(c.number), "done is not the union of contributions");
        return {};
    }

    Result<void> contribution(Commit const& c, Decided const& d, std::string const& name)
    {
        auto const bytes = must_get(source_, name);
        if (!bytes) return tl::unexpected(bytes.error());
        if (sha256(*bytes) != *d.header) return wrong(name, "its digest is not the one in commit " + std::to_string(c.number.value));
        ++summary_.headers;
        if (d.refused == Refusal::digest) return {};
        auto const header = decode_header(*bytes, name);
        if (!header) return tl::unexpected(header.error());
        if (header->ranges != d.ranges || header->tokens != d.tokens || header->steps != d.steps)
            return wrong(name, "its work is not what commit " + std::to_string(c.number.value) + " decided");
        std::vector<PartRef> parts;
        for (auto const& part : header->parts) parts.push_back(part.payload);
        return payloads(parts, c.round.value >= oldest_kept_);
    }

    Result<void> payloads(std::vector<PartRef> const& parts, bool kept)
    {
        for (auto const& part : parts) {
            if (seen_.contains(part.name)) continue;
            auto const facts = source_.payload(part.name);
            if (!facts) return tl::unexpected(facts.error());
            if (!*facts && kept) return wrong(part.name, "the chain names this object, but it is not there");
            if (!*facts) continue;
            if ((*facts)->bytes != part.bytes || (*facts)->sha256 != part.sha256)
                return wrong(part.name, "its bytes are not those that the chain names");
            seen_.insert(part.name);
            ++summary_.payloads;
        }
        return {};
    }

    VerifySource const& source_;
    ChainSummary& summary_;
    std::int64_t oldest_kept_;
    std::int64_t tokens_{0};
    Ranges ledger_;
    std::set<std::string> seen_;
};

void count(ChainSummary& s, Commit const& c)
{
    ++s.commits;
    if (c.kind == Commit::Kind::roster) ++s.rosters;
    for (auto const& m : c.members)
        if (member_parts(m.id).admitted == c.number) ++s.members;
    std::set<SiteId> sites;
    bool lone = false;
    for (auto const& d : c.decided) {
        auto const site = member_parts(d.member).process.site;
        auto& share = s.sites[site];
        if (d.refused) {
            ++share.refused;
            ++s.refused;
        }
        if (d.refused || d.ranges.empty()) continue;
        share.tokens += d.tokens;
        ++share.contributions;
        sites.insert(site);
        lone = lone || d.inlined;
    }
    if (c.kind != Commit::Kind::merge) return;
    ++s.merges;
    if (lone) ++s.lone;
    if (sites.size() >= 2) ++s.averaged;
}

}  // namespace

Result<std::vector<Commit>> read_chain(VerifySource const& source)
{
    auto const run = read_run(source);
    if (!run) return tl::unexpected(run.error());
    return read_commits(source, run->first, run->second);
}

Result<ChainSummary> verify(VerifySource const& source)
{
    auto run = read_run(source);
    if (!run) return tl::unexpected(run.error());
    auto const chain = read_commits(source, run->first, run->second);
    if (!chain) return tl::unexpected(chain.error());
    ChainSummary summary;
    summary.run = std::move(run->first);
    summary.tip = chain->back();
    Verifier verifier(source, summary);
    for (auto const& commit : *chain) {
        if (auto good = verifier.commit(commit); !good) return tl::unexpected(good.error());
        count(summary, commit);
    }
    return summary;
}

}  // namespace curtail::rounds
