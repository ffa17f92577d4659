// SPDX-License-Identifier: Apache-2.0
#include "rounds/site/payloads.hpp"

#include <algorithm>
#include <stdexcept>

namespace curtail::rounds::site {
namespace {

bool lists(std::vector<PartRef> const& parts, std::string const& name)
{
    return std::any_of(parts.begin(), parts.end(),
                       [&](PartRef const& part) { return part.name == name; });
}

bool names(Commit const& record, std::string const& name)
{
    return lists(record.model.parts, name) || (record.outer && lists(record.outer->parts, name));
}

}  // namespace

std::vector<std::string> names_of(std::vector<Target> const& targets)
{
    std::vector<std::string> names;
    names.reserve(targets.size());
    for (auto const& target : targets) names.push_back(target.name);
    return names;
}

void require_targets(std::vector<PartRef> const& parts, std::vector<std::string> const& names)
{
    bool const same =
        std::equal(parts.begin(), parts.end(), names.begin(), names.end(),
                   [](PartRef const& part, std::string const& name) { return part.name == name; });
    if (!same) throw std::logic_error("stored other parts than requested");
}

void Payloads::begin(std::vector<std::string> names) { list_.push_back({std::move(names), {}}); }

void Payloads::begin(std::vector<std::string> names, MergeKey key)
{
    begin(std::move(names));
    made_ = Made{std::move(key), {}, {}};
}

void Payloads::require_newest(std::vector<PartRef> const& parts) const
{
    require_targets(parts, list_.back().names);
}

void Payloads::made(std::vector<PartRef> model, std::vector<PartRef> momentum)
{
    made_->model = std::move(model);
    made_->momentum = std::move(momentum);
}

void Payloads::bind_newest_to(CommitNumber number)
{
    list_.back().sent = number;
    list_.back().settled = false;
}

CommitNumber Payloads::unsettled_below(CommitNumber tip) const
{
    for (auto const& payload : list_)
        if (payload.sent.value != 0 && payload.sent < tip && !payload.settled) return payload.sent;
    return {};
}

void Payloads::remove(Payload& payload, Machine& machine)
{
    for (auto& name : payload.names) machine.send(Delete{std::move(name)});
    payload.names.clear();
}

void Payloads::settle(Commit const& record, Machine& machine)
{
    for (auto& payload : list_) {
        if (payload.sent != record.number) continue;
        if (names(record, payload.names.front())) {
            payload.names.clear();
            continue;
        }
        payload.settled = true;
        if (!payload.in_use) remove(payload, machine);
    }
    std::erase_if(list_, [](Payload const& payload) { return payload.names.empty(); });
}

void Payloads::abandon(Machine& machine)
{
    made_.reset();
    for (auto& payload : list_) {
        payload.in_use = false;
        if (payload.sent.value == 0 || payload.settled) remove(payload, machine);
    }
    std::erase_if(list_, [](Payload const& payload) { return payload.names.empty(); });
}

}  // namespace curtail::rounds::site
