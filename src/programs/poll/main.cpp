// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/clock.hpp"
#include "base/core/columns.hpp"
#include "base/core/files.hpp"
#include "poller/launch/folder_id.hpp"
#include "poller/poll/poll.hpp"
#include "poller/poll/status.hpp"
#include "poller/poll/watch.hpp"
#include "programs/frame/program.hpp"
#include "programs/frame/progress.hpp"
#include "programs/frame/signals.hpp"
#include "programs/poll/hold_commands.hpp"
#include "programs/poll/job_files.hpp"
#include "programs/poll/options.hpp"
#include "programs/poll/signal_source.hpp"
#include "programs/poll/site_publishers.hpp"
#include "programs/poll/sites.hpp"
#include "programs/poll/trusted_files.hpp"
#include "run/config/trusted.hpp"
#include "run/permission/hold.hpp"
#include "run/permission/operator_hold.hpp"
#include "storage/store/object_store.hpp"

namespace curtail::programs {
namespace {

using Sites = std::vector<config::Site const*>;

bool has_begun(config::Run const& run)
{
    std::error_code error;
    return std::filesystem::exists(run.poller_folder() / "state.json", error) ||
           std::filesystem::exists(run.poller_folder() / "journal.jsonl", error);
}

// Creates the store of a new run. Later a missing store is a missing mount, which trainers report.
Result<void> create_store_of_new_run(config::Run const& run)
{
    std::error_code error;
    if (std::filesystem::exists(run.poller_folder() / "state.json", error)) return {};
    if (auto made = config::make_store_folder(run); !made) return made;
    return store::open_store(run.store).map([](auto const&) {});
}

Result<poll::PollContext> prepare(config::Run const& run, Sites sites, PollOptions const& options,
                                  Log const& log)
{
    auto const id = launch::run_folder_id(run.folder, false);
    if (!id) return tl::unexpected(id.error());
    auto context = make_context({run, std::move(sites), *id}, options, log);
    if (!context || options.is_dry_run()) return context;
    if (auto made = config::make_run_folder(run); !made) return tl::unexpected(made.error());
    if (!has_begun(run))
        if (auto const doubt = doubt_about_locks(run.folder); !doubt.empty())
            context->log.warning(doubt);
    if (auto stored = launch::run_folder_id(run.folder, true); !stored)
        return tl::unexpected(stored.error());
    for (auto const& site : run.sites)
        if (auto made = config::make_job_logs(run, site.site); !made)
            return tl::unexpected(made.error());
    if (auto made = create_store_of_new_run(run); !made) return tl::unexpected(made.error());
    return context;
}

Result<poll::PollResult> watch(config::Run const& run, Sites const& sites,
                               poll::PollContext context, PollOptions const& options)
{
    constexpr Millis budget{10'000};
    std::vector<int> signals{SIGINT, SIGTERM};
    // A process under nohup ignores SIGHUP.
    struct sigaction hangup {};
    if (sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
        signals.push_back(SIGHUP);
    poll::StopRequest stop_request;
    auto const listener = listen_for_signals(signals, [&](int number) {
        stop_request.raise();
        // A call may never return, for example if a file server hangs.
        constexpr int insists = 3;
        if (stop_request.level() >= insists) end_at_once(128 + number);
    });
    SitePublishers publishers(run, sites, context.log);
    ProgressLine progress("replay", "s of trace");
    poll::WatchOptions watch;
    watch.intervals.jobs = options.job_interval;
    watch.drain_on_exit = options.drain_on_exit;
    watch.progress = [&](double done, double total) { progress.update(done, total); };
    auto result = poll::watch(std::move(context), watch, stop_request);
    publishers.finish(budget);
    return result;
}

// The error for the exit code. Errors of single sites do not count after a watch: it logged them
// when they occurred, and they may be over.
std::optional<Error> final_error(poll::PollResult const& result, PollOptions const& options)
{
    if (options.is_dry_run()) return std::nullopt;
    if (options.mode != PollOptions::Mode::watch) return result.error();
    return result.errors.empty() ? std::nullopt : std::optional(result.errors.front());
}

void print_result(poll::PollResult const& result, PollOptions const& options,
                  Console const& console)
{
    if (console.json) console.print_json(poll::to_json(result.sites));
    else if (options.explain)
        console.print(in_terminal_columns(poll::explain(result.sites, options.is_dry_run())));
}

// Polls once, and then publishes the logs. The poller's lock is free by then: a store that does not
// answer delays no poll.
Result<poll::PollResult> poll_once(config::Run const& run, Sites const& sites,
                                   poll::PollContext context, bool dry_run, Log const& log)
{
    constexpr Millis budget{10'000};
    if (auto const warning = config::zero_rate_warning(run, run.training.budget);
        warning && dry_run)
        log.warning(*warning);
    auto result = poll::poll_once(std::move(context), dry_run);
    if (!dry_run && result) SitePublishers(run, sites, log).finish(budget);
    return result;
}

// Polls sites that all have usable files for their jobs, or that may have jobs already.
Result<void> poll_chosen(config::Run const& run, Sites const& sites, PollOptions const& options,
                         Console const& console)
{
    auto context = prepare(run, sites, options, console.log);
    if (!context) return tl::unexpected(context.error());
    auto const result =
        options.mode == PollOptions::Mode::watch
            ? watch(run, sites, std::move(*context), options)
            : poll_once(run, sites, std::move(*context), options.is_dry_run(), console.log);
    if (!result) return tl::unexpected(result.error());
    print_result(*result, options, console);
    if (auto const error = final_error(*result, options)) return tl::unexpected(*error);
    return {};
}

// A job can do what its user can do: one of root, everything.
Result<void> check_user(PollOptions const& options)
{
    if (geteuid() != 0 || options.allow_root || options.is_dry_run()) return {};
    return fail(ExitCode::permission, "cannot poll as root", "the jobs would run as root, too",
                "poll as an ordinary user; where there is none, pass --allow-root, or set "
                "CURTAIL_ALLOW_ROOT=1");
}

// An unusable script must keep a run from beginning, but never a job from being drained.
Result<void> poll_sites(config::Run const& run, PollOptions const& options, Console const& console)
{
    if (auto good = check_user(options); !good) return good;
    auto sites = choose_sites(run, options.sites);
    if (!sites) return tl::unexpected(sites.error());
    auto const bad_file = options.has_source() ? find_bad_job_file(*sites) : std::nullopt;
    if (bad_file && !has_begun(run)) return tl::unexpected(*bad_file);
    bool const once = options.mode == PollOptions::Mode::once;
    if (bad_file && !once) console.log.warning(bad_file->message());
    auto polled = poll_chosen(run, *sites, options, console);
    if (!bad_file || !once) return polled;
    if (!polled) console.log.warning(polled.error().message());
    return tl::unexpected(*bad_file);
}

// Ends the permissions of paused sites and drains their jobs.
Result<void> drain_paused(config::Run const& run, Sites const& sites, PollOptions const& options,
                          Console const& console)
{
    auto context = prepare(run, sites, options, console.log);
    if (!context) return tl::unexpected(context.error());
    auto const result = poll_once(run, sites, std::move(*context), false, console.log);
    if (!result && result.error().code == ExitCode::temporary) {
        console.log.info(
            "another poller is active; a job that it does not drain stops because its permission "
            "has ended");
        return {};
    }
    if (!result) return tl::unexpected(result.error());
    print_result(*result, options, console);
    if (auto const error = result->error()) return tl::unexpected(*error);
    return {};
}

// A hold of the operators stays whatever a person decides.
void warn_of_operators(config::Run const& run, Sites const& sites, Log const& log)
{
    for (auto const* site : sites)
        if (auto const hold = permission::find_operator_hold(
                run.hold_folders, permission::subject_of(run.run, site->site), SystemClock{}.now()))
            log.warning(site->site.value + ": " + permission::to_text(*hold));
}

// Whether the run is that of another user, whose poller drains its jobs.
bool is_of_another_user(config::Run const& run)
{
    if (run.shared_group && config::check_access(run)) return false;
    struct stat status {};
    return stat(run.folder.c_str(), &status) == 0 && status.st_uid != geteuid();
}

// Stores a person's decision. A pause is also carried out at once.
Result<void> carry_out(config::Run const& run, PollOptions const& options, Actor actor,
                       Console const& console)
{
    auto const& command = *options.hold;
    auto const sites = choose_sites(run, command.sites);
    if (!sites) return tl::unexpected(sites.error());
    if (auto good = check_folders_of_root(run, *sites); !good) return good;
    if (auto made = config::make_run_folder(run); !made) return made;
    auto stored = store_decision(run, *sites, command, console);
    warn_of_operators(run, *sites, console.log);
    if (!command.held) return stored;
    if (actor == Actor::root_for_owner || is_of_another_user(run)) {
        console.log.info(
            "the run belongs to another user, whose poller drains the jobs; a job "
            "stops by itself because its permission has ended");
        return stored;
    }
    auto const drained = drain_paused(run, *sites, options, console);
    return stored ? drained : stored;
}

Result<void> decide(std::string const& run_file, PollOptions options, Console const& console)
{
    options.hold->by = permission::this_person();
    auto const actor = act_as_owner(run_file);
    if (!actor) return tl::unexpected(actor.error());
    auto const run = config::read_run(run_file);
    if (!run) return tl::unexpected(run.error());
    return carry_out(*run, options, *actor, console);
}

// What a job asks about itself.
Result<void> answer_job(config::Run const& run, Arguments const& arguments, Console const& console)
{
    if (arguments.has("job-line"))
        return print_job_line(run,
                              {arguments.text("job-line"), arguments.text("intent"),
                               arguments.flag("without-poller")},
                              console);
    Sites sites;
    auto const names = arguments.values_of("site");
    for (auto const& name : names.empty() ? run.site_names() : names) {
        auto const site = find_site_of_job(run, name);
        if (!site) return tl::unexpected(site.error());
        sites.push_back(*site);
    }
    return check_files_in_job(run, sites, build_folder());
}

Result<void> run_poll(Arguments const& arguments, Console const& console)
{
    auto const file = arguments.text("RUN");
    bool const is_job = arguments.has("job-line") || arguments.flag("check-access");
    auto const options = is_job ? PollOptions{} : parse_options(arguments);
    if (!options) return tl::unexpected(options.error());
    if (options->hold) return decide(file, *options, console);
    auto const run = config::read_run(file);
    if (!run) return tl::unexpected(run.error());
    return is_job ? answer_job(*run, arguments, console) : poll_sites(*run, *options, console);
}

Program program()
{
    return {"curtail-poll",
            "Follows each site's carbon signal and submits, drains and cancels the jobs of a run.",
            {{"",
              "",
              poll_option_table(),
              {{"RUN", "Run file, such as inputs/runs/demo.json"}},
              run_poll,
              true}},
            "\nExamples:\n"
            "  curtail-poll inputs/runs/demo.json --trace signals/mci_2026-01-11.csv --dry-run\n"
            "  curtail-poll inputs/mine/run.json --watttime --credentials "
            "~/.config/curtail/watttime.json\n"
            "  curtail-poll inputs/mine/run.json --pause plains --reason \"cooling is repaired\"\n"
            "  curtail-poll inputs/mine/run.json --resume plains\n"
            "\nState, journal and events are in poller/ of the run's folder. A poller that "
            "starts while another one of the run is active exits with 75.\n"};
}

}  // namespace
}  // namespace curtail::programs

int main(int argc, char** argv)
{
    // A publisher may still wait for the store (base/core/periodic_task.hpp).
    curtail::programs::end_at_once(
        curtail::programs::run(curtail::programs::program(), argc, argv));
}
