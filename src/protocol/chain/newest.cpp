// SPDX-License-Identifier: Apache-2.0
#include "protocol/chain/newest.hpp"

#include "base/core/text.hpp"
#include "protocol/records/names.hpp"
#include "protocol/records/reading.hpp"

namespace curtail::chain {
namespace {

// The search of protocol::next_to_read(), which counts from commit `start`.
class Search {
  public:
    explicit Search(CommitNumber start) : start_(start.value) {}

    [[nodiscard]] CommitNumber next() const
    {
        return {start_ + protocol::next_to_read(found_, missing_).value};
    }
    void exists(CommitNumber number) { found_ = {number.value - start_}; }
    void is_missing(CommitNumber number) { missing_ = {number.value - start_}; }
    [[nodiscard]] bool has_ended() const { return missing_ == found_.next(); }

  private:
    std::int64_t start_;
    CommitNumber found_{0};    // after `start_`
    CommitNumber missing_{0};  // after `start_`; 0: none yet
};

}  // namespace

Result<protocol::Ranges> listed_commits(RunObjects const& objects, CommitNumber after)
{
    auto const folder = store::ObjectFolder::parse("runs/" + objects.run().value + "/commits");
    if (!folder) return tl::unexpected(folder.error());
    auto const before = folder->text().size() + 1;
    auto const name_of = [&](CommitNumber n) {
        return folder->text() + "/" + protocol::commit_name(n).substr(sizeof "commits");
    };
    protocol::Ranges numbers;
    auto const listed = objects.store().list(
        *folder, name_of(after),
        [&](store::ListedObject const& object) {
            CommitNumber const n{leading_integer(object.name.substr(before)).value_or(0)};
            if (n > after && n <= greatest_number && name_of(n) == object.name)
                numbers += protocol::Ranges::between(n.value, n.value + 1);
            return true;
        },
        objects.call());
    if (!listed) return tl::unexpected(listed.error());
    return numbers;
}

tl::unexpected<Error> gap_at(protocol::Ranges const& missing, CommitNumber beyond)
{
    return fail(ExitCode::protocol, "the chain is broken",
                protocol::commit_names(missing) +
                    (missing.count() == 1 ? " is missing, but " : " are missing, but ") +
                    protocol::commit_name(beyond) + " exists",
                repair_remedy);
}

Result<std::optional<StoredCommit>> read_commit(RunObjects const& objects, CommitNumber number)
{
    auto const name = protocol::commit_name(number);
    auto const damaged = [](Error error) {
        if (error.code == ExitCode::protocol) error.remedy = repair_remedy;
        return tl::unexpected(std::move(error));
    };
    auto bytes = objects.record(name);
    if (!bytes) return damaged(bytes.error());
    if (!*bytes) return std::optional<StoredCommit>{};
    auto commit = protocol::decode_commit(**bytes, name);
    if (!commit) return damaged(commit.error());
    return std::optional(StoredCommit{std::move(*commit), std::move(**bytes)});
}

Result<std::optional<StoredCommit>> search_newest(RunObjects const& objects, CommitNumber start)
{
    std::optional<StoredCommit> newest;
    if (start.value > 0) {
        auto found = read_commit(objects, start);
        if (!found) return found;
        newest = std::move(*found);
    }
    Search search(newest ? start : CommitNumber{0});
    if (!newest && start.value > 0) search.is_missing(start);
    while (!search.has_ended()) {
        auto const number = search.next();
        auto commit = read_commit(objects, number);
        if (!commit) return commit;
        if (*commit) {
            search.exists(number);
            newest = std::move(*commit);
        } else {
            search.is_missing(number);
        }
    }
    return newest;
}

Result<std::optional<StoredCommit>> search_end(RunObjects const& objects, CommitNumber start)
{
    for (;;) {
        auto newest = search_newest(objects, start);
        if (!newest) return newest;
        auto const end = *newest ? (*newest)->commit.number : CommitNumber{0};
        auto const beyond = listed_commits(objects, end);
        if (!beyond) return tl::unexpected(beyond.error());
        if (beyond->empty()) return newest;
        // While sites train, the chain grows, and "missing" may be an old answer from the cache of
        // a client. So this asks again.
        auto next = read_commit(objects, end.next());
        if (!next) return next;
        auto const last = beyond->list().back().end - 1;
        if (!*next) return gap_at(protocol::Ranges::between(end.value + 1, last) - *beyond, {last});
        start = end.next();
    }
}

}  // namespace curtail::chain
