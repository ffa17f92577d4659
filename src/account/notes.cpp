// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "account/account_of.hpp"
#include "core/build_info.hpp"

namespace curtail::account {
namespace {

std::string utc(Time time)
{
    auto const text = format_time(std::chrono::floor<Seconds>(time));
    return fmt::format("{} {} UTC", text.substr(0, 10), text.substr(11, 8));
}

/// Digits in groups of three.
std::string grouped(std::int64_t value)
{
    auto const digits = std::to_string(value);
    std::string out;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        bool const boundary = i > 0 && digits[i - 1] != '-' && (digits.size() - i) % 3 == 0;
        if (boundary) out += ',';
        out += digits[i];
    }
    return out;
}

double plain(GramsPerKwh value) { return value.value; }
double plain(double value) { return value; }

/// One value if all sites have the same, else each with its site.
template <class T>
std::string each_site(Account const& a, T SiteAccount::*field)
{
    bool const same = std::all_of(a.sites.begin(), a.sites.end(), [&](SiteAccount const& s) {
        return s.*field == a.sites.front().*field;
    });
    if (same && !a.sites.empty()) return fmt::format("{:g}", plain(a.sites.front().*field));
    std::string out;
    for (auto const& site : a.sites)
        out += fmt::format("{}{:g} ({})", out.empty() ? "" : ", ", plain(site.*field), site.label);
    return out;
}

void add_provenance(Account& a)
{
    using energy::Kind;
    std::string const signal = a.signal_provider.empty() ? "no signal" : a.signal_provider;
    a.provenance = {
        {"co2",
         "CO₂",
         {Kind::modelled, "power model × " + signal},
         "Integral of power × marginal intensity over each state, exact for intensity that is "
         "linear between samples, summed "
         "over sites. Where there is no sample, intensity is unknown: that energy is counted and "
         "said, and its CO₂ is not in the "
         "sum, which then is a least value. Without any sample there is no figure. PUE 1. "
         "Always-on: the run's tokens at its "
         "measured lone rate, at training power, from the signal's first sample, by the same "
         "integral; after the signal's last "
         "sample its value is held."},
        {"energy",
         "Energy",
         {Kind::modelled, "power model, no meter"},
         "Two power levels per site, from its configuration: training, and any other state in "
         "which devices are held. 0 "
         "otherwise. Not metered."},
        {"share",
         "Curtailed share",
         {Kind::modelled, "as energy, < " + each_site(a, &SiteAccount::open_below) + " g/kWh"},
         "Energy drawn while the site's own intensity was below its threshold, over all energy "
         "whose intensity is known. Inside "
         "windows: energy drawn while the window was open or closing, over "
         "all energy; it is larger by what the closing delay costs."},
        {"wall",
         "Wall time",
         {Kind::logged, "optimizer steps"},
         "Time of the last logged optimizer step after time zero, on the signal's clock."},
        {"ppl",
         "Loss",
         {Kind::logged, a.held_out ? "held-out text" : "training loss only"},
         "Held-out loss is of the commit it names, on text that was never trained on; the unigram "
         "entropy of that text is what "
         "a model would reach that has only counted tokens. Perplexity is the least value of the "
         "smoothed training curve."},
        {"tokens",
         "Tokens",
         {Kind::logged, "chain of commits"},
         "Tokens in the committed model, by the ledger of the last commit; by site: tokens of its "
         "included contributions."},
        {"goodput",
         "Goodput",
         {Kind::logged, "trainers' states"},
         "Time in training over time from the opening of a window (or the release of the job "
         "before) to the release of the "
         "devices, all sites."}};
}

FactGroup windows_facts(Account const& a)
{
    FactGroup group{"Windows and signals", false, {}};
    group.rows = {
        {"open below", each_site(a, &SiteAccount::open_below) + " g/kWh"},
        {"close above", each_site(a, &SiteAccount::close_above) + " g/kWh"},
        {"close delay", each_site(a, &SiteAccount::close_delay_s) + " s"},
        {"signal", a.signal_provider.empty() ? std::nullopt : std::optional(a.signal_provider)}};
    for (auto const& signal : a.signals) {
        auto const missing = std::count(signal.value.begin(), signal.value.end(), std::nullopt);
        group.rows.emplace_back(
            "samples of " + signal.region,
            fmt::format("{}, {} without a value", signal.value.size(), missing));
    }
    return group;
}

FactGroup training_facts(RunFiles const& files)
{
    auto const& run = files.run;
    auto const seconds = [](Millis ms) {
        return fmt::format("{:g} s", FractionalSeconds(ms).count());
    };
    return {
        "Training",
        false,
        {{"batch", grouped(run.training.batch_tokens) + " tokens per site and step"},
         {"inner optimizer", "Muon and AdamW"},
         {"outer step",
          run.outer.type == rounds::Outer::Type::average
              ? "average, weights by tokens"
              : fmt::format("Nesterov, eta {:g}, mu {:g}", run.outer.eta, run.outer.mu)},
         {"round, two or more sites", seconds(run.rounds.round_time) + " of training"},
         {"checkpoint, one site", fmt::format("every {}", seconds(run.rounds.checkpoint_interval))},
         {"schedule", grouped(run.optimizer.schedule.value) + " tokens"},
         {"seed", std::to_string(run.seed)}}};
}

/// What trained, as the first trainer said of itself.
std::optional<std::string> build_of(RunFiles const& files)
{
    for (auto const& site : files.sites)
        for (auto const& event : site.events) {
            auto const* build = event.details.find("build");
            if (event.type != "trainer-start" || build == nullptr || build->as_object() == nullptr)
                continue;
            std::string text;
            for (char const* key : {"version", "commit", "compiler", "libtorch", "mpi"})
                if (auto const* part = build->as_object()->find(key);
                    part != nullptr && part->as_text() != nullptr)
                    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, *part->as_text());
            return text;
        }
    return std::nullopt;
}

void add_facts(RunFiles const& files, RunStory const& story, Account& a)
{
    auto const& model = files.run.model;
    auto const first = story.axis.factor() == 1 ? story.axis.zero() : files.clock->real_origin;
    a.facts.push_back(
        {"Run",
         false,
         {{"run", a.name},
          {"time zero", utc(a.time_zero)},
          {"executed", utc(first) + " to " + utc(story.end)},
          {"clock factor", fmt::format("{:g} s of signal in one real second", a.clock_factor)},
          {"commits",
           fmt::format("{} merged from several sites, {} of a lone site, {} of the roster",
                       a.commits.joint, a.commits.lone, a.commits.roster)},
          {"lone rate",
           a.lone_rate ? std::optional(fmt::format("{:.0f} tokens per real second", *a.lone_rate))
                       : std::nullopt}}});
    a.facts.push_back(
        {"Model",
         false,
         {{"architecture", fmt::format("GPT, depth {}, width {}, {} heads of {}", model.layers,
                                       model.width, model.heads, model.head_size())},
          {"parameters", grouped(a.parameters)},
          {"sequence / vocabulary", grouped(model.sequence) + " / " + grouped(model.vocabulary)}}});
    a.facts.push_back(training_facts(files));
    FactGroup sites{"Sites and devices", false, {}};
    for (auto const& site : files.run.sites)
        sites.rows.emplace_back(
            site.site.value,
            fmt::format("{}{}{}; {:.3f} kW idle, {:.3f} kW training", site.label,
                        site.label.empty() ? "" : "; ",
                        site.devices.empty() ? "devices not described" : site.devices,
                        site.power.idle.value / 1000, site.power.training.value / 1000));
    a.facts.push_back(std::move(sites));
    a.facts.push_back(windows_facts(a));
    a.facts.push_back({"Software",
                       false,
                       {{"trainer", build_of(files)},
                        {"report", fmt::format("Curtail {}, commit {}", build_info().version,
                                               build_info().commit)}}});
    FactGroup inputs{"Inputs of this report (SHA-256)", true, {}};
    for (auto const& [name, digest] : files.digests) inputs.rows.emplace_back(name, digest);
    a.facts.push_back(std::move(inputs));
}

void add_carbon_notes(Account& a)
{
    auto const total = a.total();
    auto const kwh = [](WattHours energy) { return energy.value / 1000; };
    if (auto const why = a.missing.find("carbon"); why != a.missing.end())
        a.notes.emplace_back(
            "Carbon is not known",
            fmt::format("{}. {:.3f} of {:.3f} kWh were drawn where intensity is not known.",
                        why->second, kwh(total.unknown), kwh(total.energy)));
    else if (total.unknown.value > 0)
        a.notes.emplace_back(
            "Unknown intensity",
            fmt::format("{:.3f} of {:.3f} kWh were drawn while the signal had no sample. Their CO₂ "
                        "is not in these figures, "
                        "which are least values, and the curtailed share is of the rest.",
                        kwh(total.unknown), kwh(total.energy)));
    auto const dirty = total.dirty();
    auto const dirty_carbon = total.known_carbon_dirty();
    if (dirty && dirty_carbon && total.carbon.value > 0)
        a.notes.emplace_back(
            "Edges of windows",
            fmt::format("{:.0f} % of the emissions come from the {:.1f} % of energy drawn at or "
                        "above the threshold: closing delays, drains and "
                        "the ramps between samples.",
                        100 * ratio(*dirty_carbon, total.carbon),
                        100 * ratio(*dirty, total.seen())));
}

void add_always_on_notes(Account& a)
{
    if (a.always_on.empty()) return;
    a.notes.emplace_back(
        "Always on",
        fmt::format(
            "{} tokens at {:.0f} tokens per real second, the rate of steps that ran while no "
            "other site held devices. Starting, waiting and "
            "checkpoints are not in it, so always-on is shown at its best.",
            grouped(a.tokens), *a.lone_rate));
    for (auto const& words : held_after_signal(a))
        a.notes.emplace_back("Always on, after the signal's end", words + ".");
    for (auto const& scenario : a.always_on) {
        auto const& tally = scenario.range.front();
        if (tally.unknown.value <= 0) continue;
        a.notes.emplace_back("Always on, " + scenario.region,
                             fmt::format("{:.3f} of {:.3f} kWh lie where the signal has no sample, "
                                         "and their CO₂ is not known. {}",
                                         tally.unknown.value / 1000, tally.energy.value / 1000,
                                         tally.whole() ? "That is too little to matter."
                                                       : "So there is no percentage of it."));
    }
}

/// By how much the times of lines, which were written one after the other, go back at most.
template <class Line>
Millis most_back(std::vector<Line> const& lines)
{
    Millis most{0};
    for (std::size_t i = 1; i < lines.size(); ++i)
        most = std::max(most, lines[i - 1].time - lines[i].time);
    return most;
}

/// Launchers count in whole seconds, and threads may write in another order than they looked at the
/// clock.
constexpr Millis tolerated{1000};

/// What contradicts itself in the files: the figures are then a guess, and a reader must know.
void add_doubts(RunFiles const& files, RunStory const& story, Account& a)
{
    auto const seconds = [](Millis ms) { return FractionalSeconds(ms).count(); };
    auto const clock = [&](std::string const& who, Millis back) {
        if (back > tolerated)
            a.doubts.push_back(
                fmt::format("the clock of {} was set back by {:.1f} s while it logged; times, "
                            "energy and CO2 after that are wrong",
                            who, seconds(back)));
    };
    clock("the poller", most_back(files.poller));
    for (std::size_t s = 0; s < files.sites.size(); ++s) {
        auto const& name = files.run.sites[s].site.value;
        clock(name, std::max(most_back(files.sites[s].events), most_back(files.sites[s].metrics)));
        Millis cut{0};
        for (auto const& job : story.sites[s].jobs)
            if (job.cut > tolerated) cut += job.cut;
        if (cut > Millis{0})
            a.doubts.push_back(
                fmt::format("two jobs of {} held devices at once for {:.1f} real s; only one of "
                            "them is counted",
                            name, seconds(cut)));
    }
    for (auto const& doubt : a.doubts) a.notes.emplace_back("Doubtful", doubt + ".");
}

void add_notes(RunFiles const& files, Account& a)
{
    if (a.clock_factor != 1)
        a.notes.emplace_back(
            "Clock", fmt::format("The signal was replayed at {0:g} times real speed. Windows, "
                                 "power and CO₂ are on the signal's clock; training, "
                                 "starts and stops "
                                 "took real seconds, which are stretched {0:g} times on its axis: "
                                 "a start of 2 s draws power for {1:g} s of signal.",
                                 a.clock_factor, 2 * a.clock_factor));
    add_carbon_notes(a);
    add_always_on_notes(a);
    std::int64_t logged = 0;
    for (auto const& site : files.sites)
        for (auto const& row : site.metrics) logged += row.tokens.value;
    if (logged > a.tokens)
        a.notes.emplace_back(
            "Work that is not in the model",
            fmt::format("{} tokens were trained in all, {} of them are in the committed model; the "
                        "rest was cut short, refused or not yet decided.",
                        grouped(logged), grouped(a.tokens)));
    if (files.broken_lines > 0)
        a.notes.emplace_back("Broken lines",
                             fmt::format("{} lines of event, sample and metrics files were cut "
                                         "short or damaged and are left "
                                         "out.",
                                         files.broken_lines));
}

}  // namespace

void fill_words(RunFiles const& files, RunStory const& story, Account& account)
{
    add_provenance(account);
    add_facts(files, story, account);
    add_notes(files, account);
    add_doubts(files, story, account);
    account.missing["transfer"] =
        "Upload and download are not logged apart: both are in the round exchange.";
    if (auto const total = account.total(); !total.whole())
        account.missing["ratio"] =
            fmt::format("the intensity of {:.1f} % of the run's energy is not known",
                        100 * total.unknown.value / total.energy.value);
    account.missing["bytes"] = "transfers of payloads are not metered";
}

}  // namespace curtail::account
