// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "bill/report/html.hpp"
#include "bill/report/view.hpp"

// Numbers, times and sites as the page shows them. An unknown value is a dash.
namespace curtail::report {

/// Formats a number with `digits` decimals and with commas between thousands.
[[nodiscard]] std::string number(std::optional<double> x, int digits = 0);
[[nodiscard]] inline std::string number(View x, int digits = 0)
{
    return number(x.number(), digits);
}
/// Formats a number with three significant digits, as modelled amounts are known.
[[nodiscard]] std::string significant(std::optional<double> x);
[[nodiscard]] inline std::string significant(View x) { return significant(x.number()); }
/// Formats a number with its sign, `+` included.
[[nodiscard]] std::string signed_number(double x, int digits);
/// Formats a share in percent with three significant digits, with the unit.
[[nodiscard]] std::string percent(std::optional<double> share);
/// Formats a share in percent with three significant digits, without the unit.
[[nodiscard]] std::string in_percent(std::optional<double> share);
[[nodiscard]] inline std::string in_percent(View share) { return in_percent(share.number()); }
/// Formats hours from seconds.
[[nodiscard]] std::string hours(View seconds);
/// Formats `from`–`to` with three significant digits, or one number if both look the same.
[[nodiscard]] std::string range(double from, double to);
/// Formats a number of things: `1 site`, `3 sites`.
[[nodiscard]] std::string counted(double n, std::string const& noun);
/// Formats a duration: `3 h 05 m`, `3 m 05 s` or `5 s`.
[[nodiscard]] std::string duration(double seconds);
/// Replaces the space between a number and its unit by one that does not break.
[[nodiscard]] std::string keep_units(std::string const& text);
/// Returns the sign before a figure whose `..._bound` is `bound`: empty, `≥ `, `≤ ` or `~ `.
[[nodiscard]] std::string mark_of(View bound);
/// Returns the same as words: empty, `at least `, `at most ` or `about `.
[[nodiscard]] std::string words_of(View bound);
/// Returns the sign before the CO2 of a part of a site's or of a run's bill. `whole` has the bounds
/// of that bill: what is in doubt may lie in the part.
[[nodiscard]] std::string mark_of_part(View part, View whole);

/// A unit in which tokens are counted: its name, and its inverse.
struct TokenScale {
    double scale;
    std::string name;
};
[[nodiscard]] TokenScale token_scale(double count);

[[nodiscard]] Html note(Html const& content);
/// A paragraph for a panel without data.
[[nodiscard]] Html empty(std::string const& why);
/// A coloured part of a bar, as a share of its length.
[[nodiscard]] Html bar(double share, std::string const& color);
/// `color` mixed with the background.
[[nodiscard]] std::string fainter(std::string const& color, int percent);

/// A document, and what many panels of its page need.
class PageData {
  public:
    explicit PageData(json::Value const& document);
    View operator[](std::string_view key) const { return doc_[key]; }

    [[nodiscard]] std::vector<View> const& sites() const { return sites_; }
    /// Returns the label of the site with this name, or the name itself.
    [[nodiscard]] std::string label(View id) const;
    /// Returns a site's label after a dot in its colour.
    [[nodiscard]] Html dotted(View id) const;
    /// Returns the colour of a site, for the style sheet; it follows the theme.
    [[nodiscard]] std::string color_of_site(View id) const;
    [[nodiscard]] std::string color_of_region(View region) const;
    /// Returns the value that all sites share, with its unit; otherwise, returns `otherwise`.
    [[nodiscard]] std::string common(char const* key, std::string const& otherwise) const;
    /// Returns the threshold of all sites, with its unit. Otherwise, returns `otherwise`, or `the
    /// threshold in force` if it has changed.
    [[nodiscard]] std::string threshold(std::string const& otherwise) const;
    /// Lists all thresholds if one has changed: ` (100 or 400 g/kWh)`. The text may be empty.
    [[nodiscard]] std::string thresholds() const;
    /// Returns whether a site is in a region, or was before its settings changed.
    [[nodiscard]] static bool has_region(View site, View region);

    /// Returns a point in time in UTC. `seconds` counts from the document's time zero.
    [[nodiscard]] Html time(View seconds) const;
    [[nodiscard]] std::string day_month(double seconds) const;
    [[nodiscard]] std::string year(double seconds) const;
    [[nodiscard]] std::string hour_minute(double seconds) const;
    [[nodiscard]] bool has_several_days() const { return several_days_; }
    /// Returns the unit of real durations: `s`, or `real s` in a replay.
    [[nodiscard]] std::string real_s() const { return clock_factor() == 1 ? "s" : "real s"; }
    [[nodiscard]] double clock_factor() const;
    /// Returns a number of tokens in the unit of the run's tokens.
    [[nodiscard]] std::string tokens(std::optional<double> count, int digits = 2) const;
    [[nodiscard]] TokenScale const& token_scale() const { return token_scale_; }

    /// Returns the reason for which CO2 is unknown.
    [[nodiscard]] std::string why_no_carbon() const;
    /// Returns why a number is missing; empty if it is not.
    [[nodiscard]] std::string missing(char const* key) const { return doc_["missing"][key].text(); }
    /// Returns the letter that links a figure to the list of sources; empty if there is no source.
    [[nodiscard]] std::string source_letter(std::string const& key) const;
    [[nodiscard]] Html source_mark(std::string const& key) const;
    /// Returns a unit, marked ○ if the figures of `key` are modelled or estimated.
    [[nodiscard]] Html marked_unit(std::string const& unit, std::string const& key) const;
    /// Returns the line below a figure that says where it comes from.
    [[nodiscard]] Html source_line(std::string const& key) const;

  private:
    [[nodiscard]] Time at(double seconds) const;
    [[nodiscard]] View source(std::string const& key) const;

    View doc_;
    std::vector<View> sites_;
    double zero_ms_;
    bool several_days_;
    TokenScale token_scale_;
};

/// Returns the mark of an always-on scenario whose rate is that of joint rounds.
[[nodiscard]] std::string joint_rate_mark(View scenario);
/// Says what this mark means; empty if no scenario has it.
[[nodiscard]] std::string joint_rate_note(PageData const& data);
/// Returns the sign for how a figure was obtained.
[[nodiscard]] std::string kind_mark(View source);

}  // namespace curtail::report
