// SPDX-License-Identifier: Apache-2.0
#include "poller/poll/poll.hpp"

#include <algorithm>

#include "base/core/build_info.hpp"
#include "base/core/exceptions.hpp"
#include "run/runlog/configuration.hpp"

namespace curtail::poll {
namespace {

// Polls all sites at the same time. Returns for each whether its changes were stored.
std::vector<Result<void>> poll_all(SitePollers const& pollers, PollContext const& context,
                                   bool dry_run)
{
    auto const stop_reason = context.is_trace_over() ? StopReason::trace_over : StopReason::none;
    std::vector<Result<void>> stored(pollers.size());
    auto const poll = [&](SitePoller& site, Result<void>& result) {
        auto const now = context.signal_now();
        result = site.evaluate(now).stored;
        if (!dry_run) result = first_error(result, site.renew_permission(now, stop_reason));
        result = first_error(result, site.manage_jobs(now, stop_reason, dry_run).stored);
    };
    // The state of the other sites is saved even if one site throws.
    run_in_threads(pollers.size(), [&](std::size_t i) {
        try {
            poll(*pollers[i], stored[i]);
        } catch (std::exception const& thrown) {
            stored[i] = tl::unexpected(error_of(thrown));
        }
    });
    return stored;
}

}  // namespace

Time PollContext::signal_now() const
{
    auto const now = clock->now();
    return trace_end ? std::min(now, *trace_end) : now;
}

bool PollContext::is_trace_over() const { return trace_end && clock->now() >= *trace_end; }

std::optional<Error> PollResult::error() const
{
    auto all = errors;
    std::string names;
    for (auto const& site : sites) {
        auto const here = site.errors();
        if (!here.empty()) names += (names.empty() ? "" : ", ") + site.site.value;
        all.insert(all.end(), here.begin(), here.end());
    }
    if (all.empty()) return std::nullopt;
    auto const lasting =
        std::ranges::find_if(all, [](Error const& e) { return e.code != ExitCode::temporary; });
    auto const& chosen = lasting == all.end() ? all.front() : *lasting;
    return names.empty() ? chosen : chosen.with_context("errors at " + names);
}

SitePollers make_pollers(PollContext& context, StateStore& store)
{
    SitePollers pollers;
    for (auto& parts : context.sites)
        pollers.push_back(std::make_unique<SitePoller>(std::move(parts), store, context.log));
    return pollers;
}

void report_folder_warning(PollContext const& context, StateStore& store)
{
    auto const& warning = context.folder_warning;
    if (store.set_folder_warning(warning) && !warning.empty()) context.log.warning(warning);
}

Result<void> record_configuration(PollContext const& context, StateStore& store)
{
    if (context.source.members().empty()) return {};
    auto const now = SystemClock{}.now();
    for (std::size_t s = 0; s < context.run.sites.size(); ++s) {
        auto const& site = context.run.sites[s].site;
        bool const is_polled = std::ranges::any_of(
            context.sites, [&](SiteParts const& parts) { return parts.site.site == site; });
        if (!is_polled) continue;
        runlog::Configuration configuration{{}, context.source, build_json()};
        for (auto const* file : context.run.files_of(s))
            configuration.files.push_back({file->path.filename().string(), file->text});
        auto digest = configuration.digest();
        if (store.site(site).configuration == digest) continue;
        auto event = runlog::to_event(configuration, now, site.value);
        if (auto stored = store.set_configuration(site, std::move(digest), {std::move(event)});
            !stored)
            return stored;
    }
    return {};
}

std::vector<Error> find_unmanaged_jobs(PollContext const& context, StateStore const& store)
{
    std::vector<Error> found;
    for (auto const& [site, record] : store.sites()) {
        bool const has_jobs = !record.jobs.jobs.empty() || record.jobs.intent;
        if (!has_jobs || context.run.find_site(site) != nullptr) continue;
        std::string jobs;
        for (auto const& job : record.jobs.jobs) jobs += " " + job.id.value;
        found.push_back({ExitCode::config,
                         "site " + site.value + " is no longer in run " + context.run.run.value,
                         jobs.empty() ? "a pending submission may still appear"
                                      : "no poller manages job" + jobs,
                         "put it back into `sites` until its job has ended"});
        context.log.warning(found.back().message());
    }
    return found;
}

PollResult make_result(SitePollers const& pollers, std::vector<Error> errors)
{
    PollResult result{{}, std::move(errors)};
    for (auto const& poller : pollers) result.sites.push_back(poller->findings());
    return result;
}

Result<PollResult> poll_once(PollContext context, bool dry_run)
{
    auto const access = dry_run ? Access::read : Access::write;
    auto const opened = open_store(context.run, access, SystemClock{}.now());
    if (!opened) return tl::unexpected(opened.error());
    report_folder_warning(context, **opened);
    // A full disk must not prevent stopping jobs. The next save tries again and reports the error.
    if (!dry_run) (void)record_configuration(context, **opened);
    auto errors = find_unmanaged_jobs(context, **opened);
    auto const pollers = make_pollers(context, **opened);
    auto const stored = poll_all(pollers, context, dry_run);
    if (auto saved = (*opened)->save(); !saved) return tl::unexpected(saved.error());
    for (std::size_t i = 0; i < pollers.size(); ++i)
        if (!stored[i])
            return tl::unexpected(stored[i].error().with_context("cannot store the state of site " +
                                                                 pollers[i]->id().value));
    return make_result(pollers, std::move(errors));
}

}  // namespace curtail::poll
