// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.hpp"
#include "protocol/records/record_fields.hpp"
#include "protocol/records/terms.hpp"

// What differs between records, and between terms.
namespace curtail::protocol {
namespace fields {
namespace {

json::Object const& object_in(json::Value const* value)
{
    static json::Object const empty;
    auto const* object = value != nullptr ? value->as_object() : nullptr;
    return object != nullptr ? *object : empty;
}

}  // namespace

std::vector<Difference> differences(json::Object const& left, json::Object const& right,
                                    std::string const& prefix)
{
    std::vector<std::string> keys;
    for (auto const& [key, value] : left.members()) keys.push_back(key);
    for (auto const& [key, value] : right.members())
        if (left.find(key) == nullptr) keys.push_back(key);
    std::vector<Difference> all;
    for (auto const& key : keys) {
        auto const* a = left.find(key);
        auto const* b = right.find(key);
        if (a != nullptr && b != nullptr && json::canonical(*a) == json::canonical(*b)) continue;
        auto inner = differences(object_in(a), object_in(b), prefix + key + ".");
        if (inner.empty())
            inner.push_back({prefix + key, a != nullptr ? *a : json::Value(),
                             b != nullptr ? *b : json::Value()});
        all.insert(all.end(), inner.begin(), inner.end());
    }
    return all;
}

std::string to_text(json::Value const& value)
{
    if (value.is_null()) return "absent";
    if (auto const* flag = value.as_bool()) return *flag ? "true" : "false";
    if (auto const* integer = value.as_integer()) return std::to_string(*integer);
    auto const* text = value.as_text();
    auto const real = text != nullptr ? double_from_exact(*text) : std::nullopt;
    if (real) return fmt::format("{:g}", *real);
    return text != nullptr && text->size() <= 32 ? printable(*text) : "other";
}

}  // namespace fields

namespace {

constexpr std::string_view of_site = "sites.";
constexpr std::string_view of_param = "params.";

// The terms without the sites, as their record has them.
json::Object without_sites(Terms const& terms)
{
    auto object = fields::of(terms);
    object.erase("sites");
    return object;
}

bool has(Terms const& terms, SiteId const& site)
{
    return std::ranges::count(terms.sites, site) > 0;
}

// The value of a term. Null: there is none.
json::Value value_of(json::Object const& object, std::string_view term)
{
    auto const dot = term.find('.');
    auto const* value = object.find(std::string(term.substr(0, dot)));
    if (value == nullptr) return {};
    if (dot == std::string_view::npos) return value->as_object() ? json::Value() : *value;
    auto const* inner = value->as_object();
    return inner != nullptr ? value_of(*inner, term.substr(dot + 1)) : json::Value();
}

void set_value(json::Object& object, std::string const& term, json::Value value)
{
    auto const dot = term.find('.');
    if (dot == std::string::npos) {
        object.set(term, std::move(value));
        return;
    }
    auto const key = term.substr(0, dot);
    auto const* found = object.find(key);
    auto inner = found != nullptr && found->as_object() ? *found->as_object() : json::Object{};
    set_value(inner, term.substr(dot + 1), std::move(value));
    object.set(key, std::move(inner));
}

using Changed = tl::expected<Terms, std::string>;

// Sets values in `terms`, and reads the result as a record's.
Changed with_values(Terms const& terms, std::vector<TermChange> const& changes,
                    fields::Together together)
{
    auto object = fields::of(terms);
    auto sites = terms.sites;
    for (auto const& change : changes) {
        if (!change.term.starts_with(of_site)) {
            set_value(object, change.term, change.to);
            continue;
        }
        SiteId const site{change.term.substr(of_site.size())};
        auto const* enters = change.to.as_bool();
        if (!change.to.is_null() && (enters == nullptr || !*enters))
            return tl::unexpected(change.term + " must be true or null");
        std::erase(sites, site);
        if (enters != nullptr) sites.push_back(site);
    }
    object.set("sites", json::array_of(sites, [](SiteId const& site) { return site.value; }));
    json::Value const value(std::move(object));
    json::ObjectReader reader(value, "terms", ExitCode::protocol);
    auto read = fields::terms(reader, together);
    if (auto error = reader.finish()) return tl::unexpected(error->message());
    return read;
}

}  // namespace

std::vector<TermChange> changes(Terms const& from, Terms const& to)
{
    std::vector<TermChange> all;
    for (auto& found : fields::differences(without_sites(from), without_sites(to)))
        all.push_back({std::move(found.key), std::move(found.left), std::move(found.right)});
    for (auto const& site : to.sites)
        if (!has(from, site)) all.push_back({std::string(of_site) + site.value, {}, true});
    for (auto const& site : from.sites)
        if (!has(to, site)) all.push_back({std::string(of_site) + site.value, true, {}});
    std::ranges::sort(all, {}, &TermChange::term);
    return all;
}

Changed changed(Terms const& terms, std::vector<TermChange> const& changes)
{
    auto const object = without_sites(terms);
    for (auto const& change : changes) {
        auto const now =
            change.term.starts_with(of_site)
                ? (has(terms, {change.term.substr(of_site.size())}) ? json::Value(true) : nullptr)
                : value_of(object, change.term);
        if (now == change.from) continue;
        return tl::unexpected(fmt::format("it was made when {} was {}, which is {} now",
                                          file_key(change.term), fields::to_text(change.from),
                                          fields::to_text(now)));
    }
    return with_values(terms, changes, fields::Together::consistent);
}

std::optional<std::string> invalid_value(std::vector<TermChange> const& changes)
{
    auto const read = with_values({}, changes, fields::Together::unknown);
    return read ? std::nullopt : std::optional(read.error());
}

std::string file_key(std::string const& term)
{
    if (term == "tokens") return "training.tokens";
    if (!term.starts_with(of_param)) return term;
    auto key = "rounds." + term.substr(of_param.size());
    Params const params;
    each_param(params, [&](ParamKey const& names, auto const&) {
        if (of_param.size() + std::string_view(names.record).size() == term.size() &&
            term.ends_with(names.record))
            key = std::string("rounds.") + names.file;
    });
    return key;
}

namespace {

// A value in the unit of a run file.
std::string file_value(std::string const& term, json::Value const& value)
{
    auto const* integer = value.as_integer();
    if (integer == nullptr || !term.ends_with("_ms")) return fields::to_text(value);
    return fmt::format("{:g}", FractionalSeconds(Millis{*integer}).count());
}

}  // namespace

std::string to_text(TermChange const& change)
{
    if (change.term.starts_with(of_site))
        return fmt::format("site {} {}", change.term.substr(of_site.size()),
                           change.to.is_null() ? "is retired" : "may enter");
    return fmt::format("{} changes from {} to {}", file_key(change.term),
                       file_value(change.term, change.from), file_value(change.term, change.to));
}

std::vector<std::string> differences(Terms const& in_force, Terms const& ours)
{
    std::vector<std::string> texts;
    for (auto const& [term, theirs, mine] : changes(in_force, ours))
        if (!term.starts_with(of_site))
            texts.push_back(
                fmt::format("{} is {} in the run's terms and {} in this site's "
                            "configuration",
                            file_key(term), file_value(term, theirs), file_value(term, mine)));
    return texts;
}

}  // namespace curtail::protocol
