// SPDX-License-Identifier: Apache-2.0
#include <cctype>

#include "bill/report/page_parts.hpp"

namespace curtail::report {
namespace {

constexpr auto text = Column::Kind::text;

// Figures of the energy table, of one site or of all. An unknown part makes its sum unknown.
class EnergyFigures {
  public:
    EnergyFigures(PageData const& data, std::vector<std::string> ids)
        : energy_(data["energy"]), ids_(std::move(ids))
    {
    }
    // For example `total_kwh`.
    [[nodiscard]] std::optional<double> of(char const* key) const
    {
        return sum([&](View part) { return part; }, key);
    }
    // For example `kwh` in the state `training`. Without the state, the part is 0.
    [[nodiscard]] std::optional<double> in_state(char const* key, char const* state) const
    {
        return sum([&](View part) { return part[state]; }, key);
    }

  private:
    template <class Part>
    [[nodiscard]] std::optional<double> sum(Part const& part, char const* key) const
    {
        double total = 0;
        for (auto const& id : ids_) {
            auto const found = part(energy_[key][id]);
            if (found.is_null()) return std::nullopt;
            total += found.number_or(0);
        }
        return total;
    }

    View energy_;
    std::vector<std::string> ids_;
};

EnergyFigures all_drawn(PageData const& data)
{
    std::vector<std::string> ids;
    for (auto const& s : data.sites()) ids.push_back(s["id"].text());
    return {data, ids};
}

// Columns of the energy table that are 0 in every row are left out.
struct EnergyColumns {
    std::vector<char const*> states;
    bool unknown{false};
};

EnergyColumns energy_columns(PageData const& data)
{
    EnergyColumns out;
    for (char const* state : {"training", "starting", "exchange", "draining", "idle", "suspended",
                              "frozen", "stalled", "requeued", "between_jobs"})
        for (auto const& [site, drawn] : data["energy"]["kwh"].members())
            if (drawn[state].number_or(0) > 0) {
                out.states.push_back(state);
                break;
            }
    for (auto const& [site, unknown] : data["energy"]["unknown_kwh"].members())
        out.unknown = out.unknown || unknown.number_or(0) > 0;
    return out;
}

// An amount after a mark. A zero is faint.
Cell amount(std::optional<double> x, std::string const& mark = {})
{
    return x && *x != 0 ? Cell(Html(mark + significant(x))) : or_faint_zero(x, 0, mark);
}

// `mark` is that of the CO2 of this site, or of all sites.
Row energy_row(EnergyColumns const& columns, Cell name, EnergyFigures const& drawn,
               std::string const& mark)
{
    auto const kwh = drawn.of("total_kwh").value_or(0);
    auto const unknown = drawn.of("unknown_kwh").value_or(0);
    auto const share = [](std::optional<double> part, double of) {
        return percent(part && of > 0 ? std::optional(*part / of) : std::nullopt);
    };
    Row row{std::move(name)};
    for (char const* state : columns.states) row.push_back(amount(drawn.in_state("kwh", state)));
    row.insert(row.end(), {element("b", significant(drawn.of("total_kwh"))),
                           share(drawn.of("inside_kwh"), kwh), share(drawn.of("window_kwh"), kwh)});
    if (columns.unknown) row.push_back(amount(unknown));
    auto const grams = drawn.of("total_g");
    for (char const* state : columns.states)
        row.push_back(amount(drawn.in_state("g", state), grams ? mark : ""));
    bool const has_intensity = grams && kwh > unknown;
    row.insert(row.end(), {element("b", Html(grams ? mark : "") + significant(grams)),
                           amount(drawn.of("outside_g"), grams ? mark : ""),
                           significant(has_intensity ? std::optional(*grams / (kwh - unknown))
                                                     : std::nullopt)});
    return row;
}

Html energy_table(PageData const& data)
{
    auto const columns = energy_columns(data);
    auto const group = [&](char const* title, char const* key) {
        return data.marked_unit(title, key) + data.source_mark(key);
    };
    auto const states = columns.states.size();
    Table table{"Energy and CO2 by site and state", {{"Site", text}}};
    table.groups = {{group("Energy, kWh", "energy"), states + 3 + (columns.unknown ? 1 : 0)},
                    {group("CO₂, g", "co2"), states + 3}};
    auto const add = [&](std::vector<std::string> const& titles) {
        for (auto const* state : columns.states) {
            std::string title = state;
            title[0] = static_cast<char>(std::toupper(title[0]));
            table.columns.push_back({title});
        }
        for (auto const& title : titles) table.columns.push_back({title});
    };
    add(columns.unknown ? std::vector<std::string>{"Total", "Below", "In windows", "Unknown"}
                        : std::vector<std::string>{"Total", "Below", "In windows"});
    add({"Total", "Above", "g/kWh"});
    for (auto const& s : data.sites())
        table.rows.push_back(
            energy_row(columns, data.dotted(s["id"]), {data, {s["id"].text()}},
                       mark_of(data["totals"]["sites"][s["id"].text()]["co2_bound"])));
    table.sums.push_back(energy_row(columns, "All sites", all_drawn(data),
                                    mark_of(data["totals"]["all"]["co2_bound"])));
    return to_html(table, {.box_style = "margin-top:8px"});
}

Html energy_note(PageData const& data)
{
    auto const drawn = all_drawn(data);
    auto const grams = drawn.of("total_g");
    auto const mark = mark_of(data["totals"]["all"]["co2_bound"]);
    auto const carbon =
        grams ? "“Above” is the CO₂ from energy drawn at or above the threshold: " + mark +
                    significant(drawn.of("outside_g")) + " of " + mark + significant(grams) + " g."
              : "CO₂ is unknown: " + data.why_no_carbon() + ".";
    return note(keep_units(
        "Bands in the CO₂ chart are close delays: the window stays open although intensity is "
        "above the threshold for closing, or unknown. “Below” is the share of all energy that is "
        "known to be drawn below the threshold. " +
        carbon));
}

// Explains sites whose carbon could look as if it were missing.
Html zero_note(PageData const& data)
{
    std::string names;
    for (auto const& s : data.sites()) {
        auto const total = data["totals"]["sites"][s["id"].text()];
        if (total["kwh"].number_or(0) > 0 && total["g"].number() == 0 &&
            total["unknown_kwh"].number_or(0) <= 0)
            names += (names.empty() ? "" : ", ") + s["label"].text();
    }
    if (names.empty()) return {};
    return note(
        names +
        ": 0 g is not missing data. The signal was at most 0 gCO₂/kWh at every sample while "
        "the site drew power.");
}

}  // namespace

Html energy_panel(PageData const& data)
{
    if (!data["energy"]) return empty("No site has held devices yet, so no energy was drawn.");
    return charts_place() + energy_table(data) + energy_note(data) + zero_note(data);
}

}  // namespace curtail::report
