// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "protocol/records/names.hpp"
#include "protocol/records/record_fields.hpp"

namespace curtail::protocol {
namespace {

json::Array parts_of(std::optional<DeltaRef> const& delta)
{
    if (!delta) return {};
    auto object = fields::of(delta->payload);
    object.set("sumsq", exact(delta->sumsq)).set("nonfinite", 0);
    return {std::move(object)};
}

std::optional<DeltaRef> read_delta(json::ObjectReader& r)
{
    std::optional<DeltaRef> delta;
    r.each("parts", [&](json::ObjectReader& o) {
        o.require(!delta, "part", "must be the only one");
        delta = {fields::part(o, delta_part), fields::real(o, "sumsq")};
        o.require(o.integer("nonfinite") == 0, "nonfinite", "must be 0");
    });
    return delta;
}

}  // namespace

EncodedRecord encode(Header const& h, RecordLimits const& limits)
{
    auto encoded = fields::finish_with_self(json::Object{{"format", record_format},
                                                         {"run", h.run.value},
                                                         {"member", h.member.value},
                                                         {"seq", h.seq.value},
                                                         {"base_round", h.base_round.value},
                                                         {"leaving", h.leaving},
                                                         {"ranges", h.ranges.to_json()},
                                                         {"skipped", h.skipped.to_json()},
                                                         {"tokens", h.tokens.value},
                                                         {"steps", h.steps},
                                                         {"encoding", h.encoding},
                                                         {"parts", parts_of(h.delta)},
                                                         {"nonfinite", h.nonfinite},
                                                         {"rate", h.rate},
                                                         {"mpi", false},
                                                         {"heads", fields::array_of(h.heads)},
                                                         {"time", to_unix_ms(h.time)}});
    auto const read = decode_header(encoded.bytes, header_name(h.member, h.seq), limits);
    return fields::valid(fields::if_valid(std::move(encoded), read));
}

Result<Header> decode_header(std::string_view bytes, std::string const& name,
                             RecordLimits const& limits)
{
    return fields::decode<Header>(bytes, name, limits.bytes, [&](json::ObjectReader& r, Header& h) {
        h.run = {fields::plain_name(r, "run")};
        h.member = fields::member(r, "member");
        h.seq = {fields::count(r, "seq", 1)};
        fields::require_name(r, name, header_name(h.member, h.seq));
        h.base_round = {fields::count(r, "base_round", 1)};
        h.leaving = r.boolean("leaving");
        h.ranges = fields::ranges(r, "ranges");
        h.skipped = fields::ranges(r, "skipped");
        h.tokens = {fields::count(r, "tokens")};
        h.steps = fields::count(r, "steps");
        h.encoding = r.text("encoding");
        h.delta = read_delta(r);
        h.nonfinite = fields::count(r, "nonfinite");
        h.rate = fields::count(r, "rate");
        r.require(!r.boolean("mpi"), "mpi", "must be false");
        r.each("heads", [&](json::ObjectReader& o) { fields::head(o, h.heads); });
        r.require(h.heads.size() <= header_heads_limit, "heads",
                  "must be at most " + std::to_string(header_heads_limit));
        h.time = fields::time(r, "time");
        // A commit copies ranges and steps of every decided contribution, even of a refused one. So
        // no header may cause an invalid commit.
        r.require(h.steps <= h.tokens.value, "steps", "must be at most the number of tokens");
        for (auto const& [key, ranges] :
             {std::pair("ranges", h.ranges), std::pair("skipped", h.skipped)})
            r.require(ranges.list().size() <= limits.header_ranges, key,
                      "must be at most " + std::to_string(limits.header_ranges));
    });
}

EncodedRecord encode(Lease const& l)
{
    auto encoded = fields::finish(json::Object{{"member", l.member.value},
                                               {"k", l.number},
                                               {"lease_ms", l.duration.count()},
                                               {"time", to_unix_ms(l.time)}});
    auto const read = decode_lease(encoded.bytes, "lease");
    return fields::valid(fields::if_valid(std::move(encoded), read));
}

Result<Lease> decode_lease(std::string_view bytes, std::string const& name)
{
    auto const object = fields::open(bytes, name);
    if (!object) return tl::unexpected(object.error());
    json::Value const value(*object);
    json::ObjectReader r(value, name, ExitCode::protocol);
    Lease l;
    l.member = fields::member(r, "member");
    l.number = fields::count(r, "k", 1);
    l.duration = Millis{fields::count(r, "lease_ms")};
    l.time = fields::time(r, "time");
    if (auto error = r.finish()) return tl::unexpected(*error);
    return l;
}

}  // namespace curtail::protocol
