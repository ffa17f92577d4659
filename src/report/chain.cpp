#include "core/digest.hpp"
#include "core/files.hpp"
#include "report/run_files.hpp"
#include "rounds/names.hpp"
#include "rounds/record.hpp"

namespace curtail::report {
namespace {

CommitLine::Kind kind_of(rounds::Commit::Kind kind)
{
    switch (kind) {
        case rounds::Commit::Kind::genesis:
            return CommitLine::Kind::genesis;
        case rounds::Commit::Kind::roster:
            return CommitLine::Kind::roster;
        case rounds::Commit::Kind::merge:
            return CommitLine::Kind::merge;
    }
    return CommitLine::Kind::roster;
}

CommitLine line_of(rounds::Commit const& commit)
{
    CommitLine line{commit.number.value, kind_of(commit.kind), commit.complete, commit.round.value, commit.totals.tokens, {}, commit.time};
    for (auto const& d : commit.decided)
        line.contributions.push_back({rounds::member_parts(d.member).process.site, d.member.value, d.seq.value, !d.refused,
                                      d.refused ? rounds::to_text(*d.refused) : "", d.tokens, d.steps, d.norm});
    return line;
}

}  // namespace

Result<std::vector<CommitLine>> read_chain(std::filesystem::path const& store, RunId const& run)
{
    std::vector<CommitLine> chain;
    std::optional<Digest> parent;
    for (CommitNumber number{1};; number = number.next()) {
        auto const name = rounds::commit_name(number);
        auto const bytes = read_file_if_there(store / "runs" / run.value / name, rounds::record_bytes_limit);
        if (!bytes) return tl::unexpected(bytes.error());
        if (!*bytes) return chain;
        auto const commit = rounds::decode_commit(**bytes, name);
        if (!commit) return tl::unexpected(commit.error());
        if (parent && commit->parent != *parent)
            return fail(ExitCode::protocol, "the chain is broken at " + name, "it does not follow from the commit before",
                        "run `curtail-status --verify`");
        parent = sha256(**bytes);
        chain.push_back(line_of(*commit));
    }
}

}  // namespace curtail::report
