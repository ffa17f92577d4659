// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "account/files.hpp"
#include "core/digest.hpp"
#include "core/files.hpp"
#include "rounds/names.hpp"
#include "rounds/record.hpp"

namespace curtail::account {
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
    CommitLine line{commit.number.value, kind_of(commit.kind), commit.complete,
                    commit.round.value,  commit.totals.tokens, {},
                    commit.time};
    for (auto const& d : commit.decided)
        line.contributions.push_back(
            {rounds::member_parts(d.member).process.site, d.member.value, d.seq.value, !d.refused,
             d.refused ? rounds::to_text(*d.refused) : "", d.tokens, d.steps, d.norm});
    return line;
}

/// The greatest number of a commit in the folder; 0 if there is none.
std::int64_t highest_commit(std::filesystem::path const& folder)
{
    std::int64_t highest = 0;
    std::error_code error;
    for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
         it.increment(error)) {
        auto const digits = it->path().stem().string();
        bool const number = digits.size() <= 15 &&
                            digits.find_first_not_of("0123456789") == std::string::npos &&
                            !digits.empty();
        if (number && rounds::commit_name({std::stoll(digits)}) ==
                          "commits/" + it->path().filename().string())
            highest = std::max<std::int64_t>(highest, std::stoll(digits));
    }
    return highest;
}

}  // namespace

Result<std::vector<CommitLine>> read_chain(std::filesystem::path const& store, RunId const& run)
{
    std::vector<CommitLine> chain;
    std::optional<Digest> parent;
    auto const folder = store / "runs" / run.value;
    std::int64_t highest = 0;
    for (CommitNumber number{1};; number = number.next()) {
        auto const name = rounds::commit_name(number);
        auto bytes = read_file_if_there(folder / name, rounds::record_bytes_limit);
        if (bytes && !*bytes) {
            // Looks again after the listing, for a run goes on while it is read.
            highest = highest_commit(folder / "commits");
            if (highest < number.value) return chain;
            bytes = read_file_if_there(folder / name, rounds::record_bytes_limit);
        }
        if (!bytes) return tl::unexpected(bytes.error());
        if (!*bytes)
            return fail(
                ExitCode::protocol, "the chain is broken at " + name,
                "this commit is missing, and there is one with the number " +
                    std::to_string(highest),
                "bring the file back from a copy of the store, then run `curtail-status --verify`");
        auto const commit = rounds::decode_commit(**bytes, name);
        if (!commit) return tl::unexpected(commit.error());
        if (parent && commit->parent != *parent)
            return fail(ExitCode::protocol, "the chain is broken at " + name,
                        "it does not follow from the commit before",
                        "run `curtail-status --verify`");
        parent = sha256(**bytes);
        chain.push_back(line_of(*commit));
    }
}

}  // namespace curtail::account
