// SPDX-License-Identifier: Apache-2.0
#include "operate/repair_chain.hpp"

#include <algorithm>
#include <map>

#include "protocol/chain/newest.hpp"
#include "protocol/records/names.hpp"

namespace curtail::operate {
namespace {

using protocol::commit_name;
using protocol::Ranges;

Ranges one(CommitNumber number) { return Ranges::between(number.value, number.value + 1); }

// True if the object is no commit of the run. An object that has disappeared is none, either.
Result<bool> is_foreign(chain::RunObjects const& objects, CommitNumber number)
{
    auto const name = commit_name(number);
    auto const bytes = objects.record(name);
    if (!bytes && !protocol::is_bad_record(bytes.error().code))
        return tl::unexpected(bytes.error());
    if (!bytes || !*bytes) return true;
    auto const commit = protocol::decode_commit(**bytes, name);
    return !commit || commit->run != objects.run();
}

// The objects that no commit of the store confirms: the last one of the chain, and all beyond a
// gap.
Result<std::vector<CommitNumber>> foreign_of(chain::RunObjects const& objects,
                                             Ranges const& numbers)
{
    std::vector<CommitNumber> foreign;
    auto const end = numbers.list().front().begin == 1 ? numbers.list().front().end - 1 : 0;
    for (auto const& range : numbers.list())
        for (auto n = std::max(range.begin, end); n < range.end; ++n) {
            auto const is = is_foreign(objects, {n});
            if (!is) return tl::unexpected(is.error());
            if (*is) foreign.push_back({n});
        }
    return foreign;
}

// The commits of one gap, checked by their links.
class Gap {
  public:
    Gap(chain::RunObjects const& objects, chain::RecordCache& copies, protocol::BlockRange range)
        : objects_(objects), copies_(copies), range_(range)
    {
    }

    // Returns false if a copy is missing.
    [[nodiscard]] Result<bool> read()
    {
        auto bytes = newest();
        if (!bytes) return tl::unexpected(bytes.error());
        for (auto number = range_.end - 1; *bytes; --number) {
            auto const commit = protocol::decode_commit(**bytes, commit_name({number}));
            if (!commit) return tl::unexpected(commit.error());
            found_[{number}] = std::move(**bytes);
            if (number == range_.begin) return links(commit->parent);
            *bytes = copies_.find(commit_name({number - 1}), commit->parent);
        }
        return false;
    }

    [[nodiscard]] Result<void> create() const
    {
        for (auto it = found_.rbegin(); it != found_.rend(); ++it) {
            auto const name = chain::object_name(objects_.run(), commit_name(it->first));
            if (!name) return tl::unexpected(name.error());
            auto const created = objects_.store().create(*name, store::bytes_of(it->second));
            if (!created) return tl::unexpected(created.error());
            if (*created == store::CreateOutcome::unknown)
                return fail(ExitCode::temporary,
                            "cannot tell whether " + name->text() + " was created",
                            "the store's reply was lost", "repeat the command");
        }
        return {};
    }

  private:
    // The copy of the last commit in the gap: the one that its successor names, or the newest one.
    [[nodiscard]] Result<std::optional<std::string>> newest()
    {
        CommitNumber const last{range_.end - 1};
        auto const successor = chain::read_commit(objects_, last.next());
        if (!successor) return tl::unexpected(successor.error());
        if (*successor) return copies_.find(commit_name(last), (*successor)->commit.parent);
        return copies_.newest(commit_name(last));
    }
    // True if the commit before the gap is the right one.
    [[nodiscard]] Result<bool> links(Digest const& parent) const
    {
        if (range_.begin == 1) return true;
        auto const name = commit_name({range_.begin - 1});
        auto const bytes = objects_.record(name);
        if (!bytes) return tl::unexpected(bytes.error());
        if (*bytes && sha256(**bytes) == parent) return true;
        return fail(ExitCode::protocol, "cannot repair the chain",
                    name +
                        " in the store is not the one that this site has read: other sites have "
                        "gone on from an older copy of the store",
                    "stop all sites, and start a new run with `curtail-store fork`");
    }

    chain::RunObjects const& objects_;
    chain::RecordCache& copies_;
    protocol::BlockRange range_;
    std::map<CommitNumber, std::string> found_;
};

}  // namespace

Result<ChainRepair> repair_chain(chain::RunObjects const& objects, chain::RecordCache& copies)
{
    auto listed = chain::listed_commits(objects, {0});
    if (!listed) return tl::unexpected(listed.error());
    ChainRepair repair;
    if (!listed->empty()) {
        auto foreign = foreign_of(objects, *listed);
        if (!foreign) return tl::unexpected(foreign.error());
        repair.foreign = std::move(*foreign);
    }
    for (auto const number : repair.foreign) *listed -= one(number);
    auto const end = listed->empty() ? 0 : listed->list().back().end - 1;
    auto const newest = std::max(copies.greatest_commit().value, end);
    auto const missing = Ranges::between(1, newest + 1) - *listed;
    for (auto it = missing.list().rbegin(); it != missing.list().rend(); ++it) {
        Gap gap(objects, copies, *it);
        auto const whole = gap.read();
        if (!whole) return tl::unexpected(whole.error());
        auto& numbers = *whole ? repair.restored : repair.lost;
        for (auto n = it->begin; n < it->end; ++n) numbers.push_back({n});
        if (!*whole) continue;
        if (auto created = gap.create(); !created) return tl::unexpected(created.error());
    }
    std::ranges::sort(repair.restored);
    std::ranges::sort(repair.lost);
    return repair;
}

Result<void> remove_foreign(chain::RunObjects const& objects, CommitNumber number)
{
    auto const foreign = is_foreign(objects, number);
    if (!foreign) return tl::unexpected(foreign.error());
    auto const name = chain::object_name(objects.run(), commit_name(number));
    if (!name) return tl::unexpected(name.error());
    if (!*foreign)
        return fail(ExitCode::temporary, "did not remove " + name->text(),
                    "it is a commit of the run now", "repeat the command");
    return objects.store().remove(*name);
}

}  // namespace curtail::operate
