// SPDX-License-Identifier: Apache-2.0
#include "simulator/inclusion.hpp"

#include <algorithm>

#include "simulator/process.hpp"

namespace curtail::protocol::simulator {
namespace {

// The trainer adopts a model whose merge decided earlier work, and one whose merge left this work
// out. If that took long, it looks for a newer one. Then it cuts. The next merge may have begun
// before. A commit of a member that was lone may come in between. So the sixth model has the work.
constexpr std::size_t most_models = 5;

SimProcess const* healthy(std::vector<std::shared_ptr<SimProcess>> const& living,
                          MemberId const& member)
{
    auto const it = std::ranges::find_if(living, [&](auto const& p) {
        return p->healthy && p->identity == member_parts(member).process;
    });
    return it == living.end() ? nullptr : it->get();
}

}  // namespace

bool OpenWork::adopted(Ranges const& open)
{
    auto newest = open;
    for (auto& work : by_age_) {
        work = work & open;
        newest -= work;
    }
    by_age_.push_front(std::move(newest));
    if (by_age_.size() <= most_models) return true;
    bool const decided = by_age_.back().empty();
    by_age_.pop_back();
    return decided;
}

void check_included(std::vector<std::shared_ptr<SimProcess>> const& living, Commit const& parent,
                    Commit const& commit)
{
    for (auto const& r : commit.removed) {
        auto const* m = parent.find(r.member);
        bool const expels = r.reason == Removal::silent || r.reason == Removal::succeeded;
        if (m == nullptr || !expels || m->held.empty()) continue;
        require(healthy(living, r.member) == nullptr, Invariant::included,
                [&] { return "a commit removes the healthy member " + r.member.value; });
    }
    for (auto const& d : commit.decided) {
        bool const old = d.refused == Refusal::stale && parent.terms.params.max_staleness >= 2;
        require(!old || healthy(living, d.member) == nullptr, Invariant::included,
                [&] { return "a merge refuses the work of the healthy " + d.member.value; });
    }
}

}  // namespace curtail::protocol::simulator
