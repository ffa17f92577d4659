// SPDX-License-Identifier: Apache-2.0
#include "config/site.hpp"

#include "config/read.hpp"
#include "core/text.hpp"

namespace curtail::config {
namespace {

windows::Thresholds read_window(json::ObjectReader& r)
{
    // The range that a sample may have: a threshold outside it would hold always or never, a slip
    // of units most likely.
    constexpr double least = -2000;
    constexpr double greatest = 5000;
    windows::Thresholds window;
    window.open_below = {
        read_number(r, "open_below_gco2_per_kwh", window.open_below.value, least, greatest)};
    window.close_above = {
        read_number(r, "close_above_gco2_per_kwh", window.close_above.value, least, greatest)};
    window.close_delay = read_seconds(r, "close_delay_s", window.close_delay);
    r.require(window.close_above >= window.open_below, "close_above_gco2_per_kwh",
              "must not be below open_below_gco2_per_kwh");
    return window;
}

/// Options that are the poller's to set. sbatch takes abbreviations too.
constexpr std::string_view taken_options =
    "job-name comment dependency parsable output open-mode chdir export export-file requeue "
    "no-requeue array clusters wait wrap hold "
    "test-only help usage version signal ntasks time partition";

std::vector<std::string> read_sbatch_options(json::ObjectReader& r)
{
    std::string const key = "sbatch_options";
    std::vector<std::string> options;
    for (auto const& value : r.list(key, false)) {
        auto const* text = value.as_text();
        bool const is_long = text != nullptr && text->size() > 2 && text->starts_with("--") &&
                             printable(*text) == *text;
        r.require(is_long, key,
                  "must be long options, each with its value: [\"--account=x\", \"--exclusive\"]");
        if (!is_long) break;
        auto const name = text->substr(2, text->find('=') - 2);
        for (auto const taken : split(taken_options, ' '))
            r.require(!taken.starts_with(name), key,
                      "must not have " + *text +
                          ", which is the poller's to set; grace_s, ranks, time_limit and "
                          "partition are keys");
        options.push_back(*text);
    }
    return options;
}

Launcher read_launcher(json::ObjectReader& r, std::filesystem::path const& file)
{
    Launcher launcher;
    launcher.kind = static_cast<Launcher::Kind>(r.one_of("kind", {"slurm", "local"}, 0));
    if (auto const conf = r.optional_text("slurm_conf")) {
        r.require(!conf->empty(), "slurm_conf", "must not be empty");
        launcher.slurm_conf = resolve(file, *conf);
    }
    launcher.partition = r.text("partition", "");
    launcher.time_limit = r.text("time_limit", launcher.time_limit);
    launcher.script = read_path(r, file, "script", "../../slurm/site_train.sh");
    launcher.sbatch_options = read_sbatch_options(r);
    r.require(launcher.kind == Launcher::Kind::slurm || launcher.sbatch_options.empty(),
              "sbatch_options", "are for kind slurm");
    if (auto const prologue = r.optional_text("prologue")) {
        r.require(!prologue->empty(), "prologue", "must not be empty");
        launcher.prologue = resolve(file, *prologue);
    }
    launcher.command_deadline = read_seconds(r, "command_deadline_s", launcher.command_deadline);
    launcher.grace = read_seconds(r, "grace_s", launcher.grace);
    return launcher;
}

}  // namespace

Result<Site> read_site(std::filesystem::path const& file)
{
    auto const json = config::read_file(file);
    if (!json) return tl::unexpected(json.error());
    json::ObjectReader r(*json, file.string(), ExitCode::config);
    Site site;
    site.site = {r.text("site")};
    r.require(is_plain_name(site.site.value), "site",
              "must have 1 to 32 letters, digits, '_' or '-'");
    site.region = {r.text("region", site.site.value)};
    site.label = r.text("label", site.site.value);
    site.devices = r.text("devices", "");
    site.ranks = static_cast<int>(read_integer(r, "ranks", 1, 1, 4096));
    site.signal_max_age = read_seconds(r, "signal_max_age_s", site.signal_max_age);
    r.object(
        "window", [&](json::ObjectReader& o) { site.window = read_window(o); }, false);
    r.object(
        "power",
        [&](json::ObjectReader& o) {
            site.power.idle = {1000 *
                               read_number(o, "idle_kw", site.power.idle.value / 1000, 0, 1e6)};
            site.power.training = {
                1000 * read_number(o, "training_kw", site.power.training.value / 1000, 0, 1e6)};
        },
        false);
    r.object(
        "launcher", [&](json::ObjectReader& o) { site.launcher = read_launcher(o, file); }, true);
    if (auto error = r.finish()) return tl::unexpected(*error);
    return site;
}

}  // namespace curtail::config
