// SPDX-License-Identifier: Apache-2.0
#include "base/core/json.hpp"

#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/reader.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "base/core/files.hpp"
#include "base/core/foreign_text.hpp"
#include "base/core/text.hpp"

namespace curtail::json {
namespace {

// Builds a Value from RapidJSON's events. Checks what RapidJSON does not: depth, duplicate keys
// and unpaired surrogates.
class Builder {
  public:
    explicit Builder(int depth_limit) : depth_limit_(depth_limit) {}
    // NOLINTBEGIN(readability-identifier-naming): names of RapidJSON's handler
    bool Null() { return add(nullptr); }
    bool Bool(bool b) { return add(b); }
    bool Int(int i) { return add(std::int64_t{i}); }
    bool Uint(unsigned i) { return add(std::int64_t{i}); }
    bool Int64(std::int64_t i) { return add(i); }
    bool Uint64(std::uint64_t i)
    {
        return i <= INT64_MAX ? add(static_cast<std::int64_t>(i)) : add(static_cast<double>(i));
    }
    bool Double(double d) { return add(d); }
    bool RawNumber(char const*, rapidjson::SizeType, bool) { return false; }
    bool String(char const* s, rapidjson::SizeType n, bool)
    {
        return is_text({s, n}) && add(std::string(s, n));
    }
    bool Key(char const* s, rapidjson::SizeType n, bool)
    {
        if (!is_text({s, n})) return false;
        auto& open = open_.back();
        open.key.assign(s, n);
        if (is_new_key(open)) return true;
        return refuse("duplicate key " + shell_quoted(open.key));
    }
    bool StartObject() { return push(true); }
    bool StartArray() { return push(false); }
    bool EndObject(rapidjson::SizeType) { return pop(); }
    bool EndArray(rapidjson::SizeType) { return pop(); }
    // NOLINTEND(readability-identifier-naming)

    Value root;
    [[nodiscard]] std::string const& refusal() const { return refusal_; }

  private:
    struct OpenContainer {
        bool is_object;
        std::vector<std::pair<std::string, Value>> members{};
        std::set<std::string> keys{};  // of `members`, once there are many
        Array array{};
        std::string key{};
    };
    // Searches few members one by one and many in a tree, so that no choice of keys is slow.
    static bool is_new_key(OpenContainer& open)
    {
        constexpr std::size_t few = 32;
        auto const& members = open.members;
        if (members.size() < few)
            return std::none_of(members.begin(), members.end(),
                                [&](auto const& member) { return member.first == open.key; });
        if (open.keys.empty())
            for (auto const& member : members) open.keys.insert(member.first);
        return open.keys.insert(open.key).second;
    }
    bool refuse(std::string why)
    {
        refusal_ = std::move(why);
        return false;
    }
    bool is_text(std::string_view text)
    {
        return !find_invalid_utf8(text) || refuse("unpaired surrogate");
    }
    bool push(bool is_object)
    {
        if (static_cast<int>(open_.size()) >= depth_limit_)
            return refuse("nested deeper than " + std::to_string(depth_limit_) + " levels");
        constexpr std::size_t usual_members = 12;
        open_.push_back({.is_object = is_object});
        if (is_object) open_.back().members.reserve(usual_members);
        return true;
    }
    bool pop()
    {
        OpenContainer closed = std::move(open_.back());
        open_.pop_back();
        return closed.is_object ? add(Object::of_distinct(std::move(closed.members)))
                                : add(std::move(closed.array));
    }
    bool add(Value value)
    {
        if (open_.empty()) root = std::move(value);
        else if (open_.back().is_object)
            open_.back().members.emplace_back(std::move(open_.back().key), std::move(value));
        else open_.back().array.push_back(std::move(value));
        return true;
    }
    int depth_limit_;
    std::vector<OpenContainer> open_;
    std::string refusal_;
};

std::string place_of(std::string_view text, std::size_t offset)
{
    offset = std::min(offset, text.size());
    auto const before = text.substr(0, offset);
    auto const line = 1 + std::count(before.begin(), before.end(), '\n');
    auto const line_start = before.rfind('\n');
    auto const column = offset - (line_start == std::string_view::npos ? 0 : line_start + 1) + 1;
    return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

// Writes a Value to a RapidJSON writer, which formats it.
template <class Writer>
class Printer {
  public:
    Printer(Writer& out, bool canonical_form) : out_(out), canonical_(canonical_form) {}
    void write(Value const& value) { std::visit(*this, value.variant()); }

    void operator()(std::nullptr_t) { out_.Null(); }
    void operator()(bool b) { out_.Bool(b); }
    void operator()(std::int64_t i) { out_.Int64(i); }
    void operator()(double d)
    {
        if (canonical_) throw std::logic_error("canonical JSON must not contain real numbers");
        if (std::isfinite(d)) out_.Double(d);
        else out_.Null();
    }
    void operator()(std::string const& s)
    {
        if (find_invalid_utf8(s)) (*this)(valid_utf8(s));
        else out_.String(s.data(), size_of(s));
    }
    void operator()(Array const& a)
    {
        out_.StartArray();
        for (auto const& element : a) write(element);
        out_.EndArray();
    }
    void operator()(Object const& o)
    {
        auto const& members = o.members();
        auto const by_key = [](auto const& a, auto const& b) { return a.first < b.first; };
        out_.StartObject();
        if (!canonical_ || std::is_sorted(members.begin(), members.end(), by_key))
            for (auto const& member : members) write(member);
        else write_sorted(members);
        out_.EndObject();
    }

  private:
    using Member = std::pair<std::string, Value>;
    void write_sorted(std::vector<Member> const& members)
    {
        std::vector<Member const*> sorted;
        sorted.reserve(members.size());
        for (auto const& member : members) sorted.push_back(&member);
        std::sort(sorted.begin(), sorted.end(),
                  [](auto* a, auto* b) { return a->first < b->first; });
        for (auto const* member : sorted) write(*member);
    }
    void write(Member const& member)
    {
        auto const& key = member.first;
        auto const mended = find_invalid_utf8(key) ? valid_utf8(key) : std::string();
        auto const& shown = mended.empty() ? key : mended;
        out_.Key(shown.data(), size_of(shown));
        write(member.second);
    }
    static rapidjson::SizeType size_of(std::string const& text)
    {
        return static_cast<rapidjson::SizeType>(text.size());
    }
    Writer& out_;
    bool canonical_;
};

template <class Writer>
std::string printed(Writer& out, rapidjson::StringBuffer const& buffer, Value const& value,
                    bool canonical_form = false)
{
    Printer<Writer>(out, canonical_form).write(value);
    return {buffer.GetString(), buffer.GetSize()};
}

// Problems that are easier to see in the text than during parsing.
std::optional<std::string> find_problem(std::string_view text, Limits limits)
{
    if (text.size() > limits.bytes)
        return "it has " + std::to_string(text.size()) + " bytes, the limit is " +
               std::to_string(limits.bytes);
    if (auto const at = find_invalid_utf8(text)) return "invalid UTF-8 at " + place_of(text, *at);
    if (auto const at = text.find('\0'); at != std::string_view::npos)
        return place_of(text, at) + ": NUL byte";
    return std::nullopt;
}

}  // namespace

Object::Object(std::initializer_list<Member> members)
{
    members_.reserve(members.size());
    for (auto const& member : members) set(member.key, std::move(member.value));
}

Object Object::of_distinct(std::vector<std::pair<std::string, Value>> members)
{
    Object object;
    object.members_ = std::move(members);
    return object;
}

Value const* Object::find(std::string_view key) const
{
    auto const it = std::find_if(members_.begin(), members_.end(),
                                 [&](auto const& member) { return member.first == key; });
    return it == members_.end() ? nullptr : &it->second;
}

std::string Object::text_at(std::string_view key) const
{
    auto const* value = find(key);
    auto const* text = value != nullptr ? value->as_text() : nullptr;
    return text != nullptr ? *text : "";
}

std::optional<std::int64_t> Object::integer_at(std::string_view key) const
{
    auto const* value = find(key);
    auto const* integer = value != nullptr ? value->as_integer() : nullptr;
    return integer != nullptr ? std::optional(*integer) : std::nullopt;
}

std::optional<double> Object::number_at(std::string_view key) const
{
    auto const* value = find(key);
    return value != nullptr ? value->as_number() : std::nullopt;
}

Value text_or_null(std::string text) { return text.empty() ? Value() : Value(std::move(text)); }

std::optional<bool> Object::bool_at(std::string_view key) const
{
    auto const* value = find(key);
    auto const* flag = value != nullptr ? value->as_bool() : nullptr;
    return flag != nullptr ? std::optional(*flag) : std::nullopt;
}

Value time_or_null(std::optional<Time> const& time)
{
    return time ? Value(format_time(*time)) : Value();
}

std::optional<Time> Object::time_at(std::string_view key) const
{
    auto const time = parse_time(text_at(key));
    return time ? std::optional(*time) : std::nullopt;
}

Object& Object::set(std::string key, Value value)
{
    auto const it = std::find_if(members_.begin(), members_.end(),
                                 [&](auto const& member) { return member.first == key; });
    if (it == members_.end()) members_.emplace_back(std::move(key), std::move(value));
    else it->second = std::move(value);
    return *this;
}

void Object::erase(std::string_view key)
{
    std::erase_if(members_, [&](auto const& member) { return member.first == key; });
}

bool operator==(Object const& a, Object const& b) { return a.members_ == b.members_; }

std::optional<double> Value::as_number() const
{
    if (auto const* i = as_integer()) return static_cast<double>(*i);
    if (auto const* d = std::get_if<double>(&v_)) return *d;
    return std::nullopt;
}

char const* Value::type_name() const
{
    static constexpr char const* names[] = {"null", "true or false", "integer", "number",
                                            "text", "list",          "object"};
    return names[v_.index()];
}

Result<Value> parse(std::string_view text, std::string const& source, Dialect dialect,
                    Limits limits)
{
    auto const bad = [&](std::string why) {
        return fail(ExitCode::data, "cannot read " + source, std::move(why));
    };
    if (auto foreign = wide_text(text))
        return fail(ExitCode::data, "cannot read " + source, std::move(foreign->why),
                    std::move(foreign->remedy));
    if (auto problem = find_problem(text, limits)) return bad(std::move(*problem));
    if (dialect == Dialect::comments) text = without_byte_order_mark(text);
    if (text.starts_with(byte_order_mark))
        return fail(ExitCode::data, "cannot read " + source,
                    "it begins with a byte order mark (EF BB BF)",
                    "save it as UTF-8 without the mark");
    rapidjson::MemoryStream stream(text.data(), text.size());
    rapidjson::Reader reader;
    Builder builder(limits.depth);
    using namespace rapidjson;
    // find_problem() has checked the encoding.
    constexpr unsigned strict = kParseIterativeFlag | kParseFullPrecisionFlag;
    constexpr unsigned relaxed = strict | kParseCommentsFlag | kParseTrailingCommasFlag;
    auto const result = dialect == Dialect::strict ? reader.Parse<strict>(stream, builder)
                                                   : reader.Parse<relaxed>(stream, builder);
    if (result) return std::move(builder.root);
    if (auto foreign = foreign_line_ends(text))
        return fail(ExitCode::data, "cannot read " + source, std::move(foreign->why),
                    std::move(foreign->remedy));
    return bad(place_of(text, result.Offset()) + ": " +
               (builder.refusal().empty() ? GetParseError_En(result.Code()) : builder.refusal()));
}

Result<Value> parse_file(std::filesystem::path const& path, Dialect dialect, Limits limits)
{
    return read_file(path, static_cast<std::int64_t>(limits.bytes))
        .and_then(
            [&](std::string const& text) { return parse(text, path.string(), dialect, limits); });
}

Result<Value> parse_settings(std::filesystem::path const& path)
{
    return parse_file(path).map_error([](Error error) {
        if (error.code == ExitCode::data) error.code = ExitCode::config;
        return error;
    });
}

Result<std::optional<Value>> parse_file_if_exists(std::filesystem::path const& path,
                                                  Dialect dialect, Limits limits)
{
    auto const text = read_file_if_exists(path, static_cast<std::int64_t>(limits.bytes));
    if (!text) return tl::unexpected(text.error());
    if (!*text) return std::optional<Value>{};
    return parse(**text, path.string(), dialect, limits).map([](Value value) {
        return std::optional(std::move(value));
    });
}

std::string to_string(Value const& value)
{
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> out(buffer);
    return printed(out, buffer, value);
}

std::string to_pretty(Value const& value)
{
    rapidjson::StringBuffer buffer;
    rapidjson::PrettyWriter<rapidjson::StringBuffer> out(buffer);
    out.SetIndent(' ', 2);
    out.SetFormatOptions(rapidjson::kFormatSingleLineArray);
    return printable_json(printed(out, buffer, value)) + "\n";
}

bool has_real(Value const& value)
{
    if (auto const* array = value.as_array()) return std::ranges::any_of(*array, has_real);
    if (auto const* object = value.as_object())
        return std::ranges::any_of(object->members(),
                                   [](auto const& member) { return has_real(member.second); });
    return std::holds_alternative<double>(value.variant());
}

std::string canonical(Value const& value)
{
    constexpr std::size_t usual_bytes = 4096;
    rapidjson::StringBuffer buffer(nullptr, usual_bytes);
    rapidjson::Writer<rapidjson::StringBuffer> out(buffer);
    return printed(out, buffer, value, true);
}

std::string to_script(Value const& value)
{
    static constexpr std::pair<std::string_view, char const*> escapes[] = {
        {"<", "\\u003c"},
        {">", "\\u003e"},
        {"&", "\\u0026"},
        {"\xE2\x80\xA8", "\\u2028"},
        {"\xE2\x80\xA9", "\\u2029"}};
    std::string out;
    auto const text = to_string(value);
    for (std::string_view rest = text; !rest.empty();) {
        auto const* const found = std::ranges::find_if(
            escapes, [&](auto const& escape) { return rest.starts_with(escape.first); });
        bool const is_escaped = found != std::end(escapes);
        out += is_escaped ? std::string_view(found->second) : rest.substr(0, 1);
        rest.remove_prefix(is_escaped ? found->first.size() : 1);
    }
    return out;
}

}  // namespace curtail::json
