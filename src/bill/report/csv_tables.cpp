// SPDX-License-Identifier: Apache-2.0
#include "bill/report/csv_tables.hpp"

#include "base/core/text.hpp"
#include "bill/report/view.hpp"

namespace curtail::report {
namespace {

// A column: its name, and the key of its value. A point in time has a name that ends in `_utc`.
struct Field {
    std::string_view name;
    std::string_view key;
};

// Reads columns from words such as `steps` or `opened_utc=open_s`: name, and key if it is another.
std::vector<Field> fields_of(std::string_view words)
{
    std::vector<Field> out;
    for (auto const word : split(words, ' ')) {
        auto const equals = word.find('=');
        auto const key = equals == std::string_view::npos ? word : word.substr(equals + 1);
        out.push_back({word.substr(0, equals), key});
    }
    return out;
}

// Energy and carbon: the columns that several tables share.
constexpr std::string_view tally =
    " energy_kwh=kwh energy_is_whole energy_of_unknown_intensity_kwh=kwh_unknown "
    "share_below_threshold=share co2_g=gco2 co2_above_threshold_g=gco2_outside co2_is_whole";

class Tables {
  public:
    explicit Tables(json::Value const& document) : doc_(document)
    {
        zero_ = parse_time(doc_["run"]["time_zero"].text()).value_or(Time{});
    }

    // Starts a table with the columns of fields_of().
    void start(std::string name, std::string const& words)
    {
        auto& table = tables_.emplace_back(Table{std::move(name), {}});
        words_ = words;
        fields_ = fields_of(words_);
        for (auto const& field : fields_)
            table.columns.push_back({.title = std::string(field.name)});
    }
    // Appends a row. Each value is in the first of `parts` that has its key.
    void add(std::vector<View> const& parts)
    {
        auto& row = tables_.back().rows.emplace_back();
        for (auto const& field : fields_) {
            View found;
            for (auto const& part : parts)
                if (!found) found = part[field.key];
            row.push_back(field.name.ends_with("_utc") ? utc(found) : found.value());
        }
    }
    void add(std::string name, std::string const& words, View rows)
    {
        start(std::move(name), words);
        for (auto const& row : rows.list()) add({row});
    }
    // For a row that is no object of the document. A number in a column of time is a point in time.
    void add_cells(json::Array const& cells)
    {
        auto& row = tables_.back().rows.emplace_back();
        for (std::size_t i = 0; i < cells.size(); ++i)
            row.push_back(fields_[i].name.ends_with("_utc") ? utc(cells[i]) : cells[i]);
    }
    [[nodiscard]] View doc() const { return doc_; }
    [[nodiscard]] std::vector<Table> take() { return std::move(tables_); }

  private:
    [[nodiscard]] json::Value utc(View seconds) const
    {
        if (!seconds) return {};
        auto const since = std::chrono::round<Millis>(FractionalSeconds(seconds.number_or(0)));
        return format_time(zero_ + since);
    }

    View doc_;
    Time zero_;
    std::string words_;
    std::vector<Field> fields_;  // views of `words_`
    std::vector<Table> tables_;
};

json::Value watts(View kilowatts) { return kilowatts.number_or(0) * 1000; }

void add_sites(Tables& out)
{
    out.start("sites",
              "site=id region devices idle_w training_w pue tokens joint_rounds lone_rounds "
              "allocated_s held_devices_s goodput energy_kwh=kwh energy_is_whole "
              "energy_of_unknown_intensity_kwh=unknown_kwh share_below_threshold=share co2_g=g "
              "co2_above_threshold_g=g_outside co2_is_whole");
    for (auto const& site : out.doc()["sites"].list()) {
        auto const power = site["power"];
        json::Value const in_watts = json::Object{{"idle_w", watts(power["idle_kw"])},
                                                  {"training_w", watts(power["training_kw"])}};
        out.add({site, power, in_watts, out.doc()["totals"]["sites"][site["id"].text()]});
    }
}

void add_states(Tables& out)
{
    out.start("energy", "site state" + std::string(tally));
    for (auto const& [site, states] : out.doc()["energy"]["states"].members())
        for (auto const& [state, drawn] : states.members()) {
            json::Value const names = json::Object{{"site", site}, {"state", state}};
            out.add({names, drawn});
        }
    out.start("states", "site state from_utc to_utc");
    for (auto const& [site, spans] : out.doc()["states"].members())
        for (auto const& span : spans.list())
            out.add_cells({site, span[0].value(), span[1].value(), span[2].value()});
}

void add_rounds(Tables& out)
{
    out.start(
        "rounds",
        "round=number began_utc=start_s ended_utc=end_s merged_utc=merged_s mode steps tokens "
        "duration_real_s=duration_s merge_real_s=merge_s "
        "delta_norm_per_sqrt_token=delta_norm loss_nats_per_token=loss mpi_bytes store_bytes "
        "note" +
            std::string(tally));
    json::Value const lone = json::Object{{"mode", "lone"}};
    for (auto const& round : out.doc()["rounds"].list())
        if (round["mode"].text() == "joint") out.add({round});
        else out.add({lone, round});
    out.start("round_sites",
              "round=number site steps tokens weight before_first_step_real_s=first_step_s "
              "training_real_s=train_s after_last_step_real_s=last_step_s");
    for (auto const& round : out.doc()["rounds"].list())
        for (auto const& part : round["sites"].list()) out.add({part, round});
}

// A scenario whose regions vary has a row for its lowest and one for its highest carbon.
void add_comparison(Tables& out)
{
    out.start("comparison",
              "scenario=id label region as_site sites wall_s step_real_s=s_step tokens "
              "share_of_scenario_co2=ratio training_perplexity=ppl "
              "held_out_perplexity=held_out_ppl" +
                  std::string(tally));
    for (auto const& scenario : out.doc()["comparison"].list()) {
        auto const tallies = scenario["tallies"].list();
        if (tallies.empty()) continue;
        out.add({tallies.front(), scenario});
        if (tallies.size() > 1) out.add({tallies.back(), scenario});
    }
}

void add_losses(Tables& out)
{
    out.add("loss",
            "curve=id label steps training_perplexity_lowest_smoothed=best_ppl "
            "last_steps_loss_nats_per_token=tail_loss "
            "last_steps_standard_error_nats_per_token=tail_se wall_s",
            out.doc()["loss"]["final"]);
    out.add("held_out",
            "commit loss_nats_per_token=loss unigram_entropy_nats_per_token=unigram_entropy tokens "
            "bits_per_byte trained_tokens site missing",
            out.doc()["held_out"]);
    auto const newest = out.doc()["newest_held_out"];
    if (newest && !newest["followed"].is_true()) out.add({newest});
}

void add_statements(Tables& out)
{
    out.start("facts", "group name value");
    for (auto const& group : out.doc()["facts"].list())
        for (auto const& fact : group["rows"].list())
            out.add_cells({group["title"].value(), fact[0].value(), fact[1].value()});
    out.start("statements", "kind title text");
    for (auto const& line : out.doc()["audit"]["lines"].list())
        out.add_cells({"audit", line["title"].value(), line["text"].value()});
    for (auto const& p : out.doc()["provenance"].list())
        out.add_cells(
            {p["kind"].value(), p["title"].value(),
             p["source"].text() + (p["text"].text().empty() ? "" : ": ") + p["text"].text()});
    for (auto const& note : out.doc()["notes"].list())
        out.add_cells({"note", note[0].value(), note[1].value()});
    for (auto const& [key, reason] : out.doc()["missing"].members())
        out.add_cells({"missing", key, reason.value()});
}

}  // namespace

std::vector<Table> csv_tables(json::Value const& document)
{
    Tables out(document);
    add_sites(out);
    add_states(out);
    out.add("windows",
            "site opened_utc=open_s closed_utc=close_s released_utc=released_s "
            "first_step_utc=first_step_s last_step_utc=last_step_s steps "
            "open_to_first_step_real_s=startup_s open_to_first_step_another_trained=startup_beside "
            "stop_to_exit_real_s=stop_s stop_to_exit_another_trained=stop_beside" +
                std::string(tally),
            out.doc()["windows"]);
    add_rounds(out);
    add_comparison(out);
    add_losses(out);
    out.add("decisions", "time_utc=t site from to reason intensity_g_per_kwh=intensity",
            out.doc()["decisions"]);
    out.start("events", "time_utc type round site details");
    for (auto const& e : out.doc()["events"].list())
        out.add_cells({e[0].value(), e[1].value(), e[2].value(), e[3].value(), e[4].value()});
    add_statements(out);
    return out.take();
}

}  // namespace curtail::report
