// SPDX-License-Identifier: Apache-2.0
#include "programs/poll/signal_source.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/core/clock_file.hpp"
#include "base/core/digest.hpp"
#include "base/core/private_file.hpp"
#include "poller/signals/trace_provider.hpp"
#include "poller/signals/watttime_provider.hpp"
#include "programs/poll/checked_launcher.hpp"
#include "programs/poll/trusted_files.hpp"
#include "run/config/trusted.hpp"
#include "run/runlog/poller_state.hpp"

namespace curtail::programs {
namespace {

constexpr char const* start_other_run =
    "start a new run, with its own `run` and `folder` in its file";

poll::SiteParts make_parts(PollTarget const& target, config::Site const& site,
                           std::unique_ptr<signals::Provider> provider,
                           std::optional<TimeScale> const& replay = {})
{
    plan::JobLimits const limits{.grace = site.launch.grace,
                                 .failures_before_hold = site.launch.failures_before_hold,
                                 .completing_time = site.launch.completing_time};
    return {site,
            target.run.run,
            target.run.site_folder(site.site),
            target.run.folder / "complete.json",
            std::move(provider),
            make_checked_launcher(target.run, site, target.folder_id, build_folder()),
            limits,
            replay ? std::optional(replay->origin) : std::nullopt,
            replay ? replay->factor : 1,
            target.run.hold_folders};
}

// Returns whether a poll has evaluated a window. A pause before the first poll writes the state
// too.
bool has_evaluated(std::filesystem::path const& state)
{
    auto const sites = runlog::read_poller_sites(state);
    if (!sites) return true;
    return *sites && std::ranges::any_of(**sites, [](auto const& site) {
        return site.evaluated_until.has_value();
    });
}

// The replay's clock: the run's own, else `wanted`, which becomes the run's unless `dry_run`.
Result<TimeScale> replay_clock(config::Run const& run, TimeScale const& wanted, bool dry_run)
{
    auto const known = read_clock(run.folder);
    if (!known) return tl::unexpected(known.error());
    if (*known) return **known;
    auto const state = run.poller_folder() / "state.json";
    if (has_evaluated(state))
        return fail(ExitCode::config, "cannot replay a trace for run " + run.run.value,
                    "it was started with a live signal, in real time (" + state.string() + ")",
                    start_other_run);
    if (dry_run) return wanted;
    if (auto made = config::make_run_folder(run); !made) return tl::unexpected(made.error());
    return make_clock(run.folder, wanted);
}

Result<void> check_clock(config::Run const& run, TraceSource const& source, Time start,
                         TimeScale const& clock)
{
    bool const same_speed = !source.speed || clock.factor == *source.speed;
    if (clock.origin == start && same_speed) return {};
    return fail(ExitCode::config, "cannot replay " + source.file,
                clock_file(run.folder).string() + " belongs to another replay (from " +
                    format_time(clock.origin) + ", " + std::to_string(clock.factor) +
                    " times real speed)",
                "finish that one, or start a new run");
}

// Reads a trace with samples for all sites.
Result<samples::Trace> read_trace_for(PollTarget const& target, std::string const& file)
{
    auto trace = samples::read_trace(file);
    if (!trace) return trace;
    for (auto const* site : target.sites)
        if (auto known = trace->samples(site->region); !known) return tl::unexpected(known.error());
    return trace;
}

Result<void> connect(poll::PollContext& context, PollTarget const& target,
                     PollOptions const& options, TraceSource const& source)
{
    auto const trace = read_trace_for(target, source.file);
    if (!trace) return tl::unexpected(trace.error());
    TimeScale const wanted{trace->first_time(), SystemClock{}.now(), source.speed.value_or(1)};
    auto const clock = replay_clock(target.run, wanted, options.is_dry_run());
    if (!clock) return tl::unexpected(clock.error());
    if (auto checked = check_clock(target.run, source, wanted.origin, *clock); !checked)
        return checked;
    auto const content = read_file(source.file);
    if (!content) return tl::unexpected(content.error());
    context.source = {{"kind", "trace"},
                      {"file", std::filesystem::path(source.file).filename().string()},
                      {"sha256", sha256(*content).hex()}};
    context.clock = std::make_shared<ScaledClock>(*clock);
    context.trace_end = trace->last_time();
    for (auto const* site : target.sites)
        context.sites.push_back(
            make_parts(target, *site, std::make_unique<signals::TraceProvider>(*trace), *clock));
    return {};
}

Result<void> refuse_replay(config::Run const& run)
{
    auto const clock = read_clock(run.folder);
    if (!clock) return tl::unexpected(clock.error());
    if (!*clock) return {};
    return fail(
        ExitCode::config, "cannot use a live signal for run " + run.run.value,
        "it was started as a replay, on its own clock (" + clock_file(run.folder).string() + ")",
        start_other_run);
}

// Each site has its own client and connection, so a slow answer for one does not delay the others.
Result<std::unique_ptr<signals::Provider>> make_watttime(WattTimeSource const& source,
                                                         std::filesystem::path const& folder,
                                                         bool dry_run, Clock const& clock,
                                                         Log const& log)
{
    auto credentials = signals::watttime::read_credentials(source.credentials_file);
    if (!credentials) return tl::unexpected(credentials.error());
    signals::watttime::Options options{.base_url = source.base_url,
                                       .ca_file = source.ca_file,
                                       .state_folder = folder,
                                       .credentials_file = source.credentials_file,
                                       .writes = !dry_run,
                                       .pause = {},
                                       .log = log};
    signals::watttime::AccountClient client(std::move(*credentials), std::move(options), clock);
    return std::make_unique<signals::WattTimeProvider>(std::move(client));
}

Result<void> connect(poll::PollContext& context, PollTarget const& target,
                     PollOptions const& options, WattTimeSource const& source)
{
    if (auto live = refuse_replay(target.run); !live) return live;
    // It holds an account's token, which is nobody else's.
    auto const folder = target.run.poller_folder() / (target.run.shared_group
                                                          ? "watttime." + std::to_string(geteuid())
                                                          : std::string("watttime"));
    bool const dry_run = options.is_dry_run();
    if (!dry_run) {
        if (auto made = config::make_run_folder(target.run); !made) return made;
        if (auto made = config::make_poller_folder(target.run); !made) return made;
        if (auto made = ensure_private_folder(folder); !made) return made;
    }
    if (auto guarded = hide_process_memory(); !guarded) return guarded;
    context.source = {{"kind", "watttime"}, {"url", source.base_url}};
    context.clock = std::make_shared<SystemClock>();
    for (auto const* site : target.sites) {
        auto provider = make_watttime(source, folder, dry_run, *context.clock, context.log);
        if (!provider) return tl::unexpected(provider.error());
        context.sites.push_back(make_parts(target, *site, std::move(*provider)));
    }
    return {};
}

Result<void> connect(poll::PollContext& context, PollTarget const& target, PollOptions const&,
                     NoSource const&)
{
    auto const replay = read_clock(target.run.folder);
    if (!replay) return tl::unexpected(replay.error());
    if (*replay) context.clock = std::make_shared<ScaledClock>(**replay);
    else context.clock = std::make_shared<SystemClock>();
    for (auto const* site : target.sites)
        context.sites.push_back(make_parts(target, *site, nullptr));
    return {};
}

}  // namespace

std::filesystem::path build_folder()
{
    std::error_code error;
    return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().parent_path();
}

Result<poll::PollContext> make_context(PollTarget const& target, PollOptions const& options,
                                       Log const& log)
{
    auto warning = check_trusted_files(target.run, target.sites, build_folder());
    if (!warning) return tl::unexpected(warning.error());
    poll::PollContext context{.run = target.run, .log = log, .folder_warning = std::move(*warning)};
    auto const connected =
        std::visit([&](auto const& source) { return connect(context, target, options, source); },
                   options.source);
    if (!connected) return tl::unexpected(connected.error());
    return context;
}

}  // namespace curtail::programs
