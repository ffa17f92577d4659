// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "bill/report/page_parts.hpp"

namespace curtail::report {
namespace {

constexpr auto text = Column::Kind::text;

Html final_values(PageData const& data)
{
    auto const finals = data["loss"]["final"].list();
    if (finals.empty()) return {};
    Table table{
        "Final values",
        {{"At the end", text},
         {.title = "Training perplexity",
          .digits = 2,
          .unit = "lowest smoothed",
          .mark = data.source_mark("ppl")},
         {.title = "Loss", .unit = "last " + number(data["loss"]["tail_steps"]) + " steps"}}};
    for (auto const& q : finals) {
        auto label = q["label"].text();
        if (auto const at = label.find(", always on"); at != std::string::npos) label.erase(at, 11);
        table.rows.push_back(
            {label, q["best_ppl"], number(q["tail_loss"], 3) + " ± " + number(q["tail_se"], 3)});
    }
    auto const of_row = [&](std::size_t i) -> Attributes {
        return {{"class", finals[i]["id"].text() == "run" ? "me" : ""}};
    };
    return to_html(table, {.style_class = "tight", .of_row = of_row});
}

// The difference of two tail losses, compared with twice its standard error.
struct Difference {
    std::string size;
    std::string verdict;
};
Difference difference_of(View run, View baseline)
{
    auto const value = run["tail_loss"].number_or(0) - baseline["tail_loss"].number_or(0);
    auto const error = std::hypot(run["tail_se"].number_or(0), baseline["tail_se"].number_or(0));
    auto const side = std::string(value < 0 ? "lower" : "higher");
    return {signed_number(value, 4) + " ± " + number(error, 4),
            std::abs(value) < 2 * error ? "less than twice its standard error"
                                        : side + " by more than twice its standard error"};
}

Html difference_note(PageData const& data)
{
    auto const finals = data["loss"]["final"].list();
    View run, one;
    for (auto const& q : finals) {
        if (q["id"].text() == "run") run = q;
        if (q["id"].text() == "one") one = q;
    }
    if (!run || !one) return {};
    auto const to_one = difference_of(run, one);
    auto out = fmt::format("Against one site, always on, the loss differs by {}: {}.", to_one.size,
                           to_one.verdict);
    for (auto const& q : finals) {
        if (q["id"].text() == "run" || q["id"].text() == "one") continue;
        auto const to = difference_of(run, q);
        out += fmt::format(" Against {}: {}, {}.", q["label"].text(), to.size, to.verdict);
    }
    return note(keep_units(
        out +
        " Each is one run with one seed: the standard error covers the steps of a run, not the "
        "spread between runs."));
}

Html held_out_note(PageData const& data)
{
    auto const held = data["headline"]["held_out"];
    if (!held) return {};
    auto const loss = held["loss"].number_or(0);
    auto const entropy = held["unigram_entropy"].number_or(0);
    auto const newer = held["newer_commit"];
    return note(keep_units(fmt::format(
        "Held-out loss of commit {}{}: {} nats per token over {} tokens, {} {} their unigram "
        "entropy of {}.",
        number(held["commit"]),
        newer ? " (the model is at commit " + number(newer) + ")" : std::string(), number(loss, 3),
        number(held["tokens"]), number(std::abs(entropy - loss), 3),
        loss <= entropy ? "below" : "above", number(entropy, 3))));
}

}  // namespace

Html loss_panel(PageData const& data)
{
    auto const loss = data["loss"];
    if (loss["curves"].list().empty()) return empty("No training step has been logged yet.");
    Html right = final_values(data) + difference_note(data) + held_out_note(data);
    right += note("Curves: " + loss["smoothing"].text() + "; training loss." +
                  (data["headline"]["held_out"] ? "" : " No held-out loss was evaluated."));
    if (auto const strip = loss["difference"])
        right += element("p.note", {{"id", "dnote"}},
                         "Lower strip: mean of " + std::to_string(strip["bucket_steps"].integer()) +
                             " steps minus the baseline's; bars show ± 1 standard error.");
    return element("div.side", charts_place() + element("div", right));
}

}  // namespace curtail::report
