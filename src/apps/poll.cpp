// SPDX-License-Identifier: Apache-2.0
#include <signal.h>

#include <filesystem>
#include <thread>

#include "apps/program.hpp"
#include "apps/progress.hpp"
#include "config/run.hpp"
#include "core/clock_file.hpp"
#include "core/private_file.hpp"
#include "core/text.hpp"
#include "launch/mark.hpp"
#include "poll/poll.hpp"
#include "poll/report.hpp"
#include "signals/trace.hpp"
#include "signals/watttime_provider.hpp"
#include "store/object_store.hpp"

namespace curtail::apps {
namespace {

/// The folder whose bin/ this program lies in.
std::filesystem::path build_folder()
{
    std::error_code error;
    return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().parent_path();
}

/// Sites of the run, or those that --site names.
Result<std::vector<config::Site const*>> chosen_sites(config::Run const& run,
                                                      std::vector<std::string> const& names)
{
    std::vector<config::Site const*> chosen;
    std::vector<std::string> known;
    for (auto const& site : run.sites) known.push_back(site.site.value);
    for (auto const& name : names.empty() ? known : names) {
        auto const* site = run.find_site({name});
        if (site == nullptr)
            return fail(ExitCode::usage, "--site " + printable(name),
                        "run " + run.run.value + " has no such site", suggest_name(name, known));
        if (std::find(chosen.begin(), chosen.end(), site) == chosen.end()) chosen.push_back(site);
    }
    return chosen;
}

poll::SiteWatch::Parts parts_of(config::Run const& run, config::Site const& site,
                                std::string const& mark,
                                std::unique_ptr<signals::Provider> provider,
                                std::optional<Time> signals_begin)
{
    plan::Rules rules;
    rules.grace = site.launcher.grace;
    auto launcher = launch::make_launcher(run, site, mark, build_folder());
    return {
        site,         run.folder / "complete.json", std::move(provider), std::move(launcher), rules,
        signals_begin};
}

constexpr char const* other_run =
    "begin a new run, with a `run` and a `folder` of its own in its file";

/// The replay's clock: the run's own, else `wanted`, which becomes the run's unless `dry`.
Result<TimeScale> replay_clock(config::Run const& run, TimeScale const& wanted, bool dry)
{
    auto const known = read_clock(run.folder);
    if (!known) return tl::unexpected(known.error());
    if (*known) return **known;
    auto const state = run.poller_folder() / "state.json";
    std::error_code error;
    if (std::filesystem::exists(state, error))
        return fail(ExitCode::config, "cannot replay a trace for run " + run.run.value,
                    "it was begun with a live signal, in real time (" + state.string() + ")",
                    other_run);
    if (dry) return wanted;
    if (auto made = make_folder(run.folder); !made) return tl::unexpected(made.error());
    return make_clock(run.folder, wanted);
}

Result<void> add_trace(poll::World& world, Arguments const& a,
                       std::vector<config::Site const*> const& sites, std::string const& mark)
{
    auto const trace = signals::read_trace(a.text("trace"));
    if (!trace) return tl::unexpected(trace.error());
    for (auto const* site : sites)
        if (auto known = trace->samples(site->region); !known) return tl::unexpected(known.error());
    bool const has_speed = a.has("speed");
    double const factor = has_speed ? a.number("speed") : 1;
    if (!(factor > 0 && factor <= 1e6))
        return fail(ExitCode::usage, "--speed " + a.text("speed"),
                    "must be more than 0 and at most 1e6");
    TimeScale const wanted{trace->first_time(), SystemClock{}.now(), factor};
    auto const clock = replay_clock(world.run, wanted, a.flag("dry-run"));
    if (!clock) return tl::unexpected(clock.error());
    if (clock->origin != wanted.origin || (has_speed && clock->factor != factor))
        return fail(ExitCode::config, "cannot replay " + a.text("trace"),
                    (world.run.folder / "clock.json").string() +
                        " belongs to another replay (from " + format_time(clock->origin) + ", " +
                        std::to_string(clock->factor) + " times real speed)",
                    "finish that one, or begin a new run");
    world.clock = std::make_shared<ScaledClock>(*clock);
    world.trace_end = trace->last_time();
    for (auto const* site : sites)
        world.sites.push_back(parts_of(world.run, *site, mark,
                                       std::make_unique<signals::TraceProvider>(*trace),
                                       clock->origin));
    return {};
}

Result<void> add_watttime(poll::World& world, Arguments const& a,
                          std::vector<config::Site const*> const& sites, std::string const& mark)
{
    if (!a.has("credentials"))
        return fail(
            ExitCode::usage, "--watttime", "needs an account",
            "pass --credentials FILE with {\"username\": ..., \"password\": ...}, mode 0600");
    auto const replay = read_clock(world.run.folder);
    if (!replay) return tl::unexpected(replay.error());
    if (*replay)
        return fail(ExitCode::config, "cannot use a live signal for run " + world.run.run.value,
                    "it was begun as a replay, on a clock of its own (" +
                        (world.run.folder / "clock.json").string() + ")",
                    other_run);
    auto const folder = world.run.poller_folder() / "watttime";
    bool const dry = a.flag("dry-run");
    if (!dry) {
        if (auto made = ensure_private_folder(world.run.poller_folder()); !made) return made;
        if (auto made = ensure_private_folder(folder); !made) return made;
    }
    if (auto guarded = guard_memory(); !guarded) return guarded;
    auto const clock = std::make_shared<SystemClock>();
    for (auto const* site : sites) {
        // An account, client and connection per site: a slow answer for one does not delay the
        // others.
        auto credentials = signals::watttime::read_credentials(a.text("credentials"));
        if (!credentials) return tl::unexpected(credentials.error());
        signals::watttime::Options options;
        options.base_url = a.text("watttime-url");
        options.ca_file = a.text("ca-file");
        options.state_folder = folder;
        options.credentials_file = a.text("credentials");
        options.writes = !dry;
        options.log = world.log;
        signals::watttime::Client client(std::move(*credentials), std::move(options), *clock);
        world.sites.push_back(
            parts_of(world.run, *site, mark,
                     std::make_unique<signals::WattTimeProvider>(std::move(client)), std::nullopt));
    }
    world.clock = clock;
    return {};
}

/// Windows as they were left, for a look without a signal.
Result<void> add_nothing(poll::World& world, std::vector<config::Site const*> const& sites,
                         std::string const& mark)
{
    auto const replay = read_clock(world.run.folder);
    if (!replay) return tl::unexpected(replay.error());
    if (*replay) world.clock = std::make_shared<ScaledClock>(**replay);
    else world.clock = std::make_shared<SystemClock>();
    for (auto const* site : sites)
        world.sites.push_back(parts_of(world.run, *site, mark, nullptr, std::nullopt));
    return {};
}

/// Turns SIGINT, SIGTERM and SIGHUP, unless that is ignored (nohup), into stop requests. To be made
/// before any other thread, which inherit the blocked signals.
class Signals {
  public:
    Signals()
    {
        sigemptyset(&set_);
        sigaddset(&set_, SIGINT);
        sigaddset(&set_, SIGTERM);
        struct sigaction hangup {};
        if (sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
            sigaddset(&set_, SIGHUP);
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

/// For job scripts: which site is meant, and how many ranks it wants. Slurm writes cluster names in
/// lower case.
Result<void> print_job_line(config::Run const& run, std::string const& name, Console const& console)
{
    std::vector<std::string> known;
    auto const* found = run.find_site({name});
    for (auto const& site : run.sites) {
        known.push_back(site.site.value);
        if (found == nullptr && strcasecmp(site.site.value.c_str(), name.c_str()) == 0)
            found = &site;
    }
    if (found != nullptr) {
        console.print(found->site.value + " " + std::to_string(found->ranks) + "\n");
        return {};
    }
    return fail(
        ExitCode::usage, "no site \"" + printable(name) + "\" in run " + run.run.value, "",
        suggest_name(name, known) + " (a job script takes the site as its second argument)");
}

/// Whoever begins a run makes its store. Later a folder that is not there is a mount that is
/// missing, and trainers say so.
Result<void> make_store_of_new_run(config::Run const& run)
{
    std::error_code error;
    if (std::filesystem::exists(run.poller_folder() / "state.json", error)) return {};
    return store::open_store(run.store, store::Missing::make).map([](auto const&) {});
}

/// Whether nothing shall be done, only looked at. Without a signal there is nothing else that can
/// be done.
Result<bool> is_dry(Arguments const& a)
{
    if (a.flag("once") && a.flag("watch"))
        return fail(ExitCode::usage, "--once and --watch", "are two ways to run", "choose one");
    if (a.has("look-every") &&
        !(a.flag("watch") && a.number("look-every") >= 0.1 && a.number("look-every") <= 3600))
        return fail(ExitCode::usage, "--look-every " + a.text("look-every"),
                    "must be 0.1 to 3600, and is for --watch");
    if (a.flag("watch") && a.flag("dry-run"))
        return fail(ExitCode::usage, "--watch --dry-run", "a dry run looks once",
                    "leave --watch out");
    if (a.flag("watttime") && a.has("trace"))
        return fail(ExitCode::usage, "--watttime and --trace", "are two signals",
                    "windows follow one: choose one");
    if (a.has("speed") && !a.has("trace"))
        return fail(ExitCode::usage, "--speed", "is that of a replay",
                    "pass --trace FILE, or leave it out");
    if (a.flag("drain-on-exit") && !a.flag("watch"))
        return fail(ExitCode::usage, "--drain-on-exit", "is about the end of --watch",
                    "pass --watch, or leave it out");
    if (a.flag("watttime") || a.has("trace") || a.flag("dry-run")) return a.flag("dry-run");
    if (a.flag("explain") && !a.flag("watch")) return true;
    return fail(ExitCode::usage, "no signal", "windows follow one",
                "pass either --watttime --credentials FILE or --trace FILE, or --explain to see "
                "how things stand");
}

/// How often --watch looks at jobs: a replay's seconds are minutes of its day, live Slurm
/// controllers have other work.
Millis look_interval(Arguments const& a)
{
    if (a.has("look-every"))
        return std::chrono::round<Millis>(FractionalSeconds(a.number("look-every")));
    return a.has("trace") ? Millis(1'000) : Millis(10'000);
}

Result<poll::Answer> poll_as_asked(poll::World world, Arguments const& a, bool dry)
{
    if (!a.flag("watch")) return poll::poll_once(std::move(world), dry);
    Signals const signals;
    poll::WatchOptions options;
    options.look_every = look_interval(a);
    options.drain_on_exit = world.trace_end.has_value() || a.flag("drain-on-exit");
    Progress progress("replay", "s of trace");
    options.progress = [&](double done, double whole) { progress.update(done, whole); };
    return poll::watch(std::move(world), options, signals.request());
}

Result<void> run_poll(Arguments const& a, Console const& console)
{
    auto const run = config::read_run(a.text("RUN"));
    if (!run) return tl::unexpected(run.error());
    if (a.has("job-line")) return print_job_line(*run, a.text("job-line"), console);
    auto const dry = is_dry(a);
    if (!dry) return tl::unexpected(dry.error());
    auto const sites = chosen_sites(*run, a.all("site"));
    if (!sites) return tl::unexpected(sites.error());
    poll::World world{*run, {}, {}, {}, console.log};
    auto const mark = launch::run_mark(run->folder, false);
    if (!mark) return tl::unexpected(mark.error());
    auto added = a.has("trace")       ? add_trace(world, a, *sites, *mark)
                 : a.flag("watttime") ? add_watttime(world, a, *sites, *mark)
                                      : add_nothing(world, *sites, *mark);
    if (!added) return added;
    if (!*dry) {
        if (auto kept = launch::run_mark(run->folder, true); !kept)
            return tl::unexpected(kept.error());
        if (auto made = make_store_of_new_run(*run); !made) return made;
    }
    auto const answer = poll_as_asked(std::move(world), a, *dry);
    if (!answer) return tl::unexpected(answer.error());
    if (console.json) console.print_json(poll::to_json(answer->sites));
    else if (a.flag("explain") || *dry) console.print(poll::explain(answer->sites, *dry));
    if (*dry) return {};
    // What went wrong at a site while it was watched has been said, and may be over.
    auto const& of_run = answer->troubles;
    auto const trouble = !a.flag("watch") ? answer->trouble()
                         : of_run.empty() ? std::nullopt
                                          : std::optional(of_run.front());
    if (trouble) return tl::unexpected(*trouble);
    return {};
}

Program program()
{
    return {
        "curtail-poll",
        "Follows each site's carbon signal and submits, drains and cancels the jobs of a run.",
        {{"",
          "",
          {{"once", OptionType::flag, "", "", "Look once and exit (default; for cron)"},
           {"watch", OptionType::flag, "", "", "Go on until stopped, or until the trace is over"},
           {"dry-run", OptionType::flag, "", "",
            "Say what would be done, as --explain does, and do nothing"},
           {"explain", OptionType::flag, "", "",
            "Print for each site signal, window, job and next action, with reasons (with "
            "--watch: at its end); without a signal: how they "
            "were left"},
           {"watttime", OptionType::flag, "", "", "Signals from WattTime; needs --credentials"},
           {"credentials", OptionType::text, "FILE", "",
            "WattTime account as JSON, username and password, mode 0600"},
           {"watttime-url", OptionType::text, "URL", "https://api.watttime.org",
            "Where WattTime answers"},
           {"ca-file", OptionType::text, "FILE", "",
            "Certificates to trust for it instead of the system's"},
           {"trace", OptionType::text, "FILE", "",
            "Signals from a recorded trace, replayed from its first sample on"},
           {"speed", OptionType::number, "FACTOR", "",
            "Seconds of trace in a real second [1, or as the replay began]"},
           {"look-every", OptionType::number, "SECONDS", "",
            "With --watch: look at jobs this often [1 in a replay, else 10]"},
           {"drain-on-exit", OptionType::flag, "", "",
            "On Ctrl-C drain all jobs and wait for their end (always so in a replay)"},
           {"site", OptionType::text, "SITE", "", "Only this site; may be given several times",
            false, true},
           {"job-line", OptionType::text, "NAME", "",
            "Print `SITE RANKS` of the site of this name, in any case, and exit (for job "
            "scripts)"}},
          {{"RUN", "The run's file, such as inputs/runs/demo.json"}},
          run_poll,
          true}},
        "\nState, journal and events are kept in poller/ of the run's folder. A second poller "
        "on the same run exits with 75.\n"};
}

}  // namespace
}  // namespace curtail::apps

int main(int argc, char** argv) { return curtail::apps::run(curtail::apps::program(), argc, argv); }
