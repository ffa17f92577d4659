#include <signal.h>

#include <filesystem>
#include <thread>

#include "apps/program.hpp"
#include "config/run.hpp"
#include "core/text.hpp"
#include "poll/clock_file.hpp"
#include "poll/poll.hpp"
#include "poll/report.hpp"
#include "signals/private_file.hpp"
#include "signals/trace.hpp"
#include "signals/watttime_provider.hpp"

namespace curtail::apps {
namespace {

/// The folder whose bin/ this program lies in.
std::filesystem::path build_folder()
{
    std::error_code error;
    return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().parent_path();
}

/// Sites of the run, or those that --site names.
Result<std::vector<config::Site const*>> chosen_sites(config::Run const& run, std::vector<std::string> const& names)
{
    std::vector<config::Site const*> chosen;
    std::vector<std::string> known;
    for (auto const& site : run.sites) known.push_back(site.site.value);
    for (auto const& name : names.empty() ? known : names) {
        auto const* site = run.find_site({name});
        if (site == nullptr)
            return fail(ExitCode::usage, "--site " + printable(name), "run " + run.run.value + " has no such site",
                        suggest_name(name, known));
        chosen.push_back(site);
    }
    return chosen;
}

poll::SiteWatch::Parts parts_of(config::Run const& run, config::Site const& site, std::unique_ptr<signals::Provider> provider,
                                std::optional<Time> signals_begin)
{
    plan::Rules rules;
    rules.grace = site.launcher.grace;
    return {site,         run.folder / "complete.json", std::move(provider), launch::make_launcher(run, site, build_folder()), rules,
            signals_begin};
}

Result<void> add_trace(poll::World& world, Arguments const& a, std::vector<config::Site const*> const& sites)
{
    auto const trace = signals::read_trace(a.text("trace"));
    if (!trace) return tl::unexpected(trace.error());
    if (trace->rows().empty()) return fail(ExitCode::data, "cannot replay " + a.text("trace"), "it has no samples");
    for (auto const* site : sites)
        if (auto known = trace->samples(site->region); !known) return tl::unexpected(known.error());
    bool const has_speed = a.has("speed");
    double const factor = has_speed ? a.number("speed") : 1;
    if (!(factor > 0 && factor <= 1e6)) return fail(ExitCode::usage, "--speed " + a.text("speed"), "must be more than 0 and at most 1e6");
    TimeScale const wanted{trace->rows().front().time, SystemClock{}.now(), factor};
    auto scale = poll::read_clock(world.run.folder);
    if (!scale) return tl::unexpected(scale.error());
    if (!*scale && !a.flag("dry-run")) {
        if (auto made = make_folder(world.run.folder); !made) return made;
        auto made = poll::make_clock(world.run.folder, wanted);
        if (!made) return tl::unexpected(made.error());
        *scale = *made;
    }
    auto const clock = scale->value_or(wanted);
    if (clock.origin != wanted.origin || (has_speed && clock.factor != factor))
        return fail(ExitCode::config, "cannot replay " + a.text("trace"),
                    (world.run.folder / "clock.json").string() + " belongs to another replay (from " + format_time(clock.origin) + ", " +
                        std::to_string(clock.factor) + " times real speed)",
                    "finish that one, or begin a new run");
    world.clock = std::make_shared<ScaledClock>(clock);
    world.trace_end = trace->rows().back().time;
    for (auto const* site : sites)
        world.sites.push_back(parts_of(world.run, *site, std::make_unique<signals::TraceProvider>(*trace), clock.origin));
    return {};
}

Result<void> add_watttime(poll::World& world, Arguments const& a, std::vector<config::Site const*> const& sites)
{
    if (!a.has("credentials"))
        return fail(ExitCode::usage, "--watttime", "needs an account",
                    "pass --credentials FILE with {\"username\": ..., \"password\": ...}, mode 0600");
    auto const folder = world.run.poller_folder() / "watttime";
    if (auto made = make_folder(world.run.poller_folder()); !made) return made;
    if (auto made = signals::ensure_private_folder(folder); !made) return made;
    auto const clock = std::make_shared<SystemClock>();
    for (auto const* site : sites) {
        // An account, client and connection per site: a slow answer for one does not delay the others.
        auto credentials = signals::watttime::read_credentials(a.text("credentials"));
        if (!credentials) return tl::unexpected(credentials.error());
        signals::watttime::Options options;
        options.base_url = a.text("watttime-url");
        options.ca_file = a.text("ca-file");
        options.state_folder = folder;
        options.log = world.log;
        signals::watttime::Client client(std::move(*credentials), std::move(options), *clock);
        world.sites.push_back(
            parts_of(world.run, *site, std::make_unique<signals::WattTimeProvider>(std::move(client), folder, world.log), std::nullopt));
    }
    world.clock = clock;
    return {};
}

/// Turns SIGINT and SIGTERM into stop requests. To be made before any other thread, which inherit the blocked signals.
class Signals {
  public:
    Signals()
    {
        sigemptyset(&set_);
        sigaddset(&set_, SIGINT);
        sigaddset(&set_, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &set_, nullptr);
        listener_ = std::jthread([this](std::stop_token const& stop) {
            timespec const pause{0, 100'000'000};
            while (!stop.stop_requested())
                if (sigtimedwait(&set_, nullptr, &pause) > 0) request_.raise();
        });
    }
    [[nodiscard]] poll::StopRequest const& request() const { return request_; }

  private:
    sigset_t set_{};
    poll::StopRequest request_;
    std::jthread listener_;
};

/// For job scripts: which site is meant, and how many ranks it wants. Slurm writes cluster names in lower case.
Result<void> print_job_line(config::Run const& run, std::string const& name, Console const& console)
{
    std::vector<std::string> known;
    for (auto const& site : run.sites) {
        known.push_back(site.site.value);
        if (strcasecmp(site.site.value.c_str(), name.c_str()) != 0) continue;
        console.print(site.site.value + " " + std::to_string(site.ranks) + "\n");
        return {};
    }
    return fail(ExitCode::usage, "no site \"" + printable(name) + "\" in run " + run.run.value, "",
                suggest_name(name, known) + " (a job script takes the site as its second argument)");
}

Result<poll::Answer> poll_as_asked(poll::World world, Arguments const& a)
{
    if (!a.flag("watch")) return poll::poll_once(std::move(world), a.flag("dry-run"));
    Signals const signals;
    poll::WatchOptions options;
    options.drain_on_exit = world.trace_end.has_value() || a.flag("drain-on-exit");
    Progress progress("replay", "s of trace");
    options.progress = [&](double done, double whole) { progress.at(done, whole); };
    return poll::watch(std::move(world), options, signals.request());
}

Result<void> run_poll(Arguments const& a, Console const& console)
{
    if (a.flag("once") && a.flag("watch")) return fail(ExitCode::usage, "--once and --watch", "are two ways to run", "choose one");
    if (a.flag("watch") && a.flag("dry-run"))
        return fail(ExitCode::usage, "--watch --dry-run", "a dry run looks once", "leave --watch out");
    auto const run = config::read_run(a.text("RUN"));
    if (!run) return tl::unexpected(run.error());
    if (a.has("job-line")) return print_job_line(*run, a.text("job-line"), console);
    if (a.flag("watttime") == a.has("trace"))
        return fail(ExitCode::usage, a.has("trace") ? "--watttime and --trace" : "no signal",
                    a.has("trace") ? "are two signals" : "windows follow one", "pass either --watttime --credentials FILE or --trace FILE");
    auto const sites = chosen_sites(*run, a.all("site"));
    if (!sites) return tl::unexpected(sites.error());
    poll::World world{*run, {}, {}, {}, console.log};
    if (auto added = a.has("trace") ? add_trace(world, a, *sites) : add_watttime(world, a, *sites); !added) return added;
    auto const answer = poll_as_asked(std::move(world), a);
    if (!answer) return tl::unexpected(answer.error());
    if (console.json) console.print_json(poll::to_json(answer->sites));
    else if (a.flag("explain")) console.print(poll::explain(answer->sites, a.flag("dry-run")));
    if (answer->silent.empty() || a.flag("watch")) return {};
    std::string names;
    for (auto const& site : answer->silent) names += (names.empty() ? "" : ", ") + site.value;
    return fail(ExitCode::temporary, "cannot look at " + names, "no list of jobs, see the warnings above", "other sites were looked after");
}

Program program()
{
    return {
        "curtail-poll",
        "Follows each site's carbon signal and submits, drains and cancels the jobs of a run.",
        {{"",
          "",
          {{"once", Kind::flag, "", "", "Look once and exit (default; for cron)"},
           {"watch", Kind::flag, "", "", "Go on until stopped, or until the trace is over"},
           {"dry-run", Kind::flag, "", "", "Say what would be done, and do nothing"},
           {"explain", Kind::flag, "", "", "Print for each site signal, window, job and next action, with reasons"},
           {"watttime", Kind::flag, "", "", "Signals from WattTime; needs --credentials"},
           {"credentials", Kind::text, "FILE", "", "WattTime account as JSON, username and password, mode 0600"},
           {"watttime-url", Kind::text, "URL", "https://api.watttime.org", "Where WattTime answers"},
           {"ca-file", Kind::text, "FILE", "", "Certificates to trust for it instead of the system's"},
           {"trace", Kind::text, "FILE", "", "Signals from a recorded trace, replayed from its first sample on"},
           {"speed", Kind::number, "FACTOR", "", "Seconds of trace in a real second [1, or as the replay began]"},
           {"drain-on-exit", Kind::flag, "", "", "On Ctrl-C drain all jobs and wait for their end (always so in a replay)"},
           {"site", Kind::text, "SITE", "", "Only this site; may be given several times", false, true},
           {"job-line", Kind::text, "NAME", "", "Print `SITE RANKS` of the site of this name, in any case, and exit (for job scripts)"}},
          {{"RUN", "The run's file, such as inputs/runs/demo.json"}},
          run_poll,
          true}},
        "\nState, journal and events are kept in poller/ of the run's folder. A second poller on the same run exits with 75.\n"};
}

}  // namespace
}  // namespace curtail::apps

int main(int argc, char** argv) { return curtail::apps::run(curtail::apps::program(), argc, argv); }
