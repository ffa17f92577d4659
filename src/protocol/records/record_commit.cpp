// SPDX-License-Identifier: Apache-2.0
#include "protocol/records/names.hpp"
#include "protocol/records/record_fields.hpp"

namespace curtail::protocol {
namespace {

// Each object lists its keys in canonical order, so that json::canonical() need not sort them.

json::Value of(Member const& m)
{
    return json::Object{{"held", m.held.to_json()},
                        {"id", m.id.value},
                        {"missed", m.missed},
                        {"mpi", nullptr},
                        {"rate", m.rate},
                        {"refused", m.refused},
                        {"seen", to_unix_ms(m.seen)},
                        {"seq", m.seq.value},
                        {"since_round", m.since_round.value},
                        {"site", m.site.value}};
}

json::Value of(ContributionDecision const& d)
{
    return json::Object{{"header_sha256", d.header ? json::Value(d.header->hex()) : json::Value()},
                        {"inline", d.inlined},
                        {"member", d.member.value},
                        {"norm", exact(d.norm)},
                        {"outcome", d.refused ? "refused" : "included"},
                        {"ranges", d.ranges.to_json()},
                        {"reason", d.refused ? json::Value(to_text(*d.refused)) : json::Value()},
                        {"scale", exact(d.scale)},
                        {"seq", d.seq.value},
                        {"skipped", d.skipped.to_json()},
                        {"staleness", d.staleness},
                        {"steps", d.steps},
                        {"tokens", d.tokens.value}};
}

json::Value of(RemovedMember const& r)
{
    return json::Object{{"member", r.member.value}, {"reason", to_text(r.reason)}};
}

json::Value of(RecentMerge const& r)
{
    return json::Object{{"number", r.number.value}, {"round", r.round.value}};
}

json::Value of(SkippedBlocks const& s)
{
    return json::Object{{"blocks", s.blocks.to_json()}, {"site", s.site.value}, {"times", s.times}};
}

json::Value of(Quarantine const& q)
{
    return json::Object{
        {"reason", to_text(q.reason)}, {"site", q.site.value}, {"until", to_unix_ms(q.until)}};
}

json::Value of(std::optional<AmendmentRef> const& amended)
{
    if (!amended) return {};
    return json::Object{{"n", amended->number}, {"sha256", amended->sha256.hex()}};
}

json::Value of(std::optional<OuterRef> const& outer)
{
    if (!outer) return {};
    return json::Object{{"kind", to_text(outer->type)},
                        {"parts", fields::list_of(outer->momentum)}};
}

json::Value of(ModelRef const& model)
{
    return json::Object{{"parts", fields::list_of(model.weights)}, {"round", model.round.value}};
}

json::Object content(Commit const& c)
{
    auto const element = [](auto const& item) { return of(item); };
    return json::Object{
        {"amended", of(c.amended)},
        {"by", json::Object{{"attempt", c.by.attempt}, {"member", c.by.member.value}}},
        {"complete", c.complete},
        {"data", json::Object{{"aside", c.aside.to_json()}, {"done", c.done.to_json()}}},
        {"decided", json::array_of(c.decided, element)},
        {"format", record_format},
        {"heads", fields::array_of(c.heads)},
        {"kind", to_text(c.kind)},
        {"members", json::array_of(c.members, element)},
        {"model", of(c.model)},
        {"norms", json::array_of(c.norms, [](double norm) { return exact(norm); })},
        {"number", c.number.value},
        {"outer", of(c.outer)},
        {"outer_step", c.outer_step},
        {"parent", c.parent.hex()},
        {"plan", nullptr},
        {"quarantine", json::array_of(c.quarantine, element)},
        {"recent", json::array_of(c.recent, element)},
        {"removed", json::array_of(c.removed, element)},
        {"round", c.round.value},
        {"run", c.run.value},
        {"skipped", json::array_of(c.skips, element)},
        {"terms", fields::of(c.terms)},
        {"time", to_unix_ms(c.time)},
        {"totals", json::Object{{"steps", c.totals.steps}, {"tokens", c.totals.tokens.value}}}};
}

Member read_member(json::ObjectReader& r)
{
    Member m;
    m.id = fields::member(r, "id");
    m.site = {r.text("site")};
    m.seq = {fields::count(r, "seq")};
    m.held = fields::ranges(r, "held");
    m.rate = fields::count(r, "rate");
    m.since_round = {fields::count(r, "since_round", 1)};
    m.missed = fields::count(r, "missed");
    m.seen = fields::time(r, "seen");
    m.refused = fields::count(r, "refused");
    r.require(fields::is_null(r, "mpi"), "mpi", "must be null");
    auto const parts = parse_member_id(m.id.value);
    r.require(!parts || parts->process.site == m.site, "site",
              "must be the site in the member's id");
    return m;
}

std::optional<Refusal> refusal_in(std::string_view text)
{
    for (auto reason = Refusal::nan; reason <= Refusal::bad_tokens;
         reason = static_cast<Refusal>(static_cast<int>(reason) + 1))
        if (text == to_text(reason)) return reason;
    return std::nullopt;
}

std::optional<Refusal> read_refusal(json::ObjectReader& r)
{
    bool const refused = r.one_of("outcome", {"included", "refused"}) == 1;
    auto const text = r.optional_text("reason");
    r.require(text.has_value() == refused, "reason",
              "must be set exactly if the outcome is a refusal");
    if (!text) return std::nullopt;
    auto const reason = refusal_in(*text);
    r.require(reason.has_value(), "reason", "is unknown to this version");
    return reason;
}

std::optional<Digest> read_header_digest(json::ObjectReader& r, bool inlined)
{
    auto const header = r.optional_text("header_sha256");
    r.require(header.has_value() != inlined, "header_sha256",
              "must be set exactly if the contribution is not inline");
    if (!header) return std::nullopt;
    auto const digest = Digest::from_hex(*header);
    r.require(digest.has_value(), "header_sha256", "must be a SHA-256 in hex");
    return digest;
}

ContributionDecision read_decided(json::ObjectReader& r)
{
    ContributionDecision d;
    d.member = fields::member(r, "member");
    d.seq = {fields::count(r, "seq", 1)};
    d.refused = read_refusal(r);
    d.inlined = r.boolean("inline");
    d.header = read_header_digest(r, d.inlined);
    d.ranges = fields::ranges(r, "ranges");
    d.skipped = fields::ranges(r, "skipped");
    d.tokens = {fields::count(r, "tokens")};
    d.steps = fields::count(r, "steps");
    d.staleness = fields::count(r, "staleness");
    auto const scale = float_from_exact(r.text("scale"));
    r.require(scale && *scale >= 0 && *scale <= 1, "scale",
              "must be 8 hex digits of a number from 0 to 1");
    d.scale = scale.value_or(0);
    d.norm = fields::real(r, "norm");
    return d;
}

Quarantine read_quarantine(json::ObjectReader& r)
{
    Quarantine q{{fields::plain_name(r, "site")}, fields::time(r, "until"), {}};
    auto const reason = refusal_in(r.text("reason"));
    r.require(reason.has_value(), "reason", "is unknown to this version");
    q.reason = reason.value_or(Refusal::nan);
    return q;
}

void read_tables(json::ObjectReader& r, Commit& c)
{
    r.each("members", [&](json::ObjectReader& o) { c.members.push_back(read_member(o)); });
    r.each("decided", [&](json::ObjectReader& o) { c.decided.push_back(read_decided(o)); });
    r.each("removed", [&](json::ObjectReader& o) {
        c.removed.push_back(
            {fields::member(o, "member"),
             static_cast<Removal>(
                 o.one_of("reason", {"left", "silent", "succeeded", "quarantined", "complete"}))});
    });
    for (auto const& norm : r.list("norms")) {
        auto const value =
            norm.as_text() != nullptr ? double_from_exact(*norm.as_text()) : std::nullopt;
        r.require(value.has_value(), "norms", "must be 16 hex digits each");
        c.norms.push_back(value.value_or(0));
    }
    r.each("recent", [&](json::ObjectReader& o) {
        c.recent.push_back({{fields::count(o, "round", 1)}, {fields::count(o, "number", 1)}});
    });
    r.require(!c.recent.empty(), "recent", "must not be empty");
    r.each("skipped", [&](json::ObjectReader& o) {
        c.skips.push_back({{fields::plain_name(o, "site")},
                           fields::count(o, "times", 1),
                           fields::ranges(o, "blocks")});
    });
    r.each("quarantine",
           [&](json::ObjectReader& o) { c.quarantine.push_back(read_quarantine(o)); });
}

void read_model(json::ObjectReader& r, Commit& c)
{
    r.object("model", [&](json::ObjectReader& o) {
        c.model.round = {fields::count(o, "round", 1)};
        c.model.weights = fields::only_part(o, weights_part);
    });
    auto const* outer = r.any("outer", true);
    if (outer == nullptr || outer->is_null()) return;
    c.outer.emplace();
    r.object("outer", [&](json::ObjectReader& o) {
        c.outer->type = static_cast<Outer::Type>(o.one_of("kind", {"average", "nesterov"}));
        c.outer->momentum = fields::only_part(o, momentum_part);
    });
}

void read_heads(json::ObjectReader& r, Commit& c)
{
    std::size_t count = 0;
    r.each("heads", [&](json::ObjectReader& o) {
        fields::head(o, c.heads);
        ++count;
    });
    r.require(count <= heads_limit, "heads", "must be at most " + std::to_string(heads_limit));
}

}  // namespace

Result<EncodedRecord> encode_if_valid(Commit const& commit, RecordLimits const& limits)
{
    auto encoded = fields::finish_with_self(content(commit));
    auto const read = decode_commit(encoded.bytes, commit_name(commit.number), limits);
    return fields::if_valid(std::move(encoded), read);
}

EncodedRecord encode(Commit const& commit, RecordLimits const& limits)
{
    return fields::valid(encode_if_valid(commit, limits));
}

Result<Commit> decode_commit(std::string_view bytes, std::string const& name,
                             RecordLimits const& limits)
{
    return fields::decode<Commit>(bytes, name, limits.bytes, [&](json::ObjectReader& r, Commit& c) {
        c.run = {fields::plain_name(r, "run")};
        c.number = {fields::count(r, "number", 1)};
        fields::require_name(r, name, commit_name(c.number));
        c.parent = fields::digest(r, "parent");
        c.kind = static_cast<Commit::Kind>(r.one_of("kind", {"genesis", "roster", "merge"}));
        c.complete = r.boolean("complete");
        c.round = {fields::count(r, "round", 1)};
        read_model(r, c);
        r.object("totals", [&](json::ObjectReader& o) {
            c.totals = {{fields::count(o, "tokens")}, fields::count(o, "steps")};
        });
        r.object("terms", [&](json::ObjectReader& o) { c.terms = fields::terms(o); });
        if (!fields::is_null(r, "amended"))
            r.object("amended", [&](json::ObjectReader& o) {
                c.amended = {fields::count(o, "n", 1), fields::digest(o, "sha256")};
            });
        r.object("data", [&](json::ObjectReader& o) {
            c.done = fields::ranges(o, "done");
            c.aside = fields::ranges(o, "aside");
        });
        read_tables(r, c);
        r.require(c.members.size() <= limits.members, "members",
                  "must be at most " + std::to_string(limits.members));
        c.outer_step = r.boolean("outer_step");
        read_heads(r, c);
        r.require(fields::is_null(r, "plan"), "plan", "must be null");
        r.object("by", [&](json::ObjectReader& o) {
            c.by = {fields::member(o, "member"), fields::count(o, "attempt")};
        });
        c.time = fields::time(r, "time");
    });
}

}  // namespace curtail::protocol
