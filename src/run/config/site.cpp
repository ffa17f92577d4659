// SPDX-License-Identifier: Apache-2.0
#include "run/config/site.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.hpp"
#include "run/config/read.hpp"
#include "run/config/store.hpp"
#include "run/config/time_limit.hpp"

namespace curtail::config {
namespace {

windows::Thresholds read_window(json::ObjectReader& r)
{
    // The range of a plausible sample. A threshold outside would always or never hold; most likely
    // its unit is wrong.
    constexpr double min = -2000;
    constexpr double max = 5000;
    windows::Thresholds window;
    window.open_below = {
        read_number(r, "open_below_gco2_per_kwh", window.open_below.value, min, max)};
    window.close_above = {
        read_number(r, "close_above_gco2_per_kwh", window.close_above.value, min, max)};
    window.close_delay = read_seconds(r, "close_delay_s", window.close_delay);
    r.require(window.close_above >= window.open_below, "close_above_gco2_per_kwh",
              "must be at least open_below_gco2_per_kwh");
    return window;
}

// Options that the poller sets itself.
constexpr std::string_view poller_options =
    "job-name comment dependency parsable output open-mode chdir export export-file requeue "
    "no-requeue array clusters wait wrap hold propagate "
    "test-only help usage version signal ntasks time partition";

// sbatch accepts any prefix of an option's name.
bool is_poller_option(std::string_view name)
{
    return std::ranges::any_of(split(poller_options, ' '),
                               [&](std::string_view own) { return own.starts_with(name); });
}

bool is_long_option(std::string const* text)
{
    return text != nullptr && text->size() > 2 && text->starts_with("--") &&
           printable(*text) == *text;
}

std::vector<std::string> read_sbatch_options(json::ObjectReader& r)
{
    std::string const key = "sbatch_options";
    std::vector<std::string> options;
    for (auto const& value : r.list(key, false)) {
        auto const* text = value.as_text();
        r.require(is_long_option(text), key,
                  "must be long options, each with its value: [\"--account=x\", \"--exclusive\"]");
        if (!is_long_option(text)) break;
        r.require(!is_poller_option(text->substr(2, text->find('=') - 2)), key,
                  "must not contain " + *text +
                      ", because the poller sets this option; use the keys grace_s, ranks, "
                      "time_limit and partition");
        options.push_back(*text);
    }
    return options;
}

// A path that may be absent.
std::filesystem::path read_optional_path(json::ObjectReader& r, std::filesystem::path const& file,
                                         std::string const& key)
{
    auto const path = r.optional_text(key);
    if (!path) return {};
    r.require(!path->empty(), key, "must not be empty");
    return resolve(file, *path);
}

// A job spends up to the grace period on leaving. The rest must not be shorter than that.
void check_time_limit(json::ObjectReader& r, LaunchSettings const& launch)
{
    std::string const key = "time_limit";
    auto const written = "\"" + printable(launch.time_limit) + "\"";
    auto const limit = parse_time_limit(launch.time_limit);
    if (!limit)
        return r.reject({ExitCode::config, r.place(key) + ": " + written,
                         "it is not a time limit of sbatch",
                         "write minutes, hours:minutes:seconds or days-hours"});
    if (!limit->length || *limit->length >= 2 * launch.grace) return;
    r.reject({ExitCode::config, r.place(key) + ": " + written,
              fmt::format("it is {} s, and grace_s is {:g} s", limit->length->count(),
                          FractionalSeconds(launch.grace).count()),
              "make it at least twice grace_s"});
}

LaunchSettings read_launcher(json::ObjectReader& r, std::filesystem::path const& file)
{
    LaunchSettings launch;
    launch.kind = static_cast<LaunchSettings::Kind>(r.one_of("kind", {"slurm", "local"}, 0));
    launch.slurm_conf = read_optional_path(r, file, "slurm_conf");
    launch.partition = r.text("partition", "");
    launch.nodes = static_cast<int>(read_integer(r, "nodes", 0, 0, 4096));
    launch.time_limit = r.text("time_limit", launch.time_limit);
    launch.script = read_path(r, file, "script", "../../slurm/site_train.sh");
    launch.sbatch_options = read_sbatch_options(r);
    r.require(launch.kind == LaunchSettings::Kind::slurm || launch.sbatch_options.empty(),
              "sbatch_options", "requires kind slurm");
    r.require(launch.kind == LaunchSettings::Kind::slurm || launch.nodes <= 1, "nodes",
              "requires kind slurm");
    bool const sets_nodes = std::ranges::any_of(launch.sbatch_options, [](auto const& option) {
        return option == "--nodes" || option.starts_with("--nodes=");
    });
    r.require(launch.nodes == 0 || !sets_nodes, "nodes",
              "must be absent if sbatch_options has --nodes");
    launch.prologue = read_optional_path(r, file, "prologue");
    launch.command_deadline = read_seconds(r, "command_deadline_s", launch.command_deadline);
    launch.grace = read_seconds(r, "grace_s", launch.grace);
    launch.failures_before_hold = static_cast<int>(
        read_integer(r, "failures_before_hold", launch.failures_before_hold, 1, 1'000'000));
    launch.completing_time = read_seconds(r, "completing_s", launch.completing_time);
    check_time_limit(r, launch);
    return launch;
}

// Another name would break lists of names and lines of text.
bool is_region(std::string_view name)
{
    return !name.empty() && printable(name) == name &&
           name.find_first_of(", ") == std::string_view::npos;
}

// The PUE is a number, or a list of values with the times from which they apply.
void read_pue(json::ObjectReader& r, Site& site)
{
    auto const* list = r.any("pue");
    if (list == nullptr || list->as_array() == nullptr) {
        site.power->pue = read_number(r, "pue", std::nullopt, 1, 10);
        return;
    }
    r.require(!list->as_array()->empty(), "pue",
              "must be a number or a list with at least one value");
    bool is_first = true;
    r.each("pue", [&](json::ObjectReader& o) {
        double const pue = read_number(o, "value", std::nullopt, 1, 10);
        if (std::exchange(is_first, false)) {
            site.power->pue = pue;
            return;
        }
        auto const from = o.optional_time("from").value_or(Time::min());
        Time const before = site.later_pues.empty() ? Time::min() : site.later_pues.back().from;
        o.require(from > before, "from", "must be a time, and later than the one before it");
        site.later_pues.push_back({from, pue});
    });
}

// Power has no default: a guess would look like a statement.
void read_power(json::ObjectReader& r, Site& site)
{
    auto const read = [&](char const* key) {
        double const kw = r.number(key);
        r.require(kw > 0 && kw <= 1e6, key, "must be more than 0 and at most 1000000");
        return Watts{1000 * kw};
    };
    auto& power = site.power.emplace();
    power.idle = read("idle_kw");
    power.training = read("training_kw");
    r.require(power.training >= power.idle, "training_kw", "must be at least idle_kw");
    read_pue(r, site);
    site.power_source = r.text("source", "");
    r.object(
        "meter",
        [&](json::ObjectReader& o) {
            (void)o.one_of("source", {"energy_j"});
            auto& meter = site.meter.emplace();
            meter.covers_node = o.one_of("covers", {"devices", "node"}) == 1;
            double const rest_kw =
                o.number("rest_kw", meter.covers_node ? std::optional(0.0) : std::nullopt);
            o.require(rest_kw >= 0 && rest_kw <= 1e6, "rest_kw", "must be 0 to 1000000");
            o.require(!meter.covers_node || rest_kw == 0, "rest_kw",
                      "must be 0 if the meter covers the node");
            meter.rest = Watts{1000 * rest_kw};
        },
        false);
    site.between_jobs = static_cast<energy::BetweenJobs>(
        r.one_of("between_jobs", {"unknown", "released", "idle"}, 0));
    site.embodied_gco2_per_hour = r.optional_number("embodied_gco2_per_hour");
    auto const embodied = site.embodied_gco2_per_hour.value_or(0);
    r.require(embodied >= 0 && embodied <= 1e9, "embodied_gco2_per_hour",
              "must be 0 to 1000000000");
}

void read_permission(json::ObjectReader& r, Site& site)
{
    site.poll_period = read_seconds(r, "poll_period_s", site.poll_period);
    if (!r.optional_number("permission_lifetime_s")) return;
    site.permission_lifetime = read_seconds(r, "permission_lifetime_s", {});
    r.require(*site.permission_lifetime >= 2 * site.poll_period, "permission_lifetime_s",
              "must be at least 2 x poll_period_s: a job must survive one late poll");
}

Result<Site> site_of(json::Value const& json, std::filesystem::path const& file)
{
    using Reader = json::ObjectReader;
    Reader r(json, file.string(), ExitCode::config);
    Site site;
    site.site = {r.text("site")};
    r.require(is_plain_name(site.site.value), "site", plain_name_rule);
    site.region = {r.text("region", site.site.value)};
    r.require(is_region(site.region.value), "region",
              "must be a name without commas, spaces and control characters");
    site.label = r.text("label", site.site.value);
    site.devices = r.text("devices", "");
    site.ranks = static_cast<int>(read_integer(r, "ranks", 1, 1, 4096));
    site.device = static_cast<Device>(r.one_of("device", {"cpu", "gpu"}, 0));
    site.rank_peak_tflops = r.optional_number("rank_peak_tflops");
    r.require(site.rank_peak_tflops.value_or(1) > 0, "rank_peak_tflops", "must be positive");
    site.signal_max_age = read_seconds(r, "signal_max_age_s", site.signal_max_age);
    read_permission(r, site);
    r.object(
        "window", [&](Reader& o) { site.window = read_window(o); }, false);
    auto const* power = r.any("power");
    if (power != nullptr && power->as_object() != nullptr)
        r.object("power", [&](Reader& o) { read_power(o, site); });
    else
        r.require(power != nullptr && power->as_text() != nullptr && *power->as_text() == "unknown",
                  "power", "must be an object with idle_kw, training_kw and pue, or \"unknown\"");
    r.object("launcher", [&](Reader& o) {
        site.launch = read_launcher(o, file);
        o.require(site.launch.nodes <= site.ranks, "nodes",
                  "must be at most the site's ranks: a node needs a rank");
    });
    r.object(
        "mpi", [&](Reader& o) { site.mpi = read_mpi(o); }, false);
    site.s3 = read_s3_access(r, file);
    if (auto error = r.finish()) return tl::unexpected(*error);
    return site;
}

}  // namespace

Result<Site> read_site(std::filesystem::path const& file, std::vector<SettingsFile>& files)
{
    auto const json = read_settings(file, files);
    if (!json) return tl::unexpected(json.error());
    return site_of(*json, file);
}

Result<Site> parse_site(std::string const& text, std::filesystem::path const& file)
{
    auto const json = json::parse(text, file.string(), json::Dialect::comments);
    if (!json) return tl::unexpected(json.error());
    return site_of(*json, file);
}

}  // namespace curtail::config
