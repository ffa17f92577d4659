// SPDX-License-Identifier: Apache-2.0
#include "base/core/build_info.hpp"
#include "bill/account/figures.hpp"
#include "bill/account/parts.hpp"
#include "bill/account/text.hpp"
#include "run/runlog/trainer_events.hpp"

namespace curtail::account {
namespace {

FactGroup run_facts(RunFiles const& files, Timeline const& timeline, Account const& a)
{
    auto const first =
        timeline.axis.factor() == 1 ? timeline.axis.zero() : files.clock->real_origin;
    FactGroup group{
        "Run",
        false,
        {{"run", a.name},
         {"time zero", utc_text(a.time_zero)},
         {"executed", utc_text(first) + " to " + utc_text(timeline.end)},
         {"clock factor", fmt::format("{:g} s of signal in one real second", a.clock_factor)},
         {"commits",
          fmt::format("{} merged from several sites, {} of a lone site, {} of the roster",
                      a.commits.joint, a.commits.lone, a.commits.roster)},
         {"reference site", files.run.sites[timeline.reference].site.value}}};
    if (files.spec && files.spec->fork)
        group.rows.emplace_back(
            "fork of", fmt::format("commit {} of run {}, with {} tokens; their energy and carbon "
                                   "are in the report of that run",
                                   files.spec->fork->number.value, files.spec->fork->run.value,
                                   grouped(a.inherited.value)));
    return group;
}

FactGroup model_facts(config::Model const& model, std::int64_t parameters)
{
    return {
        "Model",
        false,
        {{"architecture", fmt::format("GPT, depth {}, width {}, {} heads of {}", model.layers,
                                      model.width, model.heads, model.head_size())},
         {"parameters", grouped(parameters)},
         {"sequence / vocabulary", grouped(model.sequence) + " / " + grouped(model.vocabulary)}}};
}

// An amendment may have changed the terms since the run file was written.
FactGroup training_facts(RunFiles const& files)
{
    auto const& run = files.run;
    auto const& outer = files.spec ? files.spec->outer : run.outer;
    auto const& rounds = files.spec ? files.spec->params : run.rounds;
    auto const seconds = [](Millis ms) {
        return fmt::format("{:g} s", FractionalSeconds(ms).count());
    };
    return {
        "Training",
        false,
        {{"batch", grouped(run.training.batch_tokens.value) + " tokens per site and step"},
         {"inner optimizer", "Muon and AdamW"},
         {"outer step", outer.type == protocol::Outer::Type::average
                            ? "average, weights by tokens"
                            : fmt::format("Nesterov, eta {:g}, mu {:g}", outer.eta, outer.mu)},
         {"round, two or more sites", seconds(rounds.round_time) + " of training"},
         {"checkpoint, one site", fmt::format("every {}", seconds(rounds.checkpoint_interval))},
         {"schedule", run.optimizer.schedule ? grouped(run.optimizer.schedule->value) + " tokens"
                                             : "ends with the run"},
         {"seed", std::to_string(run.seed)}}};
}

FactGroup sites_facts(std::vector<config::Site> const& sites, Account const& a)
{
    FactGroup group{"Sites and devices", false, {}};
    for (std::size_t s = 0; s < sites.size(); ++s) {
        auto const& site = sites[s];
        auto const& rate = a.sites[s].rate;
        group.rows.emplace_back(
            site.site.value,
            fmt::format("{}{}{}; {}; {}", site.label, site.label.empty() ? "" : "; ",
                        site.devices.empty() ? "devices not described" : site.devices,
                        power_text(a.sites[s]), rate ? rate_text(*rate) : "no step"));
    }
    return group;
}

FactGroup windows_facts(Account const& a)
{
    FactGroup group{"Windows and signals", false, {}};
    group.rows = {
        {"open below", each_site(a, &thresholds_text) + " g/kWh"},
        {"close above", each_site(a, &SiteAccount::close_above) + " g/kWh"},
        {"close delay", each_site(a, &SiteAccount::close_delay_s) + " s"},
        {"signal", a.signal_provider.empty() ? std::nullopt : std::optional(a.signal_provider)}};
    for (auto const& signal : a.signals) {
        auto const missing = std::count_if(signal.points.begin(), signal.points.end(),
                                           [](SamplePoint const& r) { return !r.intensity; });
        group.rows.emplace_back(
            "samples of " + signal.region.value,
            fmt::format("{}, {} without a value", signal.points.size(), missing));
    }
    return group;
}

// Says what the first trainer that logged its build was built from and with.
std::optional<std::string> build_of(RunFiles const& files)
{
    for (auto const& site : files.sites)
        for (auto const& event : site.events) {
            auto const start = runlog::trainer_start_in(event);
            if (!start || start->build.empty()) continue;
            std::string text;
            for (char const* key : {"version", "commit", "compiler", "libtorch", "mpi"})
                if (auto const* part = start->build.find(key); part != nullptr && part->as_text())
                    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, *part->as_text());
            return text;
        }
    return std::nullopt;
}

}  // namespace

std::vector<FactGroup> facts_of(RunFiles const& files, Timeline const& timeline, Account const& a)
{
    std::vector<FactGroup> facts{
        run_facts(files, timeline, a),
        model_facts(files.run.model, a.parameters),
        training_facts(files),
        sites_facts(files.run.sites, a),
        windows_facts(a),
        {"Software",
         false,
         {{"trainer", build_of(files)},
          {"report",
           fmt::format("Curtail {}, commit {}", build_info().version, build_info().commit)}}}};
    FactGroup inputs{"Inputs of this report (SHA-256)", true, {}};
    for (auto const& [name, digest] : files.digests) inputs.rows.emplace_back(name, digest);
    facts.push_back(std::move(inputs));
    return facts;
}

}  // namespace curtail::account
