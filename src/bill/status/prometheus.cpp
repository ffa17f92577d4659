// SPDX-License-Identifier: Apache-2.0
#include "bill/status/prometheus.hpp"

#include <fmt/format.h>

#include <cmath>

#include "run/energy/state.hpp"
#include "run/runlog/trainer_events.hpp"

namespace curtail::status {
namespace {

constexpr double joules_per_watt_hour = 3600;

// In label values, Prometheus escapes backslash, quote and newline.
std::string escaped(std::string const& value)
{
    std::string out;
    for (char const c : value) {
        if (c == '\\' || c == '"') out += '\\';
        if (c == '\n') out += "\\n";
        else out += c;
    }
    return out;
}

std::string value_text(std::int64_t value) { return fmt::format("{}", value); }
std::string value_text(double value) { return fmt::format("{}", value); }
std::string value_text(Time value)
{
    return fmt::format("{:.3f}", static_cast<double>(to_unix_ms(value)) / 1000);
}

// The metrics in the order in which they first get a value. Prometheus wants all values of one
// metric together.
class Metrics {
  public:
    explicit Metrics(RunId const& run) : run_(run) {}

    template <class Value>
    void gauge(char const* name, char const* help, Value value, SiteView const* site = nullptr,
               std::string const& labels = "")
    {
        add(name, "gauge", help, value_text(value), site, labels);
    }
    template <class Value>
    void gauge(char const* name, char const* help, std::optional<Value> const& value,
               SiteView const* site = nullptr)
    {
        if (value) gauge(name, help, *value, site);
    }
    template <class Value>
    void counter(char const* name, char const* help, Value value, SiteView const* site = nullptr)
    {
        add(name, "counter", help, value_text(value), site, "");
    }
    [[nodiscard]] std::string text() const
    {
        std::string text;
        for (auto const& metric : metrics_) text += metric.text;
        return text;
    }

  private:
    struct Metric {
        std::string name;
        std::string text;
    };

    void add(std::string const& name, char const* type, char const* help, std::string const& value,
             SiteView const* site, std::string const& labels)
    {
        auto text = fmt::format("{}{{run=\"{}\"", name, escaped(run_.value));
        if (site != nullptr) text += fmt::format(",site=\"{}\"", escaped(site->site.value));
        find(name, type, help).text += text + labels + "} " + value + "\n";
    }
    Metric& find(std::string const& name, char const* type, char const* help)
    {
        for (auto& metric : metrics_)
            if (metric.name == name) return metric;
        metrics_.push_back(
            {name, fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help)});
        return metrics_.back();
    }

    RunId run_;
    std::vector<Metric> metrics_;
};

void add_chain(Metrics& out, ChainView const& chain)
{
    auto const& tip = chain.tip;
    out.counter("curtail_run_commits_total", "Commits in the run's store.", tip.number.value);
    out.counter("curtail_run_rounds_total", "Rounds that have ended.", tip.round.value - 1);
    out.counter("curtail_run_tokens_total", "Tokens that the committed model includes.",
                tip.totals.tokens.value);
    out.counter("curtail_run_steps_total", "Optimizer steps that the committed model includes.",
                tip.totals.steps);
    out.gauge("curtail_run_members", "Members in the newest commit.", std::ssize(tip.members));
    out.gauge("curtail_run_complete", "1 if the run is complete, otherwise 0.",
              std::int64_t{tip.complete});
    out.gauge("curtail_run_commit_timestamp_seconds",
              "Time of the newest commit, by the store's clock.", tip.time);
}

void add_progress(Metrics& out, account::TokenProgress const& progress)
{
    out.gauge("curtail_run_target_tokens", "Tokens after which the run is complete.",
              progress.target.value);
    out.gauge("curtail_run_progress_ratio", "Committed tokens divided by the target, 0 to 1.",
              progress.share());
    if (auto const left = progress.training_left())
        out.gauge("curtail_run_training_left_seconds",
                  "Training time until the run is complete, at the present speed.", left->count());
}

void add_held_out(Metrics& out, HeldOutView const& view)
{
    auto const& state = view.state;
    if (state.newest.line.loss)
        out.gauge("curtail_run_held_out_loss_nats",
                  "Held-out loss of the newest evaluated model, per token.",
                  *state.newest.line.loss);
    out.gauge("curtail_run_held_out_commit", "Commit of the newest evaluated model.",
              state.newest.line.commit.value);
    out.gauge("curtail_run_held_out_models_behind", "Models newer than the newest evaluated one.",
              state.behind_models);
    out.gauge("curtail_run_held_out_warnings",
              "Warnings about the held-out losses that curtail-status shows.",
              std::ssize(view.warnings));
}

// One value per state: 1 for the present one, 0 for the others.
void add_state(Metrics& out, char const* name, char const* help, SiteView const& site,
               char const* label, std::vector<std::string> const& all, std::string const& present)
{
    if (present.empty()) return;
    for (auto const& state : all)
        out.gauge(name, help, std::int64_t{state == present}, &site,
                  fmt::format(",{}=\"{}\"", label, state));
}

void add_jobs(Metrics& out, SiteView const& site)
{
    std::int64_t queued = 0;
    std::int64_t running = 0;
    std::int64_t stopping = 0;
    for (auto const& job : site.jobs)
        ++(job.leaving ? stopping : job.running_since ? running : queued);
    for (auto const& [state, count] :
         {std::pair{"queued", queued}, {"running", running}, {"stopping", stopping}})
        out.gauge("curtail_site_jobs", "Jobs of the site that the poller knows, by state.", count,
                  &site, fmt::format(",state=\"{}\"", state));
    out.gauge("curtail_site_job_failures", "Failures of jobs in a row.",
              std::int64_t{site.failures}, &site);
}

void add_site(Metrics& out, SiteView const& site, bool poller_known)
{
    add_state(out, "curtail_site_window_phase", "1 for the present phase of the site's window.",
              site, "phase", {"closed", "open", "closing"}, site.window);
    std::vector<std::string> trainer_states;
    for (auto const state : energy::all_states) trainer_states.emplace_back(energy::name(state));
    trainer_states.emplace_back(runlog::ended_state);
    add_state(out, "curtail_site_trainer_state", "1 for the present state of the site's trainer.",
              site, "state", trainer_states, site.trainer);
    if (poller_known) add_jobs(out, site);
    out.gauge("curtail_site_polled_timestamp_seconds", "When the poller last polled the site.",
              site.polled, &site);
    out.gauge("curtail_site_permission_until_timestamp_seconds",
              "When the permission of the site's jobs ends.",
              site.permission ? std::optional(site.permission->until) : std::nullopt, &site);
    bool const held =
        (site.decision && site.decision->held) || !site.hold.empty() || !site.operators.empty();
    out.gauge("curtail_site_held",
              "1 if an operator, a person or the poller holds the site, otherwise 0.",
              std::int64_t{held}, &site);
    out.gauge("curtail_site_evaluated_timestamp_seconds",
              "Time until which the poller evaluated the window, on the signal's clock.",
              site.evaluated_until, &site);
}

void add_energy(Metrics& out, SiteView const& site, SiteConsumption const& energy)
{
    auto const joules = [](WattHours wh) { return wh.value * joules_per_watt_hour; };
    out.counter("curtail_site_energy_joules_total", "Energy that the site has drawn for the run.",
                joules(energy.tally.energy), &site);
    out.counter("curtail_site_energy_unknown_intensity_joules_total",
                "Part of the energy whose carbon intensity is unknown.",
                joules(energy.tally.unknown), &site);
    if (auto const carbon = energy.tally.known_carbon())
        out.gauge("curtail_site_carbon_grams",
                  "Carbon (CO2) of the energy whose intensity is known.", carbon->value, &site);
    if (!energy.sample) return;
    out.gauge("curtail_site_signal_timestamp_seconds",
              "Time of the newest sample, on the signal's clock.", energy.sample->time, &site);
    if (auto const& intensity = energy.sample->intensity)
        out.gauge("curtail_site_intensity_grams_per_kwh",
                  "Carbon intensity of the newest sample, in gCO2/kWh.", intensity->value, &site);
}

}  // namespace

std::string prometheus_text(Overview const& overview)
{
    Metrics out(overview.run);
    out.gauge("curtail_status_timestamp_seconds", "When curtail-status read the run.",
              overview.now);
    out.gauge("curtail_store_up", "1 if the store could be read, otherwise 0.",
              std::int64_t{!overview.store_error});
    out.gauge("curtail_poller_state_timestamp_seconds", "When the poller last wrote its state.",
              overview.sites.poller_wrote);
    if (overview.chain) {
        add_chain(out, *overview.chain);
        add_progress(out, token_progress(*overview.chain, overview.speed));
    }
    if (auto const& speed = overview.speed) {
        out.gauge("curtail_run_tokens_per_second",
                  "Speed of all sites together over the last hour of training.",
                  speed->tokens_per_s);
        out.gauge("curtail_run_step_timestamp_seconds", "End of the newest step.", speed->until);
    }
    if (overview.held_out) add_held_out(out, *overview.held_out);
    for (std::size_t s = 0; s < overview.sites.sites.size(); ++s) {
        add_site(out, overview.sites.sites[s], overview.sites.poller_wrote.has_value());
        if (overview.energy) add_energy(out, overview.sites.sites[s], overview.energy->sites.at(s));
    }
    return out.text();
}

}  // namespace curtail::status
