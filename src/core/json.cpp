// SPDX-License-Identifier: Apache-2.0
#include "core/json.hpp"

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

#include "core/files.hpp"
#include "core/text.hpp"

namespace curtail::json {
namespace {

/// Builds a Value from RapidJSON's events; counts depth itself, refuses duplicate keys and half
/// surrogate pairs, which RapidJSON lets pass.
class Builder {
  public:
    explicit Builder(int depth_limit) : depth_limit_(depth_limit) {}
    // NOLINTBEGIN(readability-identifier-naming): the names of RapidJSON's handler
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
        if (open.keys.insert(open.key).second) return true;
        return refuse("key \"" + printable(open.key) + "\" stands twice in one object");
    }
    bool StartObject() { return push(true); }
    bool StartArray() { return push(false); }
    bool EndObject(rapidjson::SizeType) { return pop(); }
    bool EndArray(rapidjson::SizeType) { return pop(); }
    // NOLINTEND(readability-identifier-naming)

    Value root;
    [[nodiscard]] std::string const& refusal() const { return refusal_; }

  private:
    struct Open {
        bool is_object;
        std::vector<std::pair<std::string, Value>> members;
        std::set<std::string>
            keys;  ///< of `members`; a tree, since no choice of keys can make it slow
        Array array;
        std::string key;
    };
    bool refuse(std::string why)
    {
        refusal_ = std::move(why);
        return false;
    }
    bool is_text(std::string_view text)
    {
        return !find_invalid_utf8(text) || refuse("half of a surrogate pair stands alone");
    }
    bool push(bool is_object)
    {
        if (static_cast<int>(open_.size()) >= depth_limit_)
            return refuse("nested deeper than " + std::to_string(depth_limit_) + " levels");
        open_.push_back({is_object, {}, {}, {}, {}});
        return true;
    }
    bool pop()
    {
        Open closed = std::move(open_.back());
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
    std::vector<Open> open_;
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

template <class Writer>
void write(Writer& out, Value const& value, bool canonical_form)
{
    struct Visitor {
        Writer& out;
        bool canonical_form;
        void operator()(std::nullptr_t) { out.Null(); }
        void operator()(bool b) { out.Bool(b); }
        void operator()(std::int64_t i) { out.Int64(i); }
        void operator()(double d)
        {
            if (canonical_form) throw std::logic_error("canonical JSON holds integers only");
            if (std::isfinite(d)) out.Double(d);
            else out.Null();
        }
        void operator()(std::string const& s)
        {
            out.String(s.data(), static_cast<rapidjson::SizeType>(s.size()));
        }
        void operator()(Array const& a)
        {
            out.StartArray();
            for (auto const& element : a) write(out, element, canonical_form);
            out.EndArray();
        }
        void operator()(Object const& o)
        {
            std::vector<std::pair<std::string, Value> const*> members;
            for (auto const& member : o.members()) members.push_back(&member);
            if (canonical_form)
                std::sort(members.begin(), members.end(),
                          [](auto* a, auto* b) { return a->first < b->first; });
            out.StartObject();
            for (auto const* member : members) {
                out.Key(member->first.data(),
                        static_cast<rapidjson::SizeType>(member->first.size()));
                write(out, member->second, canonical_form);
            }
            out.EndObject();
        }
    };
    std::visit(Visitor{out, canonical_form}, value.variant());
}

}  // namespace

Object::Object(std::initializer_list<std::pair<std::string, Value>> members)
{
    for (auto const& [key, value] : members) set(key, value);
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

char const* Value::kind() const
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
    if (text.size() > limits.bytes)
        return bad("it has " + std::to_string(text.size()) + " bytes, the limit is " +
                   std::to_string(limits.bytes));
    if (auto const at = find_invalid_utf8(text)) return bad("not UTF-8 at " + place_of(text, *at));
    if (auto const at = text.find('\0'); at != std::string_view::npos)
        return bad(place_of(text, at) + ": a NUL byte");
    rapidjson::MemoryStream stream(text.data(), text.size());
    rapidjson::Reader reader;
    Builder builder(limits.depth);
    using namespace rapidjson;
    constexpr unsigned strict =
        kParseIterativeFlag | kParseFullPrecisionFlag | kParseValidateEncodingFlag;
    constexpr unsigned relaxed = strict | kParseCommentsFlag | kParseTrailingCommasFlag;
    auto const result = dialect == Dialect::strict ? reader.Parse<strict>(stream, builder)
                                                   : reader.Parse<relaxed>(stream, builder);
    if (!result) {
        std::string const why =
            builder.refusal().empty() ? GetParseError_En(result.Code()) : builder.refusal();
        return bad(place_of(text, result.Offset()) + ": " + why);
    }
    return std::move(builder.root);
}

Result<Value> parse_file(std::filesystem::path const& path, Dialect dialect, Limits limits)
{
    return read_file(path, static_cast<std::int64_t>(limits.bytes))
        .and_then(
            [&](std::string const& text) { return parse(text, path.string(), dialect, limits); });
}

std::string to_string(Value const& value)
{
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> out(buffer);
    write(out, value, false);
    return {buffer.GetString(), buffer.GetSize()};
}

std::string to_pretty(Value const& value)
{
    rapidjson::StringBuffer buffer;
    rapidjson::PrettyWriter<rapidjson::StringBuffer> out(buffer);
    out.SetIndent(' ', 2);
    out.SetFormatOptions(rapidjson::kFormatSingleLineArray);
    write(out, value, false);
    return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

std::string canonical(Value const& value)
{
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> out(buffer);
    write(out, value, true);
    return {buffer.GetString(), buffer.GetSize()};
}

std::string to_script(Value const& value)
{
    std::string out;
    auto const text = to_string(value);
    for (std::size_t i = 0; i < text.size(); ++i) {
        char const c = text[i];
        if (c == '<') out += "\\u003c";
        else if (c == '>') out += "\\u003e";
        else if (c == '&') out += "\\u0026";
        else if (text.compare(i, 3, "\xE2\x80\xA8") == 0) out += "\\u2028", i += 2;
        else if (text.compare(i, 3, "\xE2\x80\xA9") == 0) out += "\\u2029", i += 2;
        else out += c;
    }
    return out;
}

}  // namespace curtail::json
