// SPDX-License-Identifier: Apache-2.0
#include "protocol/site/payloads.hpp"

#include <stdexcept>

namespace curtail::protocol::site {
namespace {

bool names(Commit const& record, std::string const& name)
{
    return record.model.weights.name == name ||
           (record.outer && record.outer->momentum.name == name);
}

}  // namespace

void Payloads::begin(std::vector<std::string> names) { list_.push_back({std::move(names), {}}); }

void Payloads::begin(std::vector<std::string> names, MergeKey key)
{
    begin(std::move(names));
    made_ = StoredModel{.key = std::move(key)};
}

void Payloads::require_newest(PartRef const& weights, std::optional<PartRef> const& momentum) const
{
    std::vector<std::string> stored{weights.name};
    if (momentum) stored.push_back(momentum->name);
    if (stored != list_.back().names)
        throw std::logic_error("stored other payloads than requested");
}

void Payloads::made(PartRef weights, std::optional<PartRef> momentum)
{
    require_newest(weights, momentum);
    made_->weights = std::move(weights);
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

}  // namespace curtail::protocol::site
