// SPDX-License-Identifier: Apache-2.0
#include "protocol/records/names.hpp"
#include "protocol/records/record_fields.hpp"

// Amendments and requests for repairs.
namespace curtail::protocol {

EncodedRecord encode(Amendment const& a)
{
    return fields::finish_with_self(json::Object{{"format", record_format},
                                                 {"run", a.run.value},
                                                 {"n", a.number},
                                                 {"previous", a.previous.hex()},
                                                 {"terms", fields::of(a.terms)},
                                                 {"zero_momentum", a.zero_momentum},
                                                 {"reason", a.reason},
                                                 {"time", to_unix_ms(a.time)}});
}

Result<Amendment> decode_amendment(std::string_view bytes, std::string const& name)
{
    return fields::decode<Amendment>(bytes, name, [&](json::ObjectReader& r, Amendment& a) {
        a.run = {fields::plain_name(r, "run")};
        a.number = fields::count(r, "n", 1);
        fields::require_name(r, name, amendment_name(a.number));
        a.previous = fields::digest(r, "previous");
        r.object("terms", [&](json::ObjectReader& o) { a.terms = fields::terms(o); });
        a.zero_momentum = r.boolean("zero_momentum");
        a.reason = fields::text(r, "reason");
        a.time = fields::time(r, "time");
    });
}

EncodedRecord encode(RepairRequest const& request)
{
    return fields::finish_with_self(
        json::Object{{"format", record_format},
                     {"round", request.round.value},
                     {"k", request.number},
                     {"site", request.site.value},
                     {"parts", json::Array(request.parts.begin(), request.parts.end())},
                     {"time", to_unix_ms(request.time)}});
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
