// SPDX-License-Identifier: Apache-2.0
#include "chain/chain.hpp"

#include <utility>

#include "rounds/names.hpp"
#include "rounds/reading.hpp"

namespace curtail::chain {
namespace {

constexpr std::int64_t gap_limit = 1000;              // missing commits that a gap may have
constexpr std::int64_t greatest_number = 99'999'999;  // what eight digits can name

Result<bool> has_commit(RunObjects const& objects, CommitNumber number)
{
    return objects.exists(rounds::commit_name(number));
}

// A commit beyond the missing commit `missing`; empty: none within the limit.
Result<std::optional<CommitNumber>> commit_beyond(RunObjects const& objects, CommitNumber missing)
{
    auto const last = std::min(greatest_number, missing.value + gap_limit);
    for (auto number = missing.next(); number.value <= last; number = number.next()) {
        auto const exists = has_commit(objects, number);
        if (!exists) return tl::unexpected(exists.error());
        if (*exists) return std::optional(number);
    }
    return std::optional<CommitNumber>{};
}

// `number` is missing, and `beyond` exists. While sites train, "missing" may be an old answer from
// a client's cache, so this asks again. True: the commit exists now; `protocol`: it is lost.
Result<bool> look_again(RunObjects const& objects, CommitNumber number, CommitNumber beyond)
{
    auto exists = has_commit(objects, number);
    if (!exists || *exists) return exists;
    return fail(ExitCode::protocol, "the chain is broken at " + rounds::commit_name(number),
                "it is missing, but " + rounds::commit_name(beyond) + " exists",
                "restore it from a copy of the store");
}

// Whether the chain has commit `number`; `protocol` if it has a gap there. Without the look beyond
// the end, a chain that lost a commit from its middle would seem shorter, not broken.
Result<bool> continues_with(RunObjects const& objects, CommitNumber number)
{
    auto exists = has_commit(objects, number);
    if (!exists || *exists) return exists;
    auto const beyond = commit_beyond(objects, number);
    if (!beyond) return tl::unexpected(beyond.error());
    return *beyond ? look_again(objects, number, **beyond) : false;
}

// The number of the newest commit, 0 without any; `protocol` if the chain has a gap.
Result<CommitNumber> end_of_chain(RunObjects const& objects)
{
    for (CommitNumber end{0};; end = end.next()) {
        auto const more = continues_with(objects, end.next());
        if (!more) return tl::unexpected(more.error());
        if (!*more) return end;
    }
}

// Commit `number` if it follows from a parent with the digest `parent`, which becomes its own.
// Empty: no such commit.
Result<std::optional<rounds::Commit>> read_link(RunObjects const& objects, CommitNumber number,
                                                std::optional<Digest>& parent)
{
    auto const name = rounds::commit_name(number);
    auto const bytes = objects.record(name);
    if (!bytes) return tl::unexpected(bytes.error());
    if (!*bytes) return std::optional<rounds::Commit>{};
    auto commit = rounds::decode_commit(**bytes, name);
    if (commit && parent && commit->parent != *parent)
        return fail(ExitCode::protocol, "the chain is broken at " + name,
                    "it does not follow from the commit before it",
                    "run `curtail-status --verify`");
    parent = sha256(**bytes);
    return std::move(commit).map([](rounds::Commit&& c) { return std::optional(std::move(c)); });
}

Result<std::vector<rounds::Commit>> read_links(RunObjects const& objects)
{
    std::vector<rounds::Commit> chain;
    std::optional<Digest> parent;
    for (CommitNumber number{1};; number = number.next()) {
        auto commit = read_link(objects, number, parent);
        if (!commit) return tl::unexpected(commit.error());
        if (!*commit) return chain;
        chain.push_back(std::move(**commit));
    }
}

}  // namespace

Result<std::optional<rounds::Commit>> newest_commit(RunObjects const& objects)
{
    std::optional<rounds::Commit> newest;
    CommitNumber found;
    CommitNumber missing;
    for (;;) {
        auto const number = rounds::next_to_read(found, missing);
        auto commit = objects.commit(number);
        if (!commit) return commit;
        if (*commit) {
            found = number;
            newest = std::move(*commit);
        } else if (number == found.next()) {
            return newest;
        } else {
            missing = number;
        }
    }
}

Result<std::vector<rounds::Commit>> read_chain(RunObjects const& objects, Check check)
{
    auto const end = end_of_chain(objects);
    if (!end) return tl::unexpected(end.error());
    if (end->value == 0) return std::vector<rounds::Commit>{};
    auto chain = check == Check::rules ? read_checked_chain(objects.source()) : read_links(objects);
    if (chain && std::ssize(*chain) < end->value)
        return fail(ExitCode::temporary,
                    "cannot read " + rounds::commit_name({std::ssize(*chain) + 1}),
                    "the store showed it and then did not find it", "try again");
    return chain;
}

Result<ChainSummary> verify_run(RunObjects const& objects)
{
    if (auto const end = end_of_chain(objects); !end) return tl::unexpected(end.error());
    return verify_objects(objects.source());
}

}  // namespace curtail::chain
