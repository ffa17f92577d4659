// SPDX-License-Identifier: Apache-2.0
#include "bill/report/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "bill/account/figures.hpp"

namespace curtail::report {
namespace {

constexpr char const* minus = "−";
constexpr char const* fixed_space = "\u00a0";
constexpr char const* joint_mark = "†";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Tells whether `text` begins with a unit that no letter follows.
bool begins_with_unit(std::string_view text)
{
    static constexpr std::array units{"%",   "kWh", "kW", "kg", "g", "h", "s",
                                      "min", "GB",  "G",  "M",  "k", "ms"};
    return std::any_of(units.begin(), units.end(), [&](std::string_view unit) {
        return text.starts_with(unit) &&
               (text.size() == unit.size() || !is_letter(text[unit.size()]));
    });
}

std::string replaced(std::string text, std::string_view what, std::string_view with)
{
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
        text.replace(at, what.size(), with);
    return text;
}

}  // namespace

std::string number(std::optional<double> x, int digits)
{
    if (!x || !std::isfinite(*x)) return "–";
    // The next greater number, so that 1.45 becomes 1.5 as in the charts: the nearest binary number
    // to such a fraction may be less than it.
    auto text = fmt::format("{:.{}f}", std::nextafter(std::abs(*x), HUGE_VAL), digits);
    auto const whole = std::min(text.find('.'), text.size());
    for (auto at = static_cast<std::ptrdiff_t>(whole) - 3; at > 0; at -= 3)
        text.insert(static_cast<std::size_t>(at), ",");
    return (std::signbit(*x) ? minus : "") + text;
}

std::string significant(std::optional<double> x)
{
    if (!x) return number(x);
    auto const rounded = account::to_three_digits(*x);
    return number(rounded.value, rounded.decimals);
}

std::string signed_number(double x, int digits) { return (x > 0 ? "+" : "") + number(x, digits); }

std::string percent(std::optional<double> share) { return in_percent(share) + (share ? " %" : ""); }

std::string in_percent(std::optional<double> share)
{
    return share ? significant(*share * 100) : "–";
}

std::string hours(View seconds) { return seconds ? number(seconds.number_or(0) / 3600, 2) : "–"; }

std::string range(double from, double to)
{
    auto const first = significant(from);
    auto const last = significant(to);
    return first == last ? first : first + "–" + last;
}

std::string counted(double n, std::string const& noun)
{
    return number(n) + " " + noun + (n == 1 ? "" : "s");
}

std::string duration(double seconds)
{
    auto const s = static_cast<std::int64_t>(std::floor(seconds + 0.5));
    auto const minutes = s % 3600 / 60;
    if (s >= 3600) return fmt::format("{} h {:02} m", s / 3600, minutes);
    return minutes > 0 ? fmt::format("{} m {:02} s", minutes, s % 60) : fmt::format("{} s", s);
}

std::string keep_units(std::string const& text)
{
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        bool const keeps = text[i] == ' ' && i > 0 && is_digit(text[i - 1]) &&
                           begins_with_unit(std::string_view(text).substr(i + 1));
        if (keeps) out += fixed_space;
        else out += text[i];
    }
    return replaced(out, " ± ", "\u00a0±\u00a0");
}

std::string mark_of(View bound)
{
    auto const text = bound.text();
    if (text == "at least") return "≥ ";
    if (text == "at most") return "≤ ";
    return text == "uncertain" ? "~ " : "";
}

std::string words_of(View bound)
{
    auto const text = bound.text();
    if (text == "uncertain") return "about ";
    return text == "exact" ? "" : text + " ";
}

std::string mark_of_part(View part, View whole)
{
    auto const mine = part["co2_bound"];
    auto const all = whole["energy_bound"];
    if (mark_of(all).empty() || mark_of(all) == mark_of(mine)) return mark_of(mine);
    return mark_of(mine).empty() ? mark_of(all) : "~ ";
}

TokenScale token_scale(double count)
{
    if (count >= 1e9) return {1e-9, "G"};
    if (count >= 1e6 || count == 0) return {1e-6, "M"};
    return {1e-3, "k"};
}

Html note(Html const& content) { return element("p.note", content); }
Html empty(std::string const& why) { return element("p.empty", why); }
Html bar(double share, std::string const& color)
{
    return element("i", {{"style", fmt::format("width:{:.6g}%;background:{}", 100 * share, color)}},
                   "");
}
std::string fainter(std::string const& color, int percent)
{
    return fmt::format("color-mix(in srgb,{} {}%,var(--bg))", color, percent);
}

PageData::PageData(json::Value const& document)
    : doc_(document),
      sites_(doc_["sites"].list()),
      zero_ms_(static_cast<double>(
          to_unix_ms(parse_time(doc_["run"]["time_zero"].text()).value_or(Time{})))),
      several_days_(false),
      token_scale_(report::token_scale(doc_["headline"]["tokens"].number_or(0)))
{
    auto const end_s = doc_["run"]["end_s"].number_or(0);
    several_days_ = day_month(0) + year(0) != day_month(end_s) + year(end_s);
}

std::string PageData::label(View id) const
{
    for (auto const& site : sites_)
        if (site["id"].text() == id.text()) return site["label"].text();
    return id.text();
}

Html PageData::dotted(View id) const
{
    auto const color = color_of_site(id);
    if (color.empty()) return label(id);
    return element("span.dot", {{"style", "background:" + color}, {"aria-hidden", "true"}}, "") +
           label(id);
}

std::string PageData::color_of_site(View id) const
{
    for (auto const& site : sites_)
        if (site["id"].text() == id.text())
            return fmt::format("var(--s{})", site["color"].integer() % 8);
    return "";
}

std::string PageData::color_of_region(View region) const
{
    for (auto const& site : sites_)
        if (has_region(site, region)) return color_of_site(site["id"]);
    return "var(--faint)";
}

std::string PageData::common(char const* key, std::string const& otherwise) const
{
    for (auto const& site : sites_)
        if (site[key].number() != sites_[0][key].number()) return otherwise;
    if (sites_.empty()) return otherwise;
    auto const rounded = std::round(sites_[0][key].number_or(0) * 100) / 100;
    return fmt::format("{:g} g/kWh", rounded);
}

std::string PageData::threshold(std::string const& otherwise) const
{
    return thresholds().empty() ? common("open_below", otherwise) : "the threshold in force";
}

std::string PageData::thresholds() const
{
    bool has_changed = false;
    std::set<double> values;
    for (auto const& site : sites_) {
        auto const last = site["open_below"].number_or(0);
        values.insert(last);
        for (auto const& then : site["settings"].list()) {
            values.insert(then["open_below"].number_or(0));
            has_changed = has_changed || then["open_below"].number_or(0) != last;
        }
    }
    if (!has_changed) return "";
    std::string text;
    for (auto const value : values)
        text += fmt::format("{}{:g}", text.empty() ? "" : " or ", std::round(value * 100) / 100);
    return " (" + text + " g/kWh)";
}

bool PageData::has_region(View site, View region)
{
    auto const then = site["settings"].list();
    return site["region"].text() == region.text() ||
           std::any_of(then.begin(), then.end(),
                       [&](View const& s) { return s["region"].text() == region.text(); });
}

Time PageData::at(double seconds) const
{
    return from_unix_ms(static_cast<std::int64_t>(zero_ms_ + seconds * 1000));
}

std::string PageData::day_month(double seconds) const
{
    static constexpr std::array months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    std::chrono::year_month_day const date(std::chrono::floor<std::chrono::days>(at(seconds)));
    return fmt::format("{} {}", static_cast<unsigned>(date.day()),
                       months.at(static_cast<unsigned>(date.month()) - 1));
}

std::string PageData::year(double seconds) const { return format_time(at(seconds)).substr(0, 4); }

std::string PageData::hour_minute(double seconds) const
{
    return format_time(at(seconds)).substr(11, 5);
}

Html PageData::time(View seconds) const
{
    auto const s = seconds.number_or(0);
    auto const utc = format_time(at(s));
    auto const date = several_days_ ? day_month(s) + " " : "";
    return element("time", {{"datetime", utc}}, date + utc.substr(11, 8));
}

double PageData::clock_factor() const { return doc_["run"]["clock_factor"].number_or(1); }

std::string PageData::tokens(std::optional<double> count, int digits) const
{
    return count ? number(*count * token_scale_.scale, digits) + fixed_space + token_scale_.name
                 : "–";
}

std::string PageData::why_no_carbon() const
{
    auto const why = missing("carbon");
    return why.empty() ? "intensity is unknown" : why;
}

View PageData::source(std::string const& key) const
{
    for (auto const& p : doc_["provenance"].list())
        if (p["key"].text() == key) return p;
    return {};
}

std::string PageData::source_letter(std::string const& key) const
{
    char letter = 'a';
    for (auto const& p : doc_["provenance"].list()) {
        if (p["key"].text() == key) return {letter};
        ++letter;
    }
    return "";
}

Html PageData::source_mark(std::string const& key) const
{
    auto const letter = source_letter(key);
    if (letter.empty()) return {};
    return element("sup.fn", element("a",
                                     {{"href", "#prov-" + key},
                                      {"data-prov", key},
                                      {"aria-label", "provenance " + letter}},
                                     letter));
}

Html PageData::marked_unit(std::string const& unit, std::string const& key) const
{
    auto const p = source(key);
    if (!p || kind_mark(p) != "○") return unit;
    return Html(unit + " ") + element("span.est",
                                      {{"title", p["kind"].text() + ": " + p["source"].text()},
                                       {"aria-label", p["kind"].text()}},
                                      "○");
}

Html PageData::source_line(std::string const& key) const
{
    auto const p = source(key);
    if (!p) return {};
    auto const from = p["source"].text();
    return element("p.kind", element("i", {{"aria-hidden", "true"}}, kind_mark(p)) + " " +
                                 p["kind"].text() + ": " + (from.empty() ? "see below" : from));
}

std::string joint_rate_mark(View scenario)
{
    return scenario["rate"]["from"].text() == "joint" ? std::string(" ") + joint_mark : "";
}

std::string joint_rate_note(PageData const& data)
{
    std::vector<std::string> names;
    for (auto const& a : data["headline"]["always_on"].list()) {
        auto const name = data.label(a["as_site"]);
        if (!joint_rate_mark(a).empty() &&
            std::find(names.begin(), names.end(), name) == names.end())
            names.push_back(name);
    }
    if (names.empty()) return "";
    return fmt::format("{} The rate is that of joint rounds: {} has no step without another site.",
                       joint_mark, fmt::join(names, ", "));
}

std::string kind_mark(View source)
{
    auto const kind = source["kind"].text();
    if (kind == "measured" || kind == "logged") return "●";
    return kind == "derived" ? "◐" : "○";
}

}  // namespace curtail::report
