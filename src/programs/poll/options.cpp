// SPDX-License-Identifier: Apache-2.0
#include "programs/poll/options.hpp"

#include <array>

#include "base/core/text.hpp"

namespace curtail::programs {
namespace {

// The value of --resume without a site.
constexpr std::string_view every_site = "*";

// One rule about the command line, with the error for breaking it.
struct Rule {
    bool broken;
    char const* what;
    char const* why;
    char const* remedy{""};
};

// The options that store a person's decision.
bool pauses(Arguments const& a) { return a.flag("stop") || a.has("pause"); }
bool decides(Arguments const& a) { return pauses(a) || a.has("resume"); }

constexpr std::size_t longest_reason = 1000;

std::array<Rule, 6> hold_rules(Arguments const& a)
{
    auto const reason = a.text("reason");
    bool const has_reason = !trim(reason).empty();
    int const decisions = int{a.flag("stop")} + int{a.has("pause")} + int{a.has("resume")};
    bool const polls = a.flag("watch") || a.flag("watttime") || a.has("trace") || a.has("site") ||
                       a.flag("dry-run");
    return {{
        {decisions > 1, "--pause, --stop and --resume", "exclude each other", "choose one"},
        {decides(a) && polls, "--pause, --stop and --resume",
         "exclude --watch, --site, --dry-run and signal sources",
         "omit those: the next poll follows the decision"},
        {pauses(a) && !has_reason, "--reason",
         "is missing: a pause needs a reason, for those who find the site paused",
         "pass --reason TEXT"},
        {printable(reason) != reason, "--reason",
         "must be one line of UTF-8 text without control characters", "rewrite it"},
        {reason.size() > longest_reason, "--reason", "has more than 1000 bytes", "shorten it"},
        {!pauses(a) && has_reason, "--reason", "works only with --pause or --stop", "omit it"},
    }};
}

std::array<Rule, 4> watch_rules(Arguments const& a)
{
    bool const watch = a.flag("watch");
    return {{
        {a.flag("once") && watch, "--once and --watch", "exclude each other", "choose one"},
        {a.has("look-every") && !watch, "--look-every", "works only with --watch",
         "pass --watch, or omit it"},
        {watch && a.flag("dry-run"), "--watch and --dry-run", "exclude each other",
         "omit --watch: a dry run polls once"},
        {a.flag("drain-on-exit") && !watch, "--drain-on-exit", "works only with --watch",
         "pass --watch, or omit it"},
    }};
}

std::array<Rule, 4> signal_rules(Arguments const& a)
{
    bool const trace = a.has("trace");
    bool const watttime = a.flag("watttime");
    bool const shows_only = a.flag("dry-run") || (a.flag("explain") && !a.flag("watch"));
    bool const needs_no_signal = shows_only || decides(a);
    return {{
        {watttime && trace, "--watttime and --trace", "exclude each other",
         "choose one signal source"},
        {a.has("speed") && !trace, "--speed", "works only with --trace",
         "pass --trace FILE, or omit it"},
        {watttime && !a.has("credentials"), "--watttime", "needs an account",
         "pass --credentials FILE with {\"username\": ..., \"password\": ...}, mode 0600"},
        {!watttime && !trace && !needs_no_signal, "cannot poll", "no signal source is given",
         "pass --watttime --credentials FILE or --trace FILE; or --explain to show the state of "
         "the last poll"},
    }};
}

template <std::size_t n>
std::optional<Error> broken_rule(std::array<Rule, n> const& all)
{
    for (auto const& rule : all)
        if (rule.broken) return Error{ExitCode::usage, rule.what, rule.why, rule.remedy};
    return std::nullopt;
}

SignalSource source_of(Arguments const& a)
{
    if (a.has("trace"))
        return TraceSource{a.text("trace"),
                           a.has("speed") ? std::optional(a.number("speed")) : std::nullopt};
    if (a.flag("watttime"))
        return WattTimeSource{a.text("credentials"), a.text("watttime-url"), a.text("ca-file")};
    return NoSource{};
}

std::optional<HoldCommand> hold_of(Arguments const& a)
{
    if (!decides(a)) return std::nullopt;
    HoldCommand command{pauses(a), a.values_of("pause"), a.text("reason")};
    if (auto const site = a.text("resume"); a.has("resume") && site != every_site)
        command.sites = {site};
    return command;
}

PollOptions::Mode mode_of(Arguments const& a, SignalSource const& source)
{
    if (pauses(a)) return PollOptions::Mode::once;
    if (a.flag("watch")) return PollOptions::Mode::watch;
    bool const has_source = !std::holds_alternative<NoSource>(source);
    return a.flag("dry-run") || !has_source ? PollOptions::Mode::dry_run : PollOptions::Mode::once;
}

// Seconds of a replay are minutes of its day; live Slurm controllers should not be asked often.
Millis job_interval(Arguments const& a)
{
    if (a.has("look-every"))
        return std::chrono::round<Millis>(FractionalSeconds(a.number("look-every")));
    return a.has("trace") ? Millis(1'000) : Millis(10'000);
}

}  // namespace

Result<PollOptions> parse_options(Arguments const& arguments)
{
    if (auto error = broken_rule(hold_rules(arguments))) return tl::unexpected(*error);
    if (auto error = broken_rule(watch_rules(arguments))) return tl::unexpected(*error);
    if (auto error = broken_rule(signal_rules(arguments))) return tl::unexpected(*error);
    PollOptions options;
    options.hold = hold_of(arguments);
    options.source = source_of(arguments);
    options.mode = mode_of(arguments, options.source);
    options.sites = arguments.values_of("site");
    options.explain = arguments.flag("explain") || options.is_dry_run();
    options.job_interval = job_interval(arguments);
    options.allow_root = arguments.flag("allow-root");
    options.drain_on_exit = arguments.flag("drain-on-exit") || arguments.has("trace");
    return options;
}

std::vector<Option> poll_option_table()
{
    return {
        flag_option("once", "Poll once and exit (default; for cron)"),
        flag_option("watch", "Poll until stopped, or until the end of the trace"),
        flag_option("dry-run",
                    "Print what a poll would do, in the format of --explain, and change nothing"),
        flag_option("explain",
                    "Print signal, window, jobs and actions of each site, with reasons (with "
                    "--watch: at the end). Without a signal source, change nothing, and print the "
                    "windows as the last poll left them"),
        flag_option("watttime", "Read signals from WattTime; needs --credentials"),
        text_option("credentials", "FILE",
                    "WattTime account as JSON with username and password, mode 0600"),
        text_option("watttime-url", "URL", "Address of WattTime", "https://api.watttime.org"),
        text_option("ca-file", "FILE",
                    "Trust the certificates in FILE for WattTime, instead of those of the system"),
        text_option("trace", "FILE",
                    "Replay a recorded trace (CSV). A new replay begins at the start of the trace; "
                    "later polls continue it"),
        number_option("speed", "FACTOR",
                      "Trace seconds per real second, at most 1000000 [new replay: 1; a continued "
                      "replay keeps its speed]",
                      {0, 1e6, true}),
        number_option("look-every", "SECONDS",
                      "With --watch: seconds between two queries of the jobs, 0.1 to 3600 [1 in a "
                      "replay, else 10]",
                      {0.1, 3600}),
        flag_option(
            "drain-on-exit",
            "Before --watch exits, drain all jobs and wait for their end (a replay always does)"),
        repeated(text_option(
            "pause", "SITE",
            "Hold this site until --resume, and drain its job; needs --reason; repeatable")),
        flag_option("stop", "Hold all sites until --resume, and drain their jobs; needs --reason"),
        implying(text_option("resume", "SITE", "Let this site train again, or all sites"),
                 std::string(every_site)),
        text_option("reason", "TEXT", "Why a site is held; every poll shows it"),
        repeated(text_option("site", "SITE", "Poll only this site; repeatable")),
        flag_option("allow-root",
                    "Poll although the user is root. The jobs then run as root, too. For machines "
                    "without other users"),
        flag_option("check-access",
                    "Check on a job's node that nobody else can change what the jobs of --site "
                    "read, run and follow. Print nothing if that holds, else exit with 77; for job "
                    "scripts"),
        text_option("job-line", "NAME",
                    "Print `SITE RANKS NEED` for one site, and exit; for job scripts. NEED is the "
                    "value of curtail-train --permission. Exit with 75 if the job may not train "
                    "now. NAME is the site's name; upper and lower case are treated alike"),
        text_option("intent", "ID", "With --job-line: the poller submitted the job with this id"),
        flag_option("without-poller",
                    "With --job-line: the job trains even if the poller does not permit it")};
}

}  // namespace curtail::programs
