// SPDX-License-Identifier: Apache-2.0
#include "operate/stored_commits.hpp"

#include "protocol/chain/newest.hpp"
#include "protocol/chain/read_ahead.hpp"
#include "protocol/records/names.hpp"
#include "protocol/rules/check.hpp"

namespace curtail::operate {
namespace {

using protocol::Ranges;
using Form = StoredObject::Form;
using Answer = Result<std::optional<std::string>>;

// Enough to tell a part of a commit from other bytes.
constexpr std::size_t begin_size = 8;

// A listing has regular files only: it lacks folders and links with the name of a commit.
Ranges to_read(Ranges const& listed, CommitNumber known)
{
    constexpr std::int64_t widest_gap = 1'000;
    auto numbers = listed + Ranges::between(1, known.value + 1);
    std::int64_t next = 1;
    for (auto const& range : listed.list()) {
        if (range.begin - next <= widest_gap) numbers += Ranges::between(next, range.begin);
        next = range.end;
    }
    next = std::max(next, known.value + 1);
    if (next <= chain::greatest_number.value) numbers += Ranges::between(next, next + 1);
    return numbers;
}

// Empty: there is no object. `commit` receives a commit of the run. `listed` says whether a listing
// has the object, so that it is a regular file.
Result<std::optional<StoredObject>> object_of(chain::RunObjects const& objects,
                                              std::string const& name, bool listed,
                                              Answer const& answer,
                                              std::optional<protocol::Commit>& commit)
{
    StoredObject object;
    if (!answer) {
        // The store refuses a symbolic link in this way.
        bool const link = !listed && answer.error().code == ExitCode::permission;
        if (!link && !protocol::is_bad_record(answer.error().code))
            return tl::unexpected(answer.error());
        object.error = answer.error();
        return std::optional(std::move(object));
    }
    if (!*answer) return std::optional<StoredObject>{};
    auto const& bytes = **answer;
    object.sha256 = sha256(bytes);
    object.begin = bytes.substr(0, begin_size);
    auto decoded = protocol::decode_commit(bytes, name);
    if (!decoded) {
        object.error = decoded.error();
        if (object.error.code == ExitCode::data) object.form = Form::other_format;
    } else {
        bool const own = decoded->run == objects.run();
        object.form = own ? Form::commit : Form::other_run;
        object.parent = decoded->parent;
        if (own) commit = std::move(*decoded);
    }
    return std::optional(std::move(object));
}

bool follows(chain::StoredRun const& run, std::optional<chain::LinkedCommit> const& last,
             protocol::Commit const& commit)
{
    if (!last) return !protocol::check_genesis(run.run, run.sha256, commit);
    return !protocol::check(run.run, last->commit, last->sha256, commit);
}

}  // namespace

StoredObject const* StoredCommits::find(CommitNumber number) const
{
    auto const found = objects.find(number);
    return found == objects.end() ? nullptr : &found->second;
}

bool StoredCommits::links(CommitNumber number) const
{
    auto const* first = find(number);
    auto const* second = find(number.next());
    return first != nullptr && second != nullptr && first->is_commit() && second->is_commit() &&
           second->parent == first->sha256;
}

Result<std::optional<StoredObject>> read_stored(chain::RunObjects const& objects,
                                                CommitNumber number)
{
    auto const name = protocol::commit_name(number);
    std::optional<protocol::Commit> commit;
    return object_of(objects, name, false, objects.record(name), commit);
}

Result<StoredCommits> read_stored_commits(chain::RunObjects const& objects,
                                          chain::StoredRun const& run, CommitNumber known)
{
    auto const listed = chain::listed_commits(objects, {0});
    if (!listed) return tl::unexpected(listed.error());
    std::vector<std::string> names;
    auto const numbers = to_read(*listed, known);
    for (auto const& range : numbers.list())
        for (auto n = range.begin; n < range.end; ++n) names.push_back(protocol::commit_name({n}));
    StoredCommits stored;
    std::optional<chain::LinkedCommit> last;
    chain::ReadAhead ahead(objects, names);
    auto name = names.begin();
    for (auto const& range : numbers.list())
        for (auto n = range.begin; n < range.end; ++n, ++name) {
            std::optional<protocol::Commit> commit;
            bool const is_listed = listed->contains(Ranges::between(n, n + 1));
            auto object = object_of(objects, *name, is_listed, ahead.record(*name), commit);
            if (!object) return tl::unexpected(object.error());
            if (!*object) continue;
            if (commit && n == stored.sound.value + 1 && follows(run, last, *commit)) {
                stored.sound = {n};
                last = chain::LinkedCommit{std::move(*commit), (*object)->sha256};
            }
            stored.objects.emplace(CommitNumber{n}, std::move(**object));
        }
    return stored;
}

}  // namespace curtail::operate
