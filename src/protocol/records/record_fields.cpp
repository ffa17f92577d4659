// SPDX-License-Identifier: Apache-2.0
#include "protocol/records/record_fields.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/core/text.hpp"
#include "protocol/records/names.hpp"

namespace curtail::protocol::fields {
namespace {

constexpr std::size_t self_digits = 64;
constexpr std::string_view self_key = "\"self\":\"";
constexpr std::string_view self_key_end = self_key.substr(1);

// The position of the field `self` in a canonical record. No text contains such a field, because
// its quotes would be escaped. If a nested object does, one of both digests is wrong.
std::optional<std::size_t> find_self(std::string_view bytes, std::string const& digest)
{
    if (digest.size() != self_digits) return std::nullopt;
    // A record has many more quotes than letters s, and the search stops at each first character.
    auto const rest = std::string(self_key_end) + digest + "\"";
    for (auto at = bytes.find(rest); at != std::string_view::npos; at = bytes.find(rest, at + 1))
        if (at > 0 && bytes[at - 1] == '"') return at - 1;
    return std::nullopt;
}

// The canonical record without its field `self`, which begins at `at`.
std::string without_self(std::string_view bytes, std::size_t at)
{
    auto const end = at + self_key.size() + self_digits + 1;
    bool const last = bytes[end] == '}';
    bool const only = last && bytes[at - 1] == '{';
    auto const begin = last && !only ? at - 1 : at;
    return std::string(bytes.substr(0, begin)).append(bytes.substr(last ? end : end + 1));
}

constexpr json::Limits json_limits{record_bytes_limit, json::record_limits.depth};

tl::unexpected<Error> refused(std::string const& name, std::string why)
{
    return fail(ExitCode::protocol, "refused record " + name, std::move(why));
}

// The error of a record that has another format. Empty: the format is right, or nothing states it.
std::optional<Error> other_format(json::Object const& object, std::string const& name)
{
    auto const found = object.integer_at("format");
    if (!found || *found == record_format) return std::nullopt;
    return Error{ExitCode::data, "refused record " + name,
                 "it has format " + std::to_string(*found) +
                     ", but this version of Curtail reads format " + std::to_string(record_format) +
                     " only",
                 "continue the run with the version that started it, or start a new run"};
}

json::Object of(std::string const& stream, JournalHead const& head)
{
    return json::Object{{"number", head.number}, {"sha256", head.sha256.hex()}, {"stream", stream}};
}

}  // namespace

json::Object of(PartRef const& part)
{
    // The keys are in canonical order, like those in record_commit.cpp.
    return json::Object{{"bytes", part.bytes},
                        {"name", part.name},
                        {"part", part.part},
                        {"sha256", part.sha256.hex()}};
}

json::Value list_of(PartRef const& part) { return json::Array{of(part)}; }

json::Array array_of(JournalHeads const& heads)
{
    json::Array list;
    for (auto const& [stream, head] : heads) list.push_back(of(stream, head));
    return list;
}

json::Array array_of(std::map<SiteId, JournalHeads> const& heads)
{
    json::Array list;
    for (auto const& [site, streams] : heads)
        for (auto const& [stream, head] : streams) {
            auto object = of(stream, head);
            object.set("site", site.value);
            list.push_back(std::move(object));
        }
    return list;
}

void head(json::ObjectReader& r, JournalHeads& heads)
{
    auto const stream = plain_name(r, "stream");
    r.require(heads.empty() || heads.rbegin()->first < stream, "stream", "must be sorted");
    heads[stream] = {count(r, "number", 1), digest(r, "sha256")};
}

void head(json::ObjectReader& r, std::map<SiteId, JournalHeads>& heads)
{
    SiteId const site{plain_name(r, "site")};
    r.require(heads.empty() || heads.rbegin()->first <= site, "site", "must be sorted");
    head(r, heads[site]);
}

EncodedRecord finish(json::Object record)
{
    EncodedRecord e;
    e.bytes = json::canonical(std::move(record));
    e.sha256 = sha256(e.bytes);
    return e;
}

EncodedRecord valid(Result<EncodedRecord> encoded)
{
    if (!encoded) throw std::logic_error("made an invalid record: " + encoded.error().message());
    return std::move(*encoded);
}

EncodedRecord finish_with_self(json::Object record)
{
    std::string const unknown(self_digits, '0');
    record.set("self", unknown);
    EncodedRecord e;
    e.bytes = json::canonical(std::move(record));
    auto const at = *find_self(e.bytes, unknown);
    auto const self = sha256(without_self(e.bytes, at)).hex();
    e.bytes.replace(at + self_key.size(), self_digits, self);
    e.sha256 = sha256(e.bytes);
    return e;
}

Result<json::Object> open(std::string_view bytes, std::string const& name, std::size_t limit)
{
    auto const refuse = [&](std::string why) { return refused(name, std::move(why)); };
    if (bytes.size() > limit) return refuse("longer than " + std::to_string(limit) + " bytes");
    auto value = json::parse(bytes, name, json::Dialect::strict, json_limits);
    if (!value) return refuse(value.error().message());
    auto* object = value->as_object();
    if (object == nullptr) return refuse("must be an object");
    if (json::has_real(*value)) return refuse("records must hold integers only");
    if (json::canonical(*value) != bytes) return refuse("must be in canonical form");
    return std::move(*object);
}

Result<json::Object> open_with_self(std::string_view bytes, std::string const& name,
                                    std::size_t limit)
{
    auto object = open(bytes, name, limit);
    if (!object) return object;
    auto const* self = object->find("self");
    auto const* stated = self != nullptr ? self->as_text() : nullptr;
    auto const at = stated != nullptr ? find_self(bytes, *stated) : std::nullopt;
    auto const found = at ? sha256(without_self(bytes, *at)).hex() : "no digest";
    bool const intact = stated != nullptr && *stated == found;
    // Another format may have no digest. The digest of format 1 left out the field `sig`. In other
    // records whose digest differs, the format may be what has changed.
    if (intact || stated == nullptr || object->find("sig") != nullptr)
        if (auto error = other_format(*object, name)) return tl::unexpected(std::move(*error));
    if (stated == nullptr) return refused(name, "its own digest (self) is missing");
    if (!intact)
        return refused(name,
                       "its bytes have changed (self says " + *stated + ", found " + found + ")");
    object->erase("self");
    return object;
}

std::int64_t count(json::ObjectReader& r, std::string const& key, std::int64_t least,
                   std::int64_t most)
{
    auto const n = r.integer(key);
    if (n >= least && n <= most) return n;
    r.require(false, key,
              most == max_integer ? fmt::format("must be at least {} and less than 2^53", least)
                                  : fmt::format("must be {} to {}", least, most));
    return least;
}

Digest digest(json::ObjectReader& r, std::string const& key)
{
    auto const d = Digest::from_hex(r.text(key));
    r.require(d.has_value(), key, "must be a SHA-256 in hex");
    return d.value_or(Digest{});
}

Ranges ranges(json::ObjectReader& r, std::string const& key)
{
    auto const* value = r.any(key, true);
    if (value == nullptr) return {};
    auto ranges = ranges_from_json(*value, r.place(key));
    if (ranges) return *ranges;
    r.reject(ranges.error());
    return {};
}

MemberId member(json::ObjectReader& r, std::string const& key)
{
    auto const text = r.text(key);
    r.require(parse_member_id(text).has_value(), key, "must be <site>.<8 hex>.<number>");
    return {text};
}

double real(json::ObjectReader& r, std::string const& key)
{
    auto const value = double_from_exact(r.text(key));
    r.require(value && std::isfinite(*value) && !std::signbit(*value), key,
              "must be 16 hex digits of a finite number >= 0");
    return value.value_or(0);
}

double real(json::ObjectReader& r, std::string const& key, Range const& range)
{
    double const value = real(r, key);
    r.require(range.contains(value), key, range.rule);
    return value;
}

Time time(json::ObjectReader& r, std::string const& key) { return from_unix_ms(count(r, key)); }

PartRef part(json::ObjectReader& r, std::string_view right)
{
    PartRef p;
    p.part = r.text("part");
    r.require(p.part == right, "part", "must be " + std::string(right));
    p.name = r.text("name");
    p.bytes = count(r, "bytes", 1);
    p.sha256 = digest(r, "sha256");
    return p;
}

PartRef only_part(json::ObjectReader& r, std::string_view right)
{
    PartRef found;
    int count = 0;
    r.each("parts", [&](json::ObjectReader& o) {
        found = part(o, right);
        ++count;
    });
    r.require(count == 1, "parts", "must have one entry");
    return found;
}

void format(json::ObjectReader& r)
{
    auto const found = r.integer("format");
    if (found != record_format)
        r.require(false, "format",
                  "must be " + std::to_string(record_format) + ", found " + std::to_string(found) +
                      ": written by another version of Curtail");
}

std::string plain_name(json::ObjectReader& r, std::string const& key)
{
    auto name = r.text(key);
    r.require(is_plain_name(name), key, "must be a plain name");
    return name;
}

std::string text(json::ObjectReader& r, std::string const& key)
{
    auto text = r.text(key);
    if (text.size() > text_limit)
        r.require(false, key, "must have at most " + std::to_string(text_limit) + " bytes");
    return text;
}

bool is_null(json::ObjectReader& r, std::string const& key)
{
    auto const* value = r.any(key, true);
    return value != nullptr && value->is_null();
}

void require_name(json::ObjectReader& r, std::string const& name, std::string const& right)
{
    if (name != right)
        r.reject({ExitCode::protocol,
                  "refused record " + name,
                  "its content belongs under " + right,
                  {}});
}

}  // namespace curtail::protocol::fields
