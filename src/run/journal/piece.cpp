// SPDX-License-Identifier: Apache-2.0
#include "run/journal/piece.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>

#include "base/core/json.hpp"
#include "base/core/text.hpp"

namespace curtail::journal {
namespace {

constexpr std::int64_t format = 1;
constexpr json::Limits header_json{static_cast<std::size_t>(header_limit), 3};
constexpr std::int64_t greatest_integer = (std::int64_t{1} << 53) - 1;

std::string relative_name(StreamId const& id, PieceNumber number)
{
    return fmt::format("{}/{:08}.jsonl", id.text(), number.value);
}

std::optional<double> parse_hex(std::string_view text)
{
    std::uint64_t bits = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits, 16);
    auto const value = std::bit_cast<double>(bits);
    bool const good = text.size() == 16 && error == std::errc{} && end == text.data() + text.size();
    return good && std::isfinite(value) && value > 0 ? std::optional(value) : std::nullopt;
}

json::Value to_json(std::optional<Digest> const& digest)
{
    return digest ? json::Value(digest->hex()) : json::Value();
}

json::Object to_json(StreamId const& id, PieceHeader const& header)
{
    return {{"clock", clock_json(header.clock)},
            {"continuation", header.continuation},
            {"first", header.first.value},
            {"format", format},
            {"from", header.range.from},
            {"more", header.more},
            {"number", header.number.value},
            {"previous", to_json(header.previous)},
            {"run", id.run.value},
            {"sha256", header.content.hex()},
            {"site", id.site.value},
            {"stream", name(id.stream)},
            {"time", to_unix_ms(header.time)},
            {"to", header.range.to}};
}

// Reads the keys of a header; an error of the reader means a damaged header.
class HeaderReader {
  public:
    explicit HeaderReader(json::ObjectReader& r) : r_(r) {}

    PieceHeader read(StreamId const& id)
    {
        r_.require(r_.integer("format") == format, "format", "must be 1");
        r_.require(r_.text("run") == id.run.value, "run", "names another run");
        r_.require(r_.text("site") == id.site.value, "site", "names another site");
        r_.require(r_.text("stream") == name(id.stream), "stream", "names another stream");
        PieceHeader header;
        header.number = {count("number")};
        header.continuation = count("continuation");
        header.first = {count("first")};
        header.range = {amount("from"), amount("to")};
        header.content = digest("sha256", r_.text("sha256"));
        if (auto const previous = r_.optional_text("previous"))
            header.previous = digest("previous", *previous);
        header.time = time(r_, "time");
        header.more = r_.boolean("more");
        header.clock = clock();
        return header;
    }

  private:
    std::int64_t integer(char const* key, std::int64_t least)
    {
        auto const value = r_.integer(key);
        r_.require(value >= least && value <= greatest_integer, key, "is out of range");
        return value;
    }
    std::int64_t count(char const* key) { return integer(key, 1); }
    std::int64_t amount(char const* key) { return integer(key, 0); }

    static Time time(json::ObjectReader& r, char const* key)
    {
        // Up to the year 9999.
        constexpr std::int64_t latest_ms = 253'402'300'799'999;
        auto const ms = r.integer(key);
        r.require(ms >= 0 && ms <= latest_ms, key, "is out of range");
        return from_unix_ms(ms);
    }

    Digest digest(char const* key, std::string const& text)
    {
        auto const digest = Digest::from_hex(text);
        r_.require(digest.has_value(), key, "must be a SHA-256 digest");
        return digest.value_or(Digest{});
    }

    std::optional<TimeScale> clock()
    {
        auto const* value = r_.any("clock", true);
        if (value == nullptr || value->is_null()) return std::nullopt;
        TimeScale scale;
        r_.object("clock", [&](json::ObjectReader& o) {
            scale.origin = time(o, "origin");
            scale.real_origin = time(o, "real_origin");
            auto const factor = parse_hex(o.text("factor"));
            o.require(factor.has_value(), "factor", "must be the bits of a positive number");
            scale.factor = factor.value_or(1);
        });
        return scale;
    }

    json::ObjectReader& r_;
};

tl::unexpected<Error> damaged(StreamId const& id, PieceNumber number, std::string why)
{
    return fail(ExitCode::protocol, relative_name(id, number) + " is damaged", std::move(why));
}

// Checks the digest `self` of the header, and that the header is written as encode() does.
bool is_canonical(json::Value const& value, std::string_view line)
{
    if (json::canonical(value) != line) return false;
    auto rest = *value.as_object();
    auto const self = rest.text_at("self");
    rest.erase("self");
    return sha256(json::canonical(rest)).hex() == self;
}

std::string header_line(StreamId const& id, PieceHeader const& header)
{
    auto object = to_json(id, header);
    object.set("self", sha256(json::canonical(object)).hex());
    return json::canonical(object) + "\n";
}

Result<PieceHeader> decode_header(StreamId const& id, PieceNumber number, std::string_view line)
{
    auto const where = relative_name(id, number);
    auto const value = json::parse(line, where, json::Dialect::strict, header_json);
    if (!value) return damaged(id, number, value.error().message());
    if (value->as_object() == nullptr || json::has_real(*value) || !is_canonical(*value, line))
        return damaged(id, number, "its header is not in canonical form or has a wrong digest");
    json::ObjectReader r(*value, where, ExitCode::protocol);
    (void)r.text("self");
    auto const header = HeaderReader(r).read(id);
    if (auto error = r.finish()) return damaged(id, number, error->message());
    bool const is_possible = header.number == number && header.first <= number &&
                             header.continuation <= header.first.value && header.range.size() > 0 &&
                             header.range.size() <= content_limit;
    if (!is_possible)
        return damaged(id, number, "its header belongs to another piece or states a wrong range");
    return header;
}

}  // namespace

json::Value clock_json(std::optional<TimeScale> const& clock)
{
    if (!clock) return {};
    return json::Object{
        {"origin", to_unix_ms(clock->origin)},
        {"real_origin", to_unix_ms(clock->real_origin)},
        // Records contain no real numbers: a factor is the hex digits of its bits.
        {"factor", fmt::format("{:016x}", std::bit_cast<std::uint64_t>(clock->factor))}};
}

char const* name(Stream stream)
{
    static constexpr std::array names{"poller", "signals", "trainer", "metrics", "evaluation"};
    return names.at(static_cast<std::size_t>(stream));
}

std::string StreamId::text() const
{
    return fmt::format("journal/{}/{}", site.value, name(stream));
}

Result<store::ObjectName> piece_name(StreamId const& id, PieceNumber number)
{
    return store::ObjectName::parse("runs/" + id.run.value + "/" + relative_name(id, number));
}

std::string encode(StreamId const& id, PieceHeader const& header, std::string_view content)
{
    return header_line(id, header) + std::string(content);
}

Result<Piece> decode(StreamId const& id, PieceNumber number, std::string_view bytes)
{
    auto const end = bytes.substr(0, static_cast<std::size_t>(header_limit)).find('\n');
    if (end == std::string_view::npos) return damaged(id, number, "it has no header");
    auto const header = decode_header(id, number, bytes.substr(0, end));
    if (!header) return tl::unexpected(header.error());
    auto const content = bytes.substr(end + 1);
    if (header->range.size() != static_cast<std::int64_t>(content.size()))
        return damaged(id, number, "it does not have the bytes that its header states");
    if (sha256(content) != header->content)
        return damaged(id, number, "its bytes do not have the digest in its header");
    return Piece{{*header, sha256(bytes)}, std::string(content)};
}

std::string encode_tip(StreamId const& id, Tip const& tip)
{
    return header_line(id, tip.header) + tip.digest.hex() + "\n";
}

std::optional<Tip> decode_tip(StreamId const& id, std::string_view text)
{
    auto const lines = split(text, '\n');
    if (lines.size() != 3 || !lines[2].empty()) return std::nullopt;
    auto const value = json::parse(lines[0], "tip", json::Dialect::strict, header_json);
    auto const number = value && value->as_object() != nullptr
                            ? value->as_object()->integer_at("number")
                            : std::nullopt;
    if (!number) return std::nullopt;
    auto const header = decode_header(id, {*number}, lines[0]);
    auto const digest = Digest::from_hex(lines[1]);
    if (!header || !digest) return std::nullopt;
    return Tip{*header, *digest};
}

}  // namespace curtail::journal
