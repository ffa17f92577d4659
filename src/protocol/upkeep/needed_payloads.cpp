// SPDX-License-Identifier: Apache-2.0
#include "protocol/upkeep/needed_payloads.hpp"

#include <stdexcept>

#include "protocol/records/reading.hpp"

namespace curtail::upkeep {
namespace {

template <class Map, class Key>
auto value_of(Map const& map, Key const& key) -> std::optional<typename Map::mapped_type>
{
    auto const found = map.find(key);
    if (found == map.end()) return std::nullopt;
    return found->second;
}

}  // namespace

void NeededPayloads::add(protocol::Commit const& commit)
{
    if (commit.number != newest_.next()) throw std::logic_error("commits must be added in order");
    newest_ = commit.number;
    round_ = commit.round;
    for (auto const& part : commit.payloads()) named_[part.name] = commit.round;
    if (protocol::is_milestone(params_.milestone_every, commit.round))
        milestones_.insert(commit.model.weights.name);
    for (auto const& d : commit.decided) decided_[{d.member, d.seq}] = commit.round;
    auto before = std::move(members_);
    members_.clear();
    for (auto const& member : commit.members) {
        before.erase(member.id);
        members_.emplace(member.id, member);
    }
    for (auto const& [id, member] : before) left_[id] = commit.round;
}

bool NeededPayloads::names(std::string const& name) const
{
    if (milestones_.count(name) > 0) return true;
    auto const round = value_of(named_, name);
    return round && keeps(*round);
}

bool NeededPayloads::has_named(std::string const& name) const { return named_.count(name) > 0; }

protocol::Member const* NeededPayloads::member(MemberId const& id) const
{
    auto const found = members_.find(id);
    return found == members_.end() ? nullptr : &found->second;
}

std::optional<Round> NeededPayloads::left(MemberId const& id) const { return value_of(left_, id); }

std::optional<Round> NeededPayloads::decided(MemberId const& id, Seq seq) const
{
    return value_of(decided_, std::pair{id, seq});
}

}  // namespace curtail::upkeep
