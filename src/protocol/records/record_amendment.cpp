// SPDX-License-Identifier: Apache-2.0
#include "protocol/records/names.hpp"
#include "protocol/records/record_fields.hpp"
#include "protocol/records/terms.hpp"

// Amendments and requests for repairs.
namespace curtail::protocol {

namespace {

json::Object of(std::vector<TermChange> const& changes)
{
    std::vector<std::pair<std::string, json::Value>> members;
    members.reserve(changes.size());
    for (auto const& change : changes)
        members.emplace_back(change.term, json::Array{change.from, change.to});
    return json::Object::of_distinct(std::move(members));
}

std::vector<TermChange> read_changes(json::ObjectReader& r)
{
    auto const* value = r.any("changes", true);
    auto const* object = value != nullptr ? value->as_object() : nullptr;
    r.require(object != nullptr, "changes", "must be an object");
    std::vector<TermChange> changes;
    if (object == nullptr) return changes;
    for (auto const& [term, values] : object->members()) {
        auto const* pair = values.as_array();
        bool const good = pair != nullptr && pair->size() == 2 && (*pair)[0] != (*pair)[1];
        r.require(good, "changes", "must give two different values for each term");
        if (good) changes.push_back({term, (*pair)[0], (*pair)[1]});
    }
    if (auto const why = invalid_value(changes)) r.require(false, "changes", *why);
    return changes;
}

}  // namespace

Result<EncodedRecord> encode_if_valid(Amendment const& a)
{
    auto encoded = fields::finish_with_self(json::Object{{"format", record_format},
                                                         {"run", a.run.value},
                                                         {"n", a.number},
                                                         {"previous", a.previous.hex()},
                                                         {"base", a.base.value},
                                                         {"changes", of(a.changes)},
                                                         {"zero_momentum", a.zero_momentum},
                                                         {"reason", a.reason},
                                                         {"time", to_unix_ms(a.time)}});
    auto const read = decode_amendment(encoded.bytes, amendment_name(a.number));
    return fields::if_valid(std::move(encoded), read);
}

EncodedRecord encode(Amendment const& amendment)
{
    return fields::valid(encode_if_valid(amendment));
}

Result<Amendment> decode_amendment(std::string_view bytes, std::string const& name)
{
    return fields::decode<Amendment>(bytes, name, [&](json::ObjectReader& r, Amendment& a) {
        a.run = {fields::plain_name(r, "run")};
        a.number = fields::count(r, "n", 1);
        fields::require_name(r, name, amendment_name(a.number));
        a.previous = fields::digest(r, "previous");
        a.base = {fields::count(r, "base", 1)};
        a.changes = read_changes(r);
        a.zero_momentum = r.boolean("zero_momentum");
        a.reason = fields::text(r, "reason");
        a.time = fields::time(r, "time");
    });
}

EncodedRecord encode(RepairRequest const& request)
{
    auto encoded = fields::finish_with_self(
        json::Object{{"format", record_format},
                     {"round", request.round.value},
                     {"k", request.number},
                     {"site", request.site.value},
                     {"parts", json::Array(request.parts.begin(), request.parts.end())},
                     {"time", to_unix_ms(request.time)}});
    auto const read = decode_repair(encoded.bytes, repair_name(request.round, request.number));
    return fields::valid(fields::if_valid(std::move(encoded), read));
}

Result<RepairRequest> decode_repair(std::string_view bytes, std::string const& name)
{
    return fields::decode<RepairRequest>(
        bytes, name, [&](json::ObjectReader& r, RepairRequest& request) {
            request.round = {fields::count(r, "round", 1)};
            request.number = fields::count(r, "k", 1);
            fields::require_name(r, name, repair_name(request.round, request.number));
            request.site = {fields::plain_name(r, "site")};
            for (auto const& part : r.list("parts")) {
                r.require(part.as_text() != nullptr, "parts", "must be a list of names");
                if (part.as_text() != nullptr) request.parts.push_back(*part.as_text());
            }
            request.time = fields::time(r, "time");
        });
}

}  // namespace curtail::protocol
