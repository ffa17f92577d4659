// SPDX-License-Identifier: Apache-2.0
#include "operate/copy_list.hpp"

#include <set>

#include "protocol/chain/pending.hpp"
#include "protocol/records/names.hpp"
#include "protocol/upkeep/kept_rounds.hpp"

namespace curtail::operate {
namespace {

// Collects the names of the headers and payloads that a chain refers to.
class Collector {
  public:
    Collector(chain::RunObjects const& from, CopyList& list) : from_(from), list_(list)
    {
        for (auto const& link : list.chain) kept_.add(link.commit);
    }

    Result<void> commit(protocol::Commit const& commit)
    {
        bool const kept = kept_.keeps(commit.round);
        if (commit.kind != protocol::Commit::Kind::roster) {
            if (kept_.keeps_weights(commit.round)) payload(commit.model.weights);
            if (kept && commit.outer) payload(commit.outer->momentum);
        }
        for (auto const& d : commit.decided)
            if (auto added = decided(d, kept); !added) return added;
        return {};
    }

    // Contributions that the next commits may include.
    Result<void> pending(protocol::Member const& member)
    {
        auto const found = chain::pending_headers(from_, member);
        if (!found) return tl::unexpected(found.error());
        for (auto const& header : found->headers) {
            auto const name = protocol::header_name(header.member, header.seq);
            auto bytes = from_.record(name);
            if (!bytes) return tl::unexpected(bytes.error());
            if (!*bytes) continue;  // somebody has removed it meanwhile
            list_.headers.push_back({name, sha256(**bytes), std::move(**bytes)});
            if (header.delta) list_.pending.push_back(header.delta->payload);
        }
        return {};
    }

  private:
    void payload(protocol::PartRef const& part)
    {
        if (seen_.insert(part.name).second) list_.payloads.push_back(part);
    }

    Result<void> decided(protocol::ContributionDecision const& d, bool kept)
    {
        if (!d.header) return {};
        RecordToCopy record{protocol::header_name(d.member, d.seq), *d.header};
        if (kept && !d.refused && !d.ranges.empty())
            if (auto read = delta_of(record); !read) return read;
        list_.headers.push_back(std::move(record));
        return {};
    }

    // Only the header names the delta.
    Result<void> delta_of(RecordToCopy& record)
    {
        auto bytes = from_.record(record.name);
        if (!bytes) return tl::unexpected(bytes.error());
        if (!*bytes || sha256(**bytes) != record.sha256)
            return fail(ExitCode::protocol, "cannot copy " + record.name,
                        *bytes ? "its digest differs from the one in the chain" : "it is missing",
                        "verify the source with `curtail-store verify`");
        auto const header = protocol::decode_header(**bytes, record.name);
        if (!header) return tl::unexpected(header.error());
        if (header->delta) payload(header->delta->payload);
        record.bytes = std::move(**bytes);
        return {};
    }

    chain::RunObjects const& from_;
    CopyList& list_;
    upkeep::KeptRounds kept_;
    std::set<std::string> seen_;
};

// The amendments that the run has taken in.
Result<void> amendments(chain::RunObjects const& from, CopyList& list)
{
    auto const& amended = list.chain.back().commit.amended;
    for (std::int64_t n = 1; amended && n <= amended->number; ++n) {
        auto const name = protocol::amendment_name(n);
        auto bytes = from.record(name);
        if (!bytes) return tl::unexpected(bytes.error());
        if (*bytes) list.headers.push_back({name, sha256(**bytes), std::move(**bytes)});
    }
    return {};
}

}  // namespace

Result<CheckedRun> read_checked(chain::RunObjects const& from, char const* act)
{
    auto const start = from.cache() != nullptr ? from.cache()->greatest_commit() : CommitNumber{0};
    auto newest = chain::search_end(from, start);
    if (!newest) return tl::unexpected(newest.error());
    if (!*newest)
        return fail(ExitCode::no_input, std::string("cannot ") + act + " run " + from.run().value,
                    "the source has no commit of it", "check the name of the run and the store");
    auto chain = chain::read_commits(from, std::move(**newest), chain::UseCache::yes);
    if (!chain) return tl::unexpected(chain.error());
    auto run = chain::read_run(from.source());
    if (!run) return tl::unexpected(run.error());
    if (auto good = chain::check_commits(*run, *chain); !good) return tl::unexpected(good.error());
    return CheckedRun{std::move(run->run), std::move(run->bytes), std::move(*chain)};
}

Result<CopyList> list_copy(chain::RunObjects const& from)
{
    auto source = read_checked(from, "copy");
    if (!source) return tl::unexpected(source.error());
    CopyList list;
    list.chain = std::move(source->chain);
    list.run = std::move(source->bytes);
    if (auto added = amendments(from, list); !added) return tl::unexpected(added.error());
    Collector collector(from, list);
    for (auto const& link : list.chain)
        if (auto added = collector.commit(link.commit); !added)
            return tl::unexpected(added.error());
    for (auto const& member : list.chain.back().commit.members)
        if (auto added = collector.pending(member); !added) return tl::unexpected(added.error());
    return list;
}

}  // namespace curtail::operate
